import ClientCore
public import QueueModel
public import SequenceCRDT

/// What this device can undo and redo.
public struct UndoState: Hashable, Sendable {
  /// What the next undo takes back, or why it does not; nil if nothing is left.
  public var undo: UndoNext?
  /// What the next redo does again; nil if nothing was undone since the latest change.
  public var redo: UndoNext?
  /// How many changes can be undone.
  public var undoCount: Int
  /// How many can be redone.
  public var redoCount: Int
}

extension UndoState {
  init(of replica: Replica) {
    self.init(
      undo: replica.undoNext(), redo: replica.redoNext(), undoCount: replica.undo.undoCount,
      redoCount: replica.undo.redoCount)
  }
}

extension QueueClient {
  /// Takes back this device's latest change that is not taken back yet, as far as nobody else has
  /// changed it since. What an agent has got, or has had, is left alone, and a session with history
  /// stays. What could start by it stands in a session that the same change pauses.
  ///
  /// The receipt's notice is `undone`, with the sessions that were paused, the parts that were left
  /// alone and the changes that were passed over; or `skipped`.
  ///
  /// - Parameters:
  ///   - change: the change to take back, as a receipt or `undoState` named it, the latest or not; nil
  ///     takes back the latest.
  ///   - skip: leaves the change as it is and forgets it.
  /// - Throws: `.queue(.nothingToUndo)`; `.queue(.notUndoable)`, which says why and how to reverse the change;
  ///   `.queue(.changeUnknown)` if this device can undo no change of that number; else as `perform(_:)`.
  @discardableResult
  public func undo(
    change: Int64? = nil, skip: Bool = false
  ) async throws(ClientError) -> CommandReceipt {
    let before = engine.latest.workspace
    var receipt = try await perform(.undo(change: change, skip: skip))
    guard case .undone(var done) = receipt.notice, done.label.kind == .sent,
      let message = done.label.message
    else { return receipt }
    // Its agent may have got it in the same moment, which the authority alone knows.
    if await queues.outcomes(ofWithdrawing: [message], before: before)[message] == .invoked {
      done.left.append(.started(message, done.label.text ?? "", done.label.session))
      receipt.notice = .undone(done)
    }
    return receipt
  }

  /// Does again what the latest undo took back. What could start by it stands in a session that the same
  /// change pauses.
  ///
  /// - Parameter change: the change to do again, as the receipt of its undo named it; nil takes the latest.
  /// - Throws: `.queue(.nothingToRedo)`; `.queue(.notUndoable)`, which says why; `.queue(.changeUnknown)` if
  ///   this device can redo no change of that number; else as `perform(_:)`.
  @discardableResult
  public func redo(change: Int64? = nil) async throws(ClientError) -> CommandReceipt {
    try await perform(.redo(change: change))
  }

  /// Notes something that a person did here and undo cannot take back, so that undo names it.
  ///
  /// - Parameter command: what reverses it, for a shell.
  /// - Throws: `.queue(.persistenceFailed)`, `.closed`.
  package func note(_ label: UndoLabel, reversedBy command: String) async throws(ClientError) {
    try await engine.submit { core, context, store throws(Replica.Fault) in
      try core.actNoted(label, reversedBy: command, at: context, store: store)
      return ((), [])
    }
  }

  /// What can be undone and redone now.
  public var undoState: UndoState {
    get async { await engine.read { UndoState(of: $0.replica) } }
  }

  /// Who changed what and when, the newest first, as far back as this device's log reaches.
  ///
  /// - Parameters:
  ///   - before: the `next` of the page before; nil begins at the newest.
  ///   - limit: entries to give at most, 1 to 1,000. A page may have fewer, or none, and still a
  ///     `next`: one call looks at a limited part of the log.
  /// - Throws: `.queue(.persistenceFailed)` where the log cannot be read, `.closed`.
  public func history(
    of subject: HistorySubject = .workspace, before: HistoryPosition? = nil, limit: Int = 100
  ) async throws(ClientError) -> HistoryPage {
    let limit = min(max(limit, 1), 1_000)
    return try await engine.submit { core, _, store throws(Replica.Fault) in
      (try core.replica.history(of: subject, before: before, limit: limit, store: store), [])
    }
  }

  /// The version of the workspace now, to come back to.
  public var version: VersionVector { engine.latest.workspace.vector }

  /// The workspace as it was at a version.
  ///
  /// - Throws: `.history` where the log does not tell it, `.queue(.persistenceFailed)` where it cannot be
  ///   read, `.storage` where it contradicts itself, `.closed`.
  public func workspace(at version: VersionVector) async throws(ClientError) -> Workspace {
    try await engine.submit { core, _, store throws(Replica.Fault) in
      (try core.replica.workspace(at: version, store: store), [])
    }
  }

  /// The fewest steps that lead from one version to another, whichever is older.
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
