import Foundation
import QueueModel
import Synchronization
import WireProtocol

/// A real server process, the target of hostile clients.
final class HostileServer: Sendable {
  struct Failure: Error, CustomStringConvertible {
    var description: String
  }

  let port: Int
  private let binary: String
  private let directory: String
  private let process: Mutex<Process>
  let processID: Int32

  /// Starts it on an ephemeral port.
  init(binary: String, directory: String) throws {
    let process = Process()
    let output = Pipe()
    process.executableURL = URL(filePath: binary)
    process.arguments = ["serve", "--data", directory, "--port", "0", "--log-level", "error"]
    process.standardOutput = output
    try process.run()
    var line = ""
    while !line.contains("\n") {
      let part = output.fileHandleForReading.availableData
      guard !part.isEmpty else { throw Failure(description: "the server ended at once: \(line)") }
      line += String(decoding: part, as: UTF8.self)
    }
    guard let number = line.split(separator: ":").last,
      let port = Int(number.trimmingCharacters(in: .whitespacesAndNewlines))
    else { throw Failure(description: "the server says no port: \(line)") }
    self.port = port
    self.binary = binary
    self.directory = directory
    processID = process.processIdentifier
    self.process = Mutex(process)
  }

  var isRunning: Bool { process.withLock { $0.isRunning } }

  /// Its peak memory since its start, in bytes.
  var peakMemory: Int {
    get throws {
      let status = try String(contentsOfFile: "/proc/\(processID)/status", encoding: .utf8)
      guard let line = status.split(separator: "\n").first(where: { $0.hasPrefix("VmHWM:") }),
        let number = line.split(separator: " ").dropFirst().first.flatMap({ Int($0) })
      else { throw Failure(description: "the system does not say what the server takes") }
      return number << 10
    }
  }

  /// Ends it as an operator does.
  ///
  /// - Returns: whether it ended by itself, without an error.
  func stop() -> Bool {
    process.withLock { process in
      guard process.isRunning else { return false }
      process.terminate()
      process.waitUntilExit()
      return process.terminationReason == .exit && process.terminationStatus == 0
    }
  }

  /// Pairs a device.
  ///
  /// - Parameter isNew: whether this creates the workspace.
  func pair(_ number: UInt64, workspace: String, isNew: Bool) throws -> Member {
    let pairing = Process()
    let output = Pipe()
    pairing.executableURL = URL(filePath: binary)
    pairing.arguments = ["pair", "--data", directory, "--workspace", workspace, "--json"]
    if isNew { pairing.arguments?.append("--new") }
    pairing.standardOutput = output
    try pairing.run()
    let text = output.fileHandleForReading.readDataToEndOfFile()
    pairing.waitUntilExit()
    struct Answer: Decodable {
      var code: String
    }
    let code = try JSONDecoder().decode(Answer.self, from: text).code
    let peer = HostilePeer(port: port, from: (0, 0, 1))
    let request = PairRequest(
      versions: ProtocolVersion.spoken, code: code, device: Member.device(number),
      deviceName: "d\(number)")
    guard let peer, peer.upgrade(),
      peer.send(raw: HostilePeer.frame(FrameCodec.encode(.pair(request)))),
      let bytes = peer.message(), case .paired(let grant) = try FrameCodec.decode(bytes)
    else { throw Failure(description: "device \(number) could not be paired") }
    return Member(number: number, workspaceID: grant.workspace, token: grant.token)
  }
}
