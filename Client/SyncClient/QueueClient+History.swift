import ClientCore
public import QueueModel
public import SequenceCRDT

/// The changes that this device can undo and redo.
public struct UndoState: Hashable, Sendable {
  /// The change that the next undo reverses, or why it cannot; nil if nothing is left.
  public var undo: UndoNext?
  /// The change that the next redo repeats; nil if nothing was undone since the latest change.
  public var redo: UndoNext?
  /// The number of changes that can be undone.
  public var undoCount: Int
  /// The number of changes that can be redone.
  public var redoCount: Int
}

extension UndoState {
  /// - Parameter isSilent: whether the server has not answered, whatever the state of the
  ///   connection.
  init(of core: ClientCore, isSilent: Bool = false) {
    let replica = core.replica
    let apart = core.apart(isSilent: isSilent)
    self.init(
      undo: replica.undoNext(apart: apart), redo: replica.redoNext(apart: apart),
      undoCount: replica.undo.undoCount, redoCount: replica.undo.redoCount)
  }
}

extension QueueClient {
  /// Undoes this device's latest change that is not undone yet, except for parts that other devices
  /// have changed since. Messages that an agent has received are not changed, and a session with
  /// history stays. If the undo could start messages, the same change pauses their session. If the
  /// server does not answer, it pauses every session in which something could start.
  ///
  /// The receipt's notice is `undone`, with the paused sessions, the parts that were not changed
  /// and the messages for which the authority did not answer; or `skipped`.
  ///
  /// - Parameters:
  ///   - change: the number in a receipt or `undoState`, whether or not it is the latest; nil for
  ///     the latest.
  ///   - skip: whether to leave the change as it is, and forget how to undo it.
  /// - Throws: `.queue(.nothingToUndo)`; `.queue(.notUndoable)`, with the reason and how to reverse
  ///   the change; `.queue(.changeUnknown)` if this device cannot undo a change with that number;
  ///   `.timeout`, without changing anything, if the calling task was cancelled before the server
  ///   answered; else as `perform(_:)`.
  @discardableResult
  public func undo(
    change: Int64? = nil, skip: Bool = false
  ) async throws(ClientError) -> CommandReceipt {
    let command = Command.undo(change: change, skip: skip)
    guard !skip else { return try await perform(command) }
    return try await turn(command)
  }

  /// Repeats the change that was undone last. If it could start messages, the same change pauses
  /// their session.
  ///
  /// - Parameter change: the number in the receipt of its undo; nil for the latest.
  /// - Throws: `.queue(.nothingToRedo)`; `.queue(.notUndoable)`, with the reason;
  ///   `.queue(.changeUnknown)` if this device cannot redo a change with that number;
  ///   `.queue(.queueFull)` if it would send a message to a full queue; `.timeout` as
  ///   `undo(change:skip:)`; else as `perform(_:)`.
  @discardableResult
  public func redo(change: Int64? = nil) async throws(ClientError) -> CommandReceipt {
    try await turn(.redo(change: change))
  }

  /// Undoes or redoes, and asks the authority before and after. Messages that an agent has received
  /// by now are not changed, and without an answer the device counts as offline.
  private func turn(_ command: Command) async throws(ClientError) -> CommandReceipt {
    var races = await engine.read { UndoRaces(of: command, in: $0) }
    let endings = await queues.endings(of: races.all)
    let isApart = await isSilent(by: endings)
    if let obstacle = races.obstacle(by: endings), let label = races.label {
      throw .queue(.notUndoable(label, obstacle))
    }
    let settings = device.settings
    let done = try await engine.submit(synchronizes: true) {
      core, context, store throws(Replica.Fault) -> (
        (CommandReceipt, UndoRaces, Apartness?)?, [Engine.Action]
      ) in
      // A caller that no longer waits assumes that nothing happens.
      guard !Task.isCancelled else { return (nil, []) }
      core.queueSizeMax = settings.maxQueueSize
      let (before, apart) = (core.replica.workspace, core.apart())
      let (outcome, actions) = try core.commandGiven(
        command, isApart: isApart, waitsForDisk: false, at: context, store: store)
      let receipt = CommandReceipt(
        notice: outcome.notice, operations: outcome.operations.ranges.first, change: outcome.change)
      let races = UndoRaces(
        of: outcome.operations, from: before, to: core.replica.workspace, label: nil)
      return ((receipt, races, apart), actions)
    }
    guard let done else { throw .timeout }
    var receipt: CommandReceipt
    let apart: Apartness?
    (receipt, races, apart) = done
    var ended = races.races.mapValues { _ in StartRace.Ending.unconfirmed }
    if !isApart { ended = await queues.endings(of: races.races) }
    try await tell(ended, of: races, apart: apart, isApart: isApart, in: &receipt)
    return receipt
  }

