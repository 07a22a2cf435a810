import AgentFormats
import Basics
import Foundation
import Logging
import QueueModel
import ServiceLifecycle
import SyncClient
import Synchronization

/// Runs agents on the executor's orders, while the daemon runs.
struct AgentService: Service {
  var client: QueueClient
  var output: OutputFolder
  var slots: HookSlots
  var access: TurnAccess
  var environment: [String: String]
  /// How long running turns may continue when the daemon stops.
  var grace: Duration
  var logger: Logger
  /// Called once no turn runs and none will begin.
  var drained: @Sendable () -> Void = {}

  private var dataDirectory: String { access.dataDirectory }

  /// The folders of messages' files while agents work on them.
  private var folders: TurnFolders { TurnFolders(dataDirectory: dataDirectory) }

  /// The longest time in which stopped agents end: their own time, that of the processes they left,
  /// and twice `OrphanedAgents.killLimit`.
  static let stopLimit = Duration.seconds(15)

  func run() async throws {
    // This comes before any turn begins: agents of an earlier daemon must not continue unseen.
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
        group.addTask { await output.answerOthers(of: client) }
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
        // After the daemon's grace time, a turn that ends now must not let the next one begin.
        await client.execution.drain()
        group.cancelAll()
      }
    } onGracefulShutdown: {
      stop.yield()
    }
    // All turns may have ended before the services are stopped. A service that ends by itself
    // counts as failed; a cancelled wait ends, too.
    try? await gracefulShutdown()
  }

  /// A request that all devices show, and that only this one can answer.
  private func consent(to session: SessionID) -> AgentAsk {
    let name = client.syncStatus().deviceName
    return .question(
      "May \(session) run on \(name)? To allow it, run there: cospool session host "
        + "\(Shell.quotedOperand(session.rawValue)) this", options: [])
  }

  /// This is reported before the next turn, which has a report of its own.
  private func endConsent(to session: SessionID) async {
    guard client.workspace().task(of: session)?.status.kind == .awaitingAnswer else { return }
    await client.tasks.noteEnded(.cancelled, in: session)
  }

  /// Running turns may end by themselves for a while; then they are stopped.
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
        // The agent also waits at its own prompt, and the request ends with the turn. If it cannot
        // be shown here, it is only asked there.
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
      // Another attempt would have the same result.
      client.tasks.noteBeganSoon(in: start.session)
      result = .failed("\(error)")
    } catch {
      result = .notStarted("\(error)")
    }
    // Agents' output may contain secrets. The message's output file has it for users who look for
    // it.
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
      // No other code reports the end of the turn's work. If only the wait ended, its hooks report
      // the end.
      await client.tasks.endLiveTurn(in: start.session)
    }
    // A turn that could not be started counts as begun and failed.
    if case .notStarted = result { client.tasks.noteBeganSoon(in: start.session) }
    // This comes before the executor learns of it, which may begin the next turn at once.
    await client.tasks.noteEnded(result.task(wasStopped: wasStopped), in: start.session)
    await client.execution.ended(start, with: result)
  }

  /// A session's agent or its conversation cannot be read.
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

  /// The results of a turn's tasks.
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
          // It is not done earlier, so that the process waits neither for the store nor for
          // observers.
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
        // Lets the other tasks end after they have handled the rest of their streams.
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

  /// Writes the files of a message, and has the agent work on it. If a file is missing, nothing is
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

  /// How long to wait for a message's files that may be on their way: the message arrives before
  /// them.
  static let filePatience = Duration.seconds(60)
  /// The time between two searches for a file.
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

  /// Neither this device nor the server has the file.
  private struct FileMissing: Error, CustomStringConvertible {
    var name: String
    var reason: String

    var description: String { "the file \(name) cannot be fetched: \(reason)" }
  }

  /// The maximum number of an agent's events that wait to be reported; the latest are kept.
  static let doingsMax = 256

  /// Reports what the agent does, as the task's progress.
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
  /// Whether a file that is not available may be available a little later.
  fileprivate var mayPass: Bool {
    switch self {
    case .attachmentMissing(_, let isPaired): isPaired
    case .unreachable, .refused("unavailable", _): true
    default: false
    }
  }
}

extension AgentEvent {
  /// The result as activity of the session; nil if it is not activity.
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
  /// The name of the result, without what the agent wrote.
  var name: String {
    switch self {
    case .succeeded: "succeeded"
    case .failed: "failed"
    case .died: "died"
    case .tryLater, .tryAfter: "to be tried later"
    case .notStarted: "not started"
    }
  }

  /// The agent's output, or what is known about its end.
  var detail: String {
    switch self {
    case .succeeded(let text), .failed(let text), .died(let text), .notStarted(let text),
      .tryLater(_, let text), .tryAfter(_, let text):
      text
    }
  }

  /// The result as activity of the session. A stopped turn is not an error.
  func signal(wasStopped: Bool) -> AgentSignal {
    switch self {
    case .succeeded, .tryLater, .tryAfter: .turnEnded
    case .failed(let reason), .died(let reason), .notStarted(let reason):
      wasStopped ? .wentIdle : .turnFailed(message: reason)
    }
  }

  /// How the session's task ended. A turn that is tried again later is not a failure.
  func task(wasStopped: Bool) -> TaskResult {
    switch self {
    case .succeeded(let summary): .success(summary: summary.isEmpty ? nil : summary)
    case .tryLater, .tryAfter: .cancelled
    case .failed(let reason), .died(let reason), .notStarted(let reason):
      wasStopped ? .cancelled : .failure(error: reason)
    }
  }
}
