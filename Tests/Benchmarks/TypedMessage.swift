import QueueModel
import SequenceCRDT

/// The message into which traces are typed.
enum TypedMessage {
  /// The text with which the message is sent, and which stays after the typed text: no message is
  /// ever blank.
  static let end = "."
  static let id = MessageID.drawn(0)

  static func send() throws -> Command {
    .send(Command.Send(session: try SessionID("paper"), id: id, text: end))
  }

  /// The message's text in a workspace that has it.
  static func content(in workspace: Workspace) throws -> String {
    try workspace.message(id).content
  }

  /// A device on which a trace was typed.
  ///
  /// - Throws: the errors of the engine.
  static func device(typing trace: SequentialTrace) throws -> BenchDevice {
    var device = BenchDevice(pauseMilliseconds: 100)
    try device.perform(send())
    for patch in trace.patches { try device.type(patch) }
    return device
  }
}

extension BenchDevice {
  /// Types a patch into the message; one that deletes and inserts is two commands.
  ///
  /// - Returns: its operations.
  @discardableResult
  mutating func type(_ patch: Patch) throws -> [Operation] {
    var operations: [Operation] = []
    if patch.deleted > 0 {
      let range = patch.position..<patch.position + patch.deleted
      operations += try perform(.deleteText(TypedMessage.id, range))
    }
    if !patch.inserted.isEmpty {
      operations += try perform(
        .insertText(TypedMessage.id, at: patch.position, text: patch.inserted))
    }
    return operations
  }
}
