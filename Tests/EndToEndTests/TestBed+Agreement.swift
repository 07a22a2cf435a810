import Foundation
import GRDB
import Testing

extension TestBed {
  /// A running server.
  func server() async throws -> Server {
    let server = Server(self)
    try await server.start()
    return server
  }

  /// A running device that is paired with `server`.
  func device(_ name: String, of server: Server, workspace: String? = nil) async throws -> Device {
    let device = Device(self, name)
    try await device.start()
    try await device.pair(with: server, workspace: workspace)
    return device
  }

  /// Waits until every device has sent everything and has the same dump, and returns it.
  ///
  /// One round is enough if `sync wait` is right on every device in turn; more rounds are only
  /// needed if a device is still reconnecting.
  @discardableResult
  func agreement(_ devices: Device..., within seconds: Double = 120) async throws -> String {
    let dumps = try await bounded(seconds) {
      var dumps: [String] = []
      repeat {
        for device in devices { try await device.synchronise() }
        dumps = []
        for device in devices { dumps.append(try await device.dump()) }
      } while Set(dumps).count > 1 && !Task.isCancelled
      return dumps
    }
    guard let dumps, let first = dumps.first, Set(dumps).count == 1 else {
      var texts: [String] = []
      for device in devices { texts.append("\(device.name): \(try await device.dump())") }
      throw ProcessFailure("no agreement within \(seconds) s\n\(texts.joined(separator: "\n"))")
    }
    return first
  }

  /// Repeats the check until `condition` holds.
  func eventually(
    _ what: String, within seconds: Double = 120,
    _ condition: @Sendable @escaping () async throws -> Bool
  ) async throws {
    let held = try await bounded(seconds) {
      while !Task.isCancelled {
        if try await condition() { return true }
        // A condition that only examines files never suspends. Two of them would block the few
        // threads of tasks for all other tests, and for their own deadlines.
        try await Task.sleep(for: .milliseconds(2))
      }
      return false
    }
    guard held == true else { throw ProcessFailure("not within \(seconds) s: \(what)") }
  }

  /// Reads a database whose process has ended.
  static func database<Value>(_ path: String, _ read: (Database) throws -> Value) throws -> Value {
    let queue = try DatabaseQueue(path: path)
    defer { try? queue.close() }
    return try queue.read(read)
  }

  static func expectIntact(_ path: String, sourceLocation: SourceLocation = #_sourceLocation) throws
  {
    let answer = try database(path) { try String.fetchAll($0, sql: "PRAGMA integrity_check") }
    #expect(answer == ["ok"], "\(path)", sourceLocation: sourceLocation)
  }
}
