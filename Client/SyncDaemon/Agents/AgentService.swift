import AgentFormats
import Basics
import Foundation
import Logging
import QueueModel
import ServiceLifecycle
import SyncClient
import Synchronization

/// Runs agents as the executor says, for as long as the daemon runs.
struct AgentService: Service {
  var client: QueueClient
  var output: OutputFolder
  var slots: HookSlots
  var access: TurnAccess
  var environment: [String: String]
  /// What runs may end in peace for so long when the daemon stops.
  var grace: Duration
  var logger: Logger
  /// Called when nothing begins any more and nothing runs.
  var drained: @Sendable () -> Void = {}

  private var dataDirectory: String { access.dataDirectory }

  /// Where the files of messages lie while agents work on them.
  private var folders: TurnFolders { TurnFolders(dataDirectory: dataDirectory) }

  /// How long agents that are made to stop may take, at most: their own time, that of what they left, and twice
  /// `OrphanedAgents.killLimit`.
  static let stopLimit = Duration.seconds(15)

  func run() async throws {
    // Before anything begins: what an earlier daemon left behind must not go on unseen.
    let unfinished = client.execution.unfinished
    let dead = await OrphanedAgents.end(unfinished, dataDirectory: dataDirectory, logger: logger)
      .union(
        unfinished.filter { folders.isUnsent($0.message, attempt: $0.attempt) }.map(\.message))
    for start in unfinished {
      await AttemptGroups.own?.group(of: start.message, attempt: start.attempt)
        .end(within: OrphanedAgents.killLimit)
    }
    AttemptGroups.own?.removeEnded()
    let orders = try await client.execution.start(deadAgents: dead)
    folders.removeAll()
    let turns = TurnTable()
    let (stops, stop) = AsyncStream<Void>.makeStream()
    await withGracefulShutdownHandler {
      await withDiscardingTaskGroup { group in
        group.addTask { await drain(when: stops) }
        for await order in orders {
          switch order {
          case .start(let start):
            let stops = turns.begin(start.session, attempt: start.attempt)
            group.addTask { await work(on: start, until: stops, turns) }
          case .stop(let session, let attempt):
            turns.stop(session, attempt: attempt)
          case .askConsent(let session):
            await client.tasks.notePrompt(consent(to: session), in: session)
          case .consentSettled(let session):
            await endConsent(to: session)
          case .drained:
            break
          }
        }
        drained()
        // Where the daemon's patience is over, what ends now must not let the next one begin.
        await client.execution.drain()
        group.cancelAll()
      }
    } onGracefulShutdown: {
      stop.yield()
    }
    // Everything may be drained before the services are told to stop. One that ends unasked counts as
    // failed; a cancelled wait ends, too.
    try? await gracefulShutdown()
  }

  /// What all devices show, and this one alone can answer.
  private func consent(to session: SessionID) -> AgentAsk {
    let name = client.syncStatus().deviceName
    return .question(
      "May \(session) run on \(name)? To allow it, run there: cospool session host "
        + "\(Shell.quotedOperand(session.rawValue)) this", options: [])
  }

  /// Before whatever begins then, which is told in its turn.
  private func endConsent(to session: SessionID) async {
    guard client.workspace().task(of: session)?.status.kind == .awaitingAnswer else { return }
    await client.tasks.noteEnded(.cancelled, in: session)
  }

  /// What runs may end in peace for a while; then it is stopped.
  private func drain(when stops: AsyncStream<Void>) async {
    for await _ in stops {
      await client.execution.drain()
      do {
        try await Task.sleep(for: grace)
      } catch {
        return
      }
      await client.execution.endDrainGrace()
    }
  }

  // MARK: - Turns

