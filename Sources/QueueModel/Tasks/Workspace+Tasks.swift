package import SequenceCRDT

/// A task in the form of its register.
package struct TaskRecord: Hashable, Sendable {
  package var state: TaskState
  /// The operation that wrote it.
  package var writer: OperationID
  /// The token in its fence, before the step.
  package var token: UInt64
  /// The step, from 1.
  package var step: UInt64

  /// The greatest step; after it, the register cannot be written under its token any more.
  package static let stepMax: UInt64 = 1 << 24 - 1
}

extension SessionState {
  /// The work of its agent; nil if it was never reported.
  var task: TaskRecord? {
    guard let first = element.registers[.task] else { return nil }
    var text = ""
    for field in RegisterField.taskPieces {
      // A piece of another write belongs to an earlier, longer text.
      guard let piece = element.registers[field], piece.stamp == first.stamp,
        piece.writer.replica == first.writer.replica, case .text(let part) = piece.value
      else { break }
      text += part
    }
    return TaskRecord(
      state: TaskState(
        TaskText(text: text), session: key, project: element.text(.project) ?? ""),
      writer: first.writer, token: first.stamp.rawValue >> 24,
      step: first.stamp.rawValue & TaskRecord.stepMax)
  }
}

extension Workspace {
  /// The work of a session's agent; nil if it was never reported, or if there is no such session.
  public func task(of session: SessionID) -> TaskState? { taskRecord(of: session)?.state }

  /// The same, with its writer and fence.
  package func taskRecord(of id: SessionID) -> TaskRecord? {
    guard let session = head(of: id), session.exists else { return nil }
    return session.task
  }

  /// Whether a session's task awaits a request.
  package func awaits(_ request: RequestID, in session: SessionID) -> Bool {
    task(of: session)?.awaits(request) == true
  }

  /// The content of the register, even of a deleted session, because its host still ends its work
  /// there.
  package func keptTask(of id: SessionID) -> TaskRecord? { head(of: id)?.task }

  /// The host of a session, or its last host before it was deleted; nil if it was never seen.
  package func keptHost(of id: SessionID) -> DeviceID?? { head(of: id).map(\.host) }

  /// The sessions whose tasks have not ended, including deleted ones, by id. O(sessions).
  package func sessionsUnderWay() -> [SessionID] {
    heads.filter { $0.task?.state.status.kind.isUnderWay == true }.map(\.key).sorted()
  }

  /// The device that wrote a session's task, even of a deleted session; nil if none did, or if its
  /// announcement is missing.
  package func taskDevice(of session: SessionID) -> DeviceID? {
    keptTask(of: session).flatMap { device(of: $0.writer.replica)?.id }
  }

  /// The session whose task awaits the request; nil if none does.
  ///
  /// - Complexity: O(sessions).
  public func session(awaiting request: RequestID) -> SessionID? {
    heads.first { $0.exists && $0.task?.state.awaits(request) == true }?.key
  }
}
