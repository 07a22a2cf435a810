import ClientCore
public import QueueModel
public import SequenceCRDT

/// What this device can undo and redo, in words.
public struct UndoState: Hashable, Sendable {
  /// What the next undo takes back; nil where nothing is left.
  public var undo: UndoLabel?
  /// What the next redo does again; nil where nothing was undone since the latest change.
  public var redo: UndoLabel?
  /// How many changes can be undone.
  public var undoCount: Int
  /// How many can be redone.
  public var redoCount: Int
}

extension UndoState {
  init(of history: UndoHistory) {
    self.init(
      undo: history.undoLabel, redo: history.redoLabel, undoCount: history.undoable.count,
      redoCount: history.redoable.count)
  }
}

extension QueueClient {
  /// Takes back this device's latest change that is not taken back yet, as far as nobody else has
  /// changed it since. The receipt's notice is `undone`, or `unchanged` where others have overtaken
  /// all of it.
  ///
  /// - Parameter change: the change to take back, as a receipt named it; nil takes back the latest.
  /// - Throws: `.queue(.nothingToUndo)`; `.changedSince` where the change is not the latest; else as
  ///   `perform(_:)`.
  @discardableResult
  public func undo(change: Int64? = nil) async throws(ClientError) -> CommandReceipt {
    try await step(.undo, to: change) { $0.undoable.last?.group }
  }

  /// Does again what the latest undo took back.
  ///
  /// - Parameter change: the change to do again, as the receipt of its undo named it; nil takes the latest.
  /// - Throws: `.queue(.nothingToRedo)`; `.changedSince` where the change is not the latest; else as
  ///   `perform(_:)`.
  @discardableResult
  public func redo(change: Int64? = nil) async throws(ClientError) -> CommandReceipt {
    try await step(.redo, to: change) { $0.redoable.last?.group }
  }

  /// Imports within so many milliseconds of each other count as one.
  private static let importPauseMilliseconds: UInt64 = 5_000

  /// One step of undo or redo. An import is done in parts, of which each is a group: they go together.
  private func step(
    _ command: Command, to change: Int64?,
    _ next: @escaping @Sendable (UndoHistory) -> UndoGroup?
  ) async throws(ClientError) -> CommandReceipt {
    var count = 0
    while true {
      let group = await engine.read { next($0.replica.undo) }
      // Of an import, the parts behind the first are not named.
      var receipt = try await perform(command, isOfPerson: true, to: count == 0 ? change : nil)
      guard let group, group.label.kind == .imported else { return receipt }
      switch receipt.notice {
      case .undone(var label), .redone(var label):
        count += label.count
        label.count = count
        receipt.notice = command == .undo ? .undone(label) : .redone(label)
      default: break
      }
      let following = await engine.read { next($0.replica.undo) }
      guard let following, following.label.kind == .imported,
        (following.milliseconds &- group.milliseconds).magnitude
          <= QueueClient.importPauseMilliseconds
      else { return receipt }
    }
  }

  /// What can be undone and redone now.
  public var undoState: UndoState { engine.latest.undo }

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

extension ClientCore {
  /// The number of the change that an undo or a redo is about now; nil for other commands.
  func changeNumber(for command: Command) -> Int64? {
    switch command {
    case .undo: replica.undo.undoable.last?.number
    case .redo: replica.undo.redoable.last?.number
    default: nil
    }
  }
}
