import Foundation
import NIOCore
import NIOPosix
import QueueModel

/// A device that is connected now.
struct ConnectedDevice: Hashable, Sendable {
  var workspace: WorkspaceID
  var device: DeviceID
  /// When its connection was accepted, milliseconds since 1970.
  var since: Int64
}

/// The connected devices, as the serving process records them beside its database for `status` and
/// `devices`: `connected` in the data directory, one line each.
///
/// It is written after a change, at most once a second, and the server does not wait for it: the
/// file only informs users.
struct ConnectedDevices: Sendable {
  private let directory: String
  private var path: String { directory + "/connected" }

  init(directory: String) {
    self.directory = directory
  }

  /// Best effort: without it no device is shown as connected.
  func write(_ devices: [ConnectedDevice]) {
    let text = devices.map { "\($0.workspace) \($0.device) \($0.since)\n" }.joined()
    try? Data(text.utf8).write(to: URL(filePath: path), options: .atomic)
  }

  func remove() {
    try? FileManager.default.removeItem(atPath: path)
  }

  /// The connected devices; none if no process serves the directory.
  func read() -> [ConnectedDevice] {
    guard let text = try? String(contentsOfFile: path, encoding: .utf8),
      AddressFile.isServed(directory)
    else { return [] }
    return text.split(separator: "\n").compactMap { line in
      let words = line.split(separator: " ").map(String.init)
      guard words.count == 3, let workspace = WorkspaceID(words[0]),
        let device = DeviceID(words[1]), let since = Int64(words[2])
      else { return nil }
      return ConnectedDevice(workspace: workspace, device: device, since: since)
    }
  }
}

extension ServerDriver {
  /// Records the connected devices if they have changed, at most once a second. Ticks call it.
  func writeConnectedDevices(at uptimeMilliseconds: Int64) {
    guard !isStopped, let devices = peers.takeReport(at: uptimeMilliseconds) else { return }
    let file = ConnectedDevices(directory: options.dataDirectory)
    let bound = bound
    files.thread.runIfActive(eventLoop: loop) { file.write(devices) }
      .whenComplete { _ in bound.value.peers.reportWasWritten() }
  }
}
