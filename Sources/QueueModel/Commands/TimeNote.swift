import SequenceCRDT

/// The times of changes that carry no stamp, such as typing, cancelling and pausing.
package enum TimeNote {
  /// The maximum time between an operation without a stamp and the replica's stamp before it, in
  /// milliseconds. So typing costs one note a second.
  package static let stepMilliseconds: Int64 = 1_000

  /// Writes the time of a command if the log would not show it: a register of the session, after
  /// the operations that it describes.
  ///
  /// - Parameters:
  ///   - operations: those of the command, the latest of its replica.
  ///   - latest: the milliseconds of the replica's last stamp before them; nil if it has none.
  ///   - workspace: takes the write.
  /// - Returns: the write; nil if it is not needed.
  /// - Complexity: O(operations).
  package static func write(
    of operations: [Operation], after latest: Int64?, in context: CommandContext,
    to workspace: inout Workspace
  ) -> Operation? {
    if let latest, context.stamp.milliseconds - latest <= stepMilliseconds {
      return nil
    }
    guard let (index, element) = operations.firstUntimed, let last = operations.last?.lastID,
      let units = operations[index].id.distance(to: last)
    else { return nil }
    return workspace.emit(
      .setRegister(
        element: session(of: element, in: workspace), field: .changedAt, value: .number(units + 1),
        stamp: context.stamp),
      in: CommandContext(replica: context.replica, stamp: context.stamp, recordsUndo: false)
    ).first
  }

  /// The session that an element is, or that contains it.
  private static func session(of element: OperationID, in workspace: Workspace) -> OperationID {
    guard workspace.sessionKeys[element] == nil, let message = workspace.messageKeys[element],
      let key = workspace.messageStates[message]?.session,
      let reference = workspace.sessionStates[key]?.element.references.first
    else { return element }
    return reference
  }
}

extension [Operation] {
  /// The first operation with no time of its own and none in front of it, and what it changes.
  fileprivate var firstUntimed: (index: Int, element: OperationID)? {
    for (index, operation) in enumerated() {
      if operation.stamp != nil { return nil }
      switch operation.body {
      case .insertText(let insertion): return (index, insertion.message)
      case .deleteText(let deletion): return (index, deletion.message)
      case .addTag(let element, let field, _, _) where field != .incomplete && field != .byAgent:
        return (index, element)
      case .clearTags(let element, let field, _) where field != .incomplete:
        return (index, element)
      // The operation after it shows the time.
      case .openSession where index + 1 == count || self[index + 1].stamp == nil:
        return (index, operation.id)
      default: continue
      }
    }
    return nil
  }
}

extension OperationID {
  /// How many units later another one of the same replica is.
  fileprivate func distance(to other: OperationID) -> UInt64? {
    replica == other.replica && seq <= other.seq ? UInt64(other.seq - seq) : nil
  }
}
