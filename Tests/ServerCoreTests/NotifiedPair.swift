import QueueModel
import SequenceCRDT
import Testing
import WireProtocol

@testable import ServerCore

/// A host whose session exists, and a phone, both joined.
struct NotifiedPair {
  static let wall: Int64 = 1_700_000_000_000
  static let working = TaskStatus.processing(operation: nil)

  static func approval(_ low: UInt64, expires: Int64? = nil) -> TaskStatus {
    .awaitingApproval(
      ApprovalRequest(
        id: RequestID(high: 5, low: low), toolName: "Bash", summary: "swift test",
        details: "all of them", expiresAt: expires))
  }

  var scene = ServerScene()
  var host: ScriptedDevice
  var phone: ScriptedDevice
  var hostConnection: ConnectionID
  var phoneConnection: ConnectionID

  init(_ adjust: (inout ServerConfiguration) -> Void = { _ in }) throws {
    scene = ServerScene(adjust)
    host = scene.device(1)
    phone = scene.device(2)
    hostConnection = try scene.join(&host)
    phoneConnection = try scene.join(&phone)
    try host.write("build it")
    scene.send(host.changes(), on: hostConnection)
    _ = scene.take(hostConnection)
    _ = scene.take(phoneConnection)
  }

  /// The host reports its agent's statuses, each in one batch.
  mutating func report(_ statuses: TaskStatus..., at: Int64 = NotifiedPair.wall) throws {
    try perform(
      statuses.map { status in
        .reportTask(
          TaskReport(session: try SessionID("main"), status: status, milliseconds: at))
      })
  }

  /// The host performs commands, each in one batch.
  mutating func perform(_ commands: [Command]) throws {
    for command in commands { try host.perform(command) }
    scene.send(host.changes(), on: hostConnection)
  }

  mutating func received() -> [InboxNotification] { scene.take(phoneConnection).notifications }

  mutating func phoneLeaves() {
    scene.drop(phoneConnection)
  }

  mutating func phoneReturns() throws -> [InboxNotification] {
    phoneConnection = scene.connect(phone)
    let frames = scene.take(phoneConnection)
    try phone.take(frames)
    return frames.notifications
  }

  mutating func acknowledge(_ position: UInt64) {
    scene.send(.notified(position), on: phoneConnection)
  }

  mutating func ask(_ request: InboxRequest, id: UInt64 = 7) throws -> InboxAnswer? {
    scene.send(.request(request.request(id: id)), on: phoneConnection)
    for case .response(let response) in scene.take(phoneConnection) where response.id == id {
      return try InboxAnswer(response, to: request)
    }
    return nil
  }

  mutating func addTarget(_ low: UInt64 = 1) throws {
    let answer = try ask(
      .setTarget(PushTargetID(high: 8, low: low), kind: "ntfy", address: "https://n.example/t"))
    #expect(answer == .done)
  }

  var orders: [PushOrder] { scene.storage.withState { $0.pushOrders.map(\.order) } }

  var entries: [InboxEntry] {
    scene.storage.withState { $0.workspaces[ServerScene.workspace]?.inboxes.entries ?? [] }
  }
}

extension [Frame] {
  var notifications: [InboxNotification] {
    compactMap { if case .notification(let it) = $0 { it } else { nil } }
  }
}