  private func work(
    on start: TurnStart, until stops: AsyncStream<Void>, _ turns: TurnTable
  ) async {
    let agent: any Agent
    let result: TurnResult
    var wasStopped = false
    var isLive = false
    do {
      guard let memory = start.memory else { throw MemoryMissing() }
      let kind = memory.kind ?? client.settings.agents.kind
      isLive = kind == .hooks
      agent = try AgentCatalog.agent(
        kind, client.settings.agents, slots, environment: environment
      ) {
        // It waits for its own prompt as well, and ends with the turn; what cannot be asked is asked
        // there alone.
        [client] ask, session in try? await client.tasks.ask(ask, in: session, patience: nil)
      }
      client.tasks.noteActivity(.turnStarted, in: start.session)
      let turn = try turn(start, memory.conversations[kind], of: agent)
      let log = output.writer(of: start.message, attempt: start.attempt)
      (result, wasStopped) = await run(
        agent, turn, start.attachments, kind, log, until: stops, turns)
      log.close()
      output.prune()
    } catch let error where error is ProjectFolder.Missing || error is ProjectFolder.NotAllowed {
      // Another try would end no better.
      client.tasks.noteBeganSoon(in: start.session)
      result = .failed("\(error)")
    } catch {
      result = .notStarted("\(error)")
    }
    // What agents say may hold secrets; whoever looks for them reads the message's output.
    let end = wasStopped ? "stopped, \(result.name)" : result.name
    let names: Logger.Metadata = [
      "message": "\(start.message)", "attempt": "\(start.attempt)",
      "session": "\(start.session.rawValue.debugDescription)",
    ]
    logger.info("an attempt ended: \(end)", metadata: names)
    logger.debug("\(result.detail.cut(toUTF8Bytes: 1_024))", metadata: names)
    turns.end(start.session, attempt: start.attempt)
    client.tasks.noteActivity(result.signal(wasStopped: wasStopped), in: start.session)
    if isLive, !wasStopped, case .died = result {
      // Nobody will tell the end of what it was at; where it was only not waited for, its hooks will.
      await client.tasks.endLiveTurn(in: start.session)
    }
    // What could not be started failed as a turn that began.
    if case .notStarted = result { client.tasks.noteBeganSoon(in: start.session) }
    // Before the executor hears of it, which may begin the next one at once.
    await client.tasks.noteEnded(result.task(wasStopped: wasStopped), in: start.session)
    await client.execution.ended(start, with: result)
  }

  /// What a session's agent is and how its conversation goes on cannot be read.
  private struct MemoryMissing: Error, CustomStringConvertible {
    var description: String { "the device's store cannot be read" }
  }

  private func turn(
    _ start: TurnStart, _ conversation: String?, of agent: any Agent
  ) throws -> AgentTurn {
    let home = ProjectFolder.home(environment, dataDirectory: dataDirectory)
    let folder = try agent.folder(of: start.project, otherwise: home)
    if let folder, start.project?.isEmpty == false {
      try ProjectFolder.check(folder, isIn: client.settings.agents.projectRoots, home: home)
    }
    return AgentTurn(
      session: start.session, message: start.message, attempt: start.attempt,
      prompt: start.prompt, folder: folder,
      project: start.project, conversation: conversation, dataDirectory: dataDirectory)
  }

  /// What one of the tasks of a turn ends with.
  private enum Part {
    case result(TurnResult)
    case stopWanted
    case over
  }

  private func run(
    _ agent: any Agent, _ turn: AgentTurn, _ attachments: [Attachment], _ kind: AgentKind,
    _ log: OutputWriter, until stops: AsyncStream<Void>, _ turns: TurnTable
  ) async -> (result: TurnResult, wasStopped: Bool) {
    let (names, name) = AsyncStream<String>.makeStream(bufferingPolicy: .bufferingNewest(1))
    let (doings, doing) = AsyncStream<AgentEvent>.makeStream(
      bufferingPolicy: .bufferingNewest(AgentService.doingsMax))
    return await withTaskGroup(of: Part.self) { group in
      group.addTask {
        let result = await ending(of: agent, turn, with: attachments) { event in
          switch event {
          // Not before: the process does not wait for what is stored of it, nor for who looks on.
          case .started:
            client.tasks.noteBeganSoon(in: turn.session)
            log.begin()
          case .said(.session(let id)): name.yield(id)
          // The next turn begins a new one.
          case .said(.sessionLost): name.yield("")
          case .said(let event):
            if let signal = event.signal { client.tasks.noteActivity(signal, in: turn.session) }
            doing.yield(event)
          case .wrote(let bytes): log.append(bytes)
          }
        }
        // Lets the other tasks end, after what is still in their streams.
        name.finish()
        doing.finish()
        turns.end(turn.session, attempt: turn.attempt)
        return .result(result)
      }
      group.addTask {
        await keepConversation(names, of: turn.session, kind)
        return .over
      }
      group.addTask {
        await tell(doings, of: turn.session)
        return .over
      }
      group.addTask {
        for await _ in stops { return .stopWanted }
        return .over
      }
      var result = TurnResult.died("the agent ended without a report")
      var wasStopped = false
      for await part in group {
        switch part {
        case .result(let end): result = end
        case .stopWanted:
          wasStopped = true
          group.cancelAll()
        case .over: break
        }
      }
      return (result, wasStopped)
    }
  }

