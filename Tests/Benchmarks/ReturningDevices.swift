import Foundation

/// A real device for each workspace of a fleet: `cospoold` with a store. The fleet's members only
/// speak to a server; when that is lost, these devices have everything that they all made.
struct ReturningDevices {
  private let directories: [String]

  /// Pairs them with a running server, so that its later backups know them; they do not run then.
  ///
  /// - Parameter data: the server's data directory.
  init(workspaces: Int, of server: SyncServerProcess, over data: String, in root: String) throws {
    struct Grant: Decodable { var code: String }
    directories = try (0..<workspaces).map { number in
      let directory = "\(root)/device-\(number)"
      try FileManager.default.createDirectory(
        atPath: directory, withIntermediateDirectories: true)
      let device = try DaemonProcess(directory: directory, isNamed: "whole")
      defer { device.stop() }
      let answer = try DaemonProcess.output(
        "cospool-server",
        ["pair", "--workspace", "workspace \(number)", "--json", "--data", data])
      let grant = try JSONDecoder().decode(Grant.self, from: Data(answer.utf8))
      _ = try DaemonProcess.output(
        "cospool",
        ["pair", "ws://127.0.0.1:\(server.port)", grant.code, "--data", directory])
      return directory
    }
  }

  /// Starts them, waits until each is in sync with its server, and stops them.
  ///
  /// - Returns: seconds from the first start until the last was in sync.
  func synchronise() throws -> Double {
    let clock = ContinuousClock()
    let begin = clock.now
    var running: [DaemonProcess] = []
    defer { for device in running { device.stop() } }
    for directory in directories {
      running.append(try DaemonProcess(directory: directory, isNamed: "whole"))
    }
    for directory in directories {
      _ = try DaemonProcess.output(
        "cospool", ["sync", "wait", "--timeout", "120", "--data", directory])
    }
    return (clock.now - begin) / .seconds(1)
  }
}