  /// Whether a server that seems to be connected has not answered.
  private func isSilent(by endings: [MessageID: StartRace.Ending]) async -> Bool {
    guard endings.values.contains(.unconfirmed) else { return false }
    return await engine.read { $0.hasServer }
  }

  /// Adds the authority's answers after an undo or a redo to a receipt.
  ///
  /// - Throws: `.queue(.notUndoable)` if agents had received all of it, which was unknown before it
  ///   was written.
  private func tell(
    _ endings: [MessageID: StartRace.Ending], of races: UndoRaces, apart: Apartness?, isApart: Bool,
    in receipt: inout CommandReceipt
  ) async throws(ClientError) {
    guard var done = receipt.notice.undoResult else { return }
    if case .started(let message, let text, let session)? = races.obstacle(by: endings) {
      throw .queue(.notUndoable(done.label, .late(message, text, session)))
    }
    for (id, ending) in endings.sorted(by: { $0.key < $1.key }) {
      switch ending {
      case .inTime: continue
      case .tooLate:
        if let obstacle = races.started(id) { done.left.append(obstacle) }
      case .unconfirmed:
        let isAlone = apart?.isAlone(id, in: races.before) == true
        guard !isAlone else { continue }
        var mayHaveStarted = isApart || apart != nil
        if !mayHaveStarted { mayHaveStarted = await queues.canStart(id, in: races.before) }
        if mayHaveStarted { done.unconfirmed.append(id) }
      }
    }
    switch receipt.notice {
    case .undone: receipt.notice = .undone(done)
    default: receipt.notice = .redone(done)
    }
  }

  /// Records a user's action here that undo cannot reverse, so that undo names the command that
  /// reverses it.
  ///
  /// - Parameter former: the former value; nil if it was not set.
  /// - Throws: `.queue(.persistenceFailed)`, `.closed`.
  package func note(_ label: UndoLabel, former: String?) async throws(ClientError) {
    try await engine.submit { core, context, store throws(Replica.Fault) in
      try core.actNoted(label, former: former, at: context, store: store)
      return ((), [])
    }
  }

  /// The changes that can be undone and redone now, as far as this device knows.
  public var undoState: UndoState {
    get async { await engine.read { UndoState(of: $0) } }
  }

  /// The effects of an undo and a redo now. Like them, it asks the server first, and waits for at
  /// most `ClientQueues.raceAnswerLimit`.
  public var confirmedUndoState: UndoState {
    get async {
      let question = await engine.read { UndoRaces.presence(in: $0.replica.workspace) }
      let isSilent = await isSilent(by: await queues.endings(of: question))
      return await engine.read { UndoState(of: $0, isSilent: isSilent) }
    }
  }

  /// The changes and their authors, the newest first, as far back as this device's log goes.
  ///
  /// - Parameters:
  ///   - before: the `next` of the previous page; nil begins at the newest.
  ///   - limit: the maximum number of entries, 1 to 1,000. A page may have fewer entries, or none,
  ///     and still a `next`: one call examines a limited part of the log.
  /// - Throws: `.queue(.persistenceFailed)` if the log cannot be read, `.closed`.
  public func history(
    of subject: HistorySubject = .workspace, before: HistoryPosition? = nil, limit: Int = 100
  ) async throws(ClientError) -> HistoryPage {
    let limit = min(max(limit, 1), 1_000)
    return try await engine.submit { core, _, store throws(Replica.Fault) in
      (try core.replica.history(of: subject, before: before, limit: limit, store: store), [])
    }
  }

  /// The present version of the workspace, to which you can return later.
  public var version: VersionVector { engine.latest.workspace.vector }

  /// The workspace at a version.
  ///
  /// - Throws: `.history` if the log does not reach it, `.queue(.persistenceFailed)` if it cannot
  ///   be read, `.storage` if it contradicts itself, `.closed`.
  public func workspace(at version: VersionVector) async throws(ClientError) -> Workspace {
    try await engine.submit { core, _, store throws(Replica.Fault) in
      (try core.replica.workspace(at: version, store: store), [])
    }
  }

  /// The fewest steps from one version to another, whichever of the two is older.
  ///
  /// - Throws: as `workspace(at:)`.
  public func changes(
    from old: VersionVector, to new: VersionVector
  ) async throws(ClientError) -> [WorkspaceChange] {
    try await engine.submit { core, _, store throws(Replica.Fault) in
      (try core.replica.changes(from: old, to: new, store: store), [])
    }
  }
}
