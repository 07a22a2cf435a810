import Foundation
import QueueModel
import SequenceCRDT

/// A command as a JSON protocol would send it to other devices: with its author, the author's count
/// and the time, like a delta.
struct CommandJSON: Encodable {
  /// 16 hexadecimal digits.
  private var replica: String
  private var number: UInt32
  /// Milliseconds since 1970.
  private var at: Int64
  private var command: String
  private var session: String?
  private var message: String?
  private var text: String?
  private var priority: String?
  private var reason: String?
  private var position: Int?

  /// - Precondition: it is a command of a session of work: about one message or session, moved to a
  ///   position.
  init(_ command: Command, operation: OperationID, milliseconds: Int64) {
    let digits = String(operation.replica.rawValue, radix: 16)
    replica = String(repeating: "0", count: 16 - digits.count) + digits
    number = operation.seq
    at = milliseconds
    switch command {
    case .send(let send):
      self.command = "send"
      session = send.session.rawValue
      message = send.id.description
      text = send.text
      priority = send.priority == .urgent ? "urgent" : nil
    case .edit(let id, let content, _):
      self.command = "edit"
      message = id.description
      text = content
    case .move(let ids, .position(let place)):
      self.command = "move"
      message = ids.first?.description
      position = place
    case .cancel(let ids):
      self.command = "cancel"
      message = ids.first?.description
    case .restore(let id):
      self.command = "restore"
      message = id.description
    case .setPriority(let id, let value):
      self.command = "setPriority"
      message = id.description
      priority = value == .urgent ? "urgent" : "normal"
    case .pause(let id, let why):
      self.command = "pause"
      session = id.rawValue
      reason = why
    case .resume(let id):
      self.command = "resume"
      session = id.rawValue
    case .moveThreads(let ids, .position(let place)):
      self.command = "moveThread"
      session = ids.first?.rawValue
      position = place
    case .removeThreads(let ids):
      self.command = "removeThread"
      session = ids.first?.rawValue
    default:
      preconditionFailure("no command of a session of work: \(command)")
    }
  }

  /// The shortest form: keys without values are left out, no white space.
  var bytes: [UInt8] {
    get throws {
      let encoder = JSONEncoder()
      encoder.outputFormatting = [.sortedKeys, .withoutEscapingSlashes]
      return Array(try encoder.encode(self))
    }
  }
}
