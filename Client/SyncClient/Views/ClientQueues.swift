import ClientCore
public import QueueModel
import WireProtocol

/// The result of a withdrawal.
public enum CancelOutcome: Hashable, Sendable {
  /// The authority confirmed it: the text will never reach an agent.
  case cancelled
  /// It came too late: the agent has the text.
  case invoked
  /// The authority cannot be asked now; the message is cancelled unless it has already started.
  case unconfirmed
}

/// The message queues of all sessions, and their operations on this device.
///
/// ```swift
/// for await view in client.queues.updates(of: session) { show(view.messages) }
/// let (_, outcomes) = try await client.queues.cancel([message])
/// if outcomes[message] == .invoked { show("Its agent has it already.") }
/// ```
///
/// Withdrawing and editing race with the start of a message; the authority decides.
public struct ClientQueues: Sendable {
  let client: QueueClient

  /// A session's queue: as it is now (nothing until the session exists), then after every change to
  /// it. A slow reader gets only the newest value.
  public func updates(of session: SessionID) -> AsyncStream<MessageQueueView> {
    client.engine.observe(.bufferingNewest(1)) { observers, continuation, id, workspace, _ in
      observers.addMessages(continuation, as: id, of: session, workspace)
    }
  }

  /// How long the authority may take to report the result of a race.
  static let raceAnswerLimit = Duration.seconds(5)
  /// The maximum number of open requests; a server accepts a thousand from a workspace.
  static let questionsMax = 100

  /// Withdraws messages, and reports for each whether that was in time.
  ///
  /// - Throws: as `QueueClient.perform`; `.queue(.alreadyStarted)` if this device already knows
  ///   that it came too late.
  public func cancel(
    _ ids: [MessageID]
  ) async throws(ClientError) -> (receipt: CommandReceipt, outcomes: [MessageID: CancelOutcome]) {
    let before = client.engine.latest.workspace
    let receipt = try await client.perform(.cancel(ids))
    return (receipt, await outcomes(ofWithdrawing: Set(ids), before: before))
  }

  /// Whether the withdrawals of messages were in time.
  ///
  /// - Parameter before: the workspace before them.
  private func outcomes(
    ofWithdrawing ids: Set<MessageID>, before: Workspace
  ) async -> [MessageID: CancelOutcome] {
    // A finished message cannot be withdrawn: the agent had it.
    let workspace = client.workspace()
    let races = StartRace.withdrawing(ids, in: before)
    let open = races.filter { (try? workspace.message($0.message))?.status != .succeeded }
    let endings = await endings(
      of: Dictionary(open.map { ($0.message, $0) }) { first, _ in first })
    var outcomes: [MessageID: CancelOutcome] = [:]
    for race in races {
      outcomes[race.message] =
        switch endings[race.message] {
        case .inTime: .cancelled
        case .tooLate, nil: .invoked
        case .unconfirmed:
          await canStart(race.message, in: before) ? .unconfirmed : .cancelled
        }
    }
    return outcomes
  }

  /// Asks which came first, for changes that were or would be made, all at the same time: the limit
  /// is for all of them together.
  func endings(of races: [MessageID: StartRace]) async -> [MessageID: StartRace.Ending] {
    let deadline = ContinuousClock.now + ClientQueues.raceAnswerLimit
    return await withTaskGroup(of: (MessageID, StartRace.Ending).self) { group in
      var endings: [MessageID: StartRace.Ending] = [:]
      for (number, race) in races.values.enumerated() {
        if number >= ClientQueues.questionsMax, let (asked, ending) = await group.next() {
          endings[asked] = ending
        }
        group.addTask {
          let answer = try? await client.engine.ask(
            .outcome(race.message), within: max(.zero, deadline - .now))
          return (race.message, race.ending(answer ?? .unavailable))
        }
      }
      for await (asked, ending) in group { endings[asked] = ending }
      return endings
    }
  }

  /// Whether an agent could have started with a message meanwhile, as far as this device can know
  /// without an answer. If there is a server, another device may have become the session's host,
  /// unless the message never left this device.
  ///
  /// - Parameter before: the workspace before the change that raced with the start.
  func canStart(_ id: MessageID, in before: Workspace) async -> Bool {
    let (hasServer, apart) = await client.engine.read { ($0.hasServer, $0.apart()) }
    if hasServer { return apart?.isAlone(id, in: before) != true }
    let workspace = client.workspace()
    guard let message = try? workspace.message(id) else { return true }
    return workspace.session(message.session)?.host != nil
  }

  /// Edits a message. If it started with another text meanwhile, the text is kept as the session's
  /// draft.
  ///
  /// - Returns: the receipt, and whether the authority confirmed it. If not, the edit counts unless
  ///   the agent started with the old text meanwhile.
  /// - Throws: as `QueueClient.perform`; `.queue(.alreadyStarted)` if the agent has another text,
  ///   and `.queue(.messageFinished)` if it has finished.
  public func edit(
    _ id: MessageID, content: String, base: EditBase?
  ) async throws(ClientError) -> (receipt: CommandReceipt, isConfirmed: Bool) {
    let before = client.engine.latest.workspace
    let receipt: CommandReceipt
    do {
      receipt = try await client.perform(.edit(id, content: content, base: base))
    } catch {
      switch error {
      case .queue(.alreadyStarted), .queue(.messageFinished):
        try await keepAsDraft(content, of: id)
      default: break
      }
      throw error
    }
    let race = StartRace(editing: id, from: before, to: client.engine.latest.workspace)
    let answer = try await client.engine.ask(.outcome(id), within: ClientQueues.raceAnswerLimit)
    switch race.ending(answer) {
    case .inTime: return (receipt, true)
    case .unconfirmed: return (receipt, await !canStart(id, in: before))
    case .tooLate:
      try await keepAsDraft(content, of: id)
      throw .queue(.alreadyStarted(id: id.description))
    }
  }

  /// Adds the text to an earlier draft.
  private func keepAsDraft(_ content: String, of id: MessageID) async throws(ClientError) {
    guard let session = (try? client.workspace().message(id))?.session else { return }
    let before = try await draft(of: session)?.text
    guard before?.contains(content) != true else { return }
    try await setDraft((before.map { $0 + "\n\n" } ?? "") + content, of: session)
  }
}
