package import SequenceCRDT

/// A task as its register holds it.
package struct TaskRecord: Hashable, Sendable {
  package var state: TaskState
  /// The operation that wrote it.
  package var writer: OperationID
  /// The token above the step of its fence.
  package var token: UInt64
  /// The step, from 1.
  package var step: UInt64

  /// The greatest step; a register that stands there is not written under its token any more.
  package static let stepMax: UInt64 = 1 << 24 - 1
}

extension SessionState {
  /// What its agent does; nil where nobody ever said.
  var task: TaskRecord? {
    guard let first = element.registers[.task] else { return nil }
    var text = ""
    for field in RegisterField.taskPieces {
      // A piece of another write belongs to a longer text of before.
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
  /// What a session's agent does; nil where nobody ever said, or there is no such session.
  public func task(of session: SessionID) -> TaskState? { taskRecord(of: session)?.state }

  /// The same with who wrote it under what fence.
  package func taskRecord(of id: SessionID) -> TaskRecord? {
    guard let session = head(of: id), session.exists else { return nil }
    return session.task
  }

  /// Whether a session's task awaits a request.
  package func awaits(_ request: RequestID, in session: SessionID) -> Bool {
    task(of: session)?.awaits(request) == true
  }

  /// What the register says, of a deleted session too: its host ends there what it began.
  package func keptTask(of id: SessionID) -> TaskRecord? { head(of: id)?.task }

  /// The host of a session, or that it had when it was deleted; nil where it was never seen.
  package func keptHost(of id: SessionID) -> DeviceID?? { head(of: id).map(\.host) }

  /// The sessions whose tasks are not over, deleted ones too, by id. O(sessions).
  package func sessionsUnderWay() -> [SessionID] {
    heads.filter { $0.task?.state.status.kind.isUnderWay == true }.map(\.key).sorted()
  }

  /// The device that wrote a session's task, be the session deleted; nil where nobody did, or its
  /// announcement lacks.
  package func taskDevice(of session: SessionID) -> DeviceID? {
    keptTask(of: session).flatMap { device(of: $0.writer.replica)?.id }
  }

  /// The session whose task awaits the request; nil where none does.
  ///
  /// - Complexity: O(sessions).
  public func session(awaiting request: RequestID) -> SessionID? {
    heads.first { $0.exists && $0.task?.state.awaits(request) == true }?.key
  }
}
