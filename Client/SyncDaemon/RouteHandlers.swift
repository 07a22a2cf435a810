import Basics
import Foundation
import Hummingbird
import LocalAPI
import NIOCore
import QueueModel
import SyncClient

extension ReceiptAnswer {
  init(_ receipt: CommandReceipt) { self.init(receipt.notice, change: receipt.change) }
}

/// The handlers of one subject, and what those of all subjects share.
protocol RouteHandlers: Sendable {
  var client: QueueClient { get }
}

extension RouteHandlers {
  typealias Context = APIContext

  /// Performs a command and answers with its receipt.
  ///
  /// - Parameter messages: those that it changes, which the receipt names.
  func perform(
    _ command: Command, changing messages: [MessageID] = [], isOfPerson: Bool = true
  ) async throws -> Response {
    var answer = ReceiptAnswer(try await client.perform(command, isOfPerson: isOfPerson))
    if !messages.isEmpty { answer.messages = changed(messages) }
    return CanonicalJSON.response(answer)
  }

  /// The names by which a user knows these messages.
  func changed(_ messages: [MessageID]) -> [ReceiptAnswer.Message] {
    let workspace = client.workspace()
    return messages.compactMap { try? workspace.message($0) }.map(ReceiptAnswer.Message.init)
  }

  /// Undo does not start an agent again; it names the command that does.
  func noteStop(of message: MessageID?, in session: SessionID) async {
    guard let message else { return }
    await note(UndoLabel(kind: .stopped, session: session, message: message))
  }

  /// Records a user's change that undo cannot reverse.
  ///
  /// - Parameter former: what it was before; nil if nothing had set it.
  func note(_ label: UndoLabel, former: String? = nil) async {
    // The change is made already; only undo would not know of it.
    try? await client.note(label, former: former)
  }

  /// Whether a user's editor asks, which does not count as a separate change.
  func isOfEditor(_ request: Request) throws -> Bool {
    try flag("editing", in: request.uri.queryParameters)
  }

  func flag(_ name: String, in query: Parameters) throws -> Bool {
    switch query.get(name) {
    case nil, "false": return false
    case "true": return true
    case _?: throw APIProblem.badRequest("\(name) must be true or false.")
    }
  }

  func session(_ context: Context) throws -> SessionID {
    try SessionID(try parameter("session", of: context))
  }

  /// The message that the path names, by its id or a unique prefix.
  func message(_ context: Context) throws -> MessageID {
    try client.workspace().messageID(fromPrefix: try parameter("message", of: context))
  }

  func parameter(_ name: String, of context: Context) throws -> String {
    let raw = try context.parameters.require(name)
    guard raw.utf8.contains(UInt8(ascii: "%")) else { return raw }
    guard let text = ASCII.percentDecoded(raw) else {
      throw APIProblem.badRequest("\"\(raw)\" in the path is not percent-encoded UTF-8.")
    }
    return text
  }

  func name(of device: DeviceID) -> String {
    devices().first { $0.id == device }?.name ?? "device \(device.description.prefix(8))"
  }

  func devices() -> [(id: DeviceID, name: String)] {
    let status = client.syncStatus()
    var devices = status.devices.map { (id: $0.id, name: $0.name) }
    if !devices.contains(where: { $0.id == client.deviceID }) {
      devices.append((client.deviceID, status.deviceName))
    }
    return devices
  }
}