  /// Lays the files of a message out, and has the agent work on it. Without all of them nothing is
  /// started.
  private func ending(
    of agent: any Agent, _ turn: AgentTurn, with attachments: [Attachment],
    _ report: @escaping @Sendable (TurnEvent) -> Void
  ) async -> TurnResult {
    defer {
      if !attachments.isEmpty { folders.remove(of: turn.message, attempt: turn.attempt) }
    }
    var turn = turn
    let token = access.begin(
      CallingAgent(session: turn.session, message: turn.message, attempt: turn.attempt))
    defer { access.end(token) }
    turn.access = AgentTurn.Access(socket: access.socket, token: token)
    do {
      let deadline = ContinuousClock.now + AgentService.filePatience
      turn.files = try await folders.write(
        attachments, of: turn.message, attempt: turn.attempt
      ) { try await bytes(of: $0, until: deadline) }
      try Task.checkCancellation()
    } catch is CancellationError {
      return .notStarted("the agent was stopped")
    } catch {
      return .notStarted("\(error)")
    }
    return await agent.run(turn, report: report)
  }

  /// How long the files of a message are waited for that may be on their way: it comes before them.
  static let filePatience = Duration.seconds(60)
  /// Between two looks for a file.
  private static let filePeriod = Duration.seconds(1)

  private func bytes(
    of attachment: Attachment, until deadline: ContinuousClock.Instant
  ) async throws -> Data {
    while true {
      do {
        return try await client.attachments.bytes(of: attachment.hash)
      } catch {
        guard error.mayPass, ContinuousClock.now < deadline else {
          try Task.checkCancellation()
          throw FileMissing(name: attachment.name, reason: error.description)
        }
      }
      try await Task.sleep(for: AgentService.filePeriod)
    }
  }

  /// A file that neither this device nor the server gives out.
  private struct FileMissing: Error, CustomStringConvertible {
    var name: String
    var reason: String

    var description: String { "the file \(name) cannot be fetched: \(reason)" }
  }

  /// Events of an agent that may wait to be told; of more the latest count.
  static let doingsMax = 256

  /// Tells what the agent does, as the task's progress.
  private func tell(_ doings: AsyncStream<AgentEvent>, of session: SessionID) async {
    for await event in doings {
      switch event {
      case .toolStarted(_, let name): await client.tasks.noteOperation(name, in: session)
      case .progress(let completed, let total, let current):
        await client.tasks.noteProgress(
          TodoProgress(completed: completed, total: total, currentTask: current), in: session)
      default: break
      }
    }
  }

  private func keepConversation(
    _ names: AsyncStream<String>, of session: SessionID, _ kind: AgentKind
  ) async {
    for await id in names {
      do {
        try await client.execution.setConversation(id, of: session, with: kind.rawValue)
      } catch {
        logger.warning(
          "cannot store the conversation's id: \(error)",
          metadata: ["session": "\(session.rawValue.debugDescription)"])
      }
    }
  }
}

extension ClientError {
  /// Whether a file that could not be had may be there a little later.
  fileprivate var mayPass: Bool {
    switch self {
    case .attachmentMissing(_, let isPaired): isPaired
    case .unreachable, .refused("unavailable", _): true
    default: false
    }
  }
}

extension AgentEvent {
  /// What it means for the activity of the session; nil where it means nothing.
  var signal: AgentSignal? {
    switch self {
    case .toolStarted(let id, _): .toolStarted(id: id)
    case .toolEnded(let id): .toolEnded(id: id)
    case .approvalRequested(let id, _, _, _): .approvalRequested(id: id)
    case .approvalAnswered(let id): .approvalAnswered(id: id)
    case .session, .sessionLost, .text, .rateLimited, .problem, .progress: nil
    }
  }
}

extension TurnResult {
  /// What it is, without what the agent said.
  var name: String {
    switch self {
    case .succeeded: "succeeded"
    case .failed: "failed"
    case .died: "died"
    case .tryLater, .tryAfter: "to be tried later"
    case .notStarted: "not started"
    }
  }

  /// What the agent said, or what is known of its end.
  var detail: String {
    switch self {
    case .succeeded(let text), .failed(let text), .died(let text), .notStarted(let text),
      .tryLater(_, let text), .tryAfter(_, let text):
      text
    }
  }

  /// What it means for the activity of the session. What was stopped is no error of it.
  func signal(wasStopped: Bool) -> AgentSignal {
    switch self {
    case .succeeded, .tryLater, .tryAfter: .turnEnded
    case .failed(let reason), .died(let reason), .notStarted(let reason):
      wasStopped ? .wentIdle : .turnFailed(message: reason)
    }
  }

  /// How the session's task ended. What is tried again later is no failure of it.
  func task(wasStopped: Bool) -> TaskResult {
    switch self {
    case .succeeded(let summary): .success(summary: summary.isEmpty ? nil : summary)
    case .tryLater, .tryAfter: .cancelled
    case .failed(let reason), .died(let reason), .notStarted(let reason):
      wasStopped ? .cancelled : .failure(error: reason)
    }
  }
}
