import ClientCore
import ClientStore
import Foundation
import QueueModel
import SequenceCRDT
import Testing

/// A data directory of a test, removed together with the value.
final class StoreDirectory {
  let path: String
  private var random: UInt64

  /// - Parameter seed: stores that synchronize need different ones.
  init(seed: UInt64 = 0) throws {
    random = seed
    path = NSTemporaryDirectory() + "cospool-store-\(UUID().uuidString)"
    try FileManager.default.createDirectory(
      atPath: path, withIntermediateDirectories: true)
  }

  init(copying other: StoreDirectory) throws {
    path = NSTemporaryDirectory() + "cospool-store-\(UUID().uuidString)"
    try FileManager.default.copyItem(atPath: other.path, toPath: path)
    random = 1 << 40
  }

  deinit {
    // A directory that is left in the temporary folder is not a problem.
    try? FileManager.default.removeItem(atPath: path)
  }

  var database: String { path + "/" + ClientStore.fileName }

  func context() -> EventContext {
    random += 1
    return EventContext(now: 0, wall: 1_767_225_600_000 + Int64(random), random: random)
  }

  /// A store with its replica, as the library opens them.
  struct Open {
    var store: ClientStore
    var replica: Replica
  }

  func open() throws -> Open {
    let opened = try ClientStore.open(directory: path)
    let device = try DeviceIdentity.load(directory: path, fresh: DeviceID(high: 1, low: 1))
    let replica = try Replica(
      Replica.Opening(
        loaded: opened.loaded, device: device, deviceName: "directory"),
      at: context(), store: opened.store)
    return Open(store: opened.store, replica: replica)
  }

  @discardableResult
  func send(
    _ number: UInt64, _ open: inout Open, text: String? = nil, waitsForDisk: Bool = true
  ) throws -> CommandOutcome {
    let context = context()
    return try open.replica.perform(
      .send(
        Command.Send(
          session: SessionID("a"), id: MessageID(high: 7, low: number),
          text: text ?? "text \(number)")),
      queueSizeMax: 1_000, wall: context.wall, waitsForDisk: waitsForDisk, at: context,
      store: open.store)
  }

  func contents(_ replica: Replica) throws -> [String] {
    try replica.workspace.messageQueue(SessionID("a")).messages.map(\.content)
  }

  /// Restores a file's bytes without replacing the file.
  func overwrite(_ name: String, with bytes: Data) throws {
    let file = path + "/" + name
    guard let handle = FileHandle(forUpdatingAtPath: file) else {
      return try bytes.write(to: URL(fileURLWithPath: file))
    }
    try handle.truncate(atOffset: 0)
    try handle.write(contentsOf: bytes)
    try handle.close()
  }

  /// The files and their bytes, as a power cut would leave them.
  func snapshot() throws -> [String: Data] {
    var files: [String: Data] = [:]
    for name in try FileManager.default.contentsOfDirectory(atPath: path) {
      files[name] = try Data(contentsOf: URL(fileURLWithPath: path + "/" + name))
    }
    return files
  }
}
