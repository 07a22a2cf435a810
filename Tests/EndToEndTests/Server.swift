import Foundation
import Synchronization

/// A server with its data directory; it can be stopped, killed, and started again.
final class Server: Sendable {
  let bed: TestBed
  let data: String
  private let state = Mutex<(process: ChildProcess?, port: Int)>((nil, 0))

  private let options: [String]

  /// - Parameters:
  ///   - port: 0 lets the system choose.
  ///   - options: additional options.
  init(_ bed: TestBed, data: String? = nil, port: Int = 0, options: [String] = []) {
    self.bed = bed
    self.options = options
    self.data = data ?? bed.path("server")
    state.withLock { $0.port = port }
  }

  var process: ChildProcess? { state.withLock { $0.process } }
  var port: Int { state.withLock { $0.port } }
  var url: String { "ws://127.0.0.1:\(port)" }

  /// Starts it: on a port of the system's choice first, on the same one later.
  func start() async throws {
    let process = try bed.start(
      "cospool-server",
      ["serve", "--data", data, "--host", "127.0.0.1", "--port", "\(port)"] + options)
    let line = try await process.line(holding: "listening on ws://")
    guard let address = line.firstMatch(of: #/ws://[^:/ ]+:([0-9]+)/#), let port = Int(address.1)
    else { throw ProcessFailure("no port in: \(line)") }
    state.withLock { $0 = (process, port) }
  }

  /// Stops it as an operator does.
  @discardableResult
  func stop() async throws -> ChildProcess.Exit {
    guard let process else { return .code(0) }
    process.send(SIGTERM)
    let exit = try await process.ended()
    state.withLock { $0.process = nil }
    return exit
  }

  func kill() async throws {
    guard let process else { return }
    process.send(SIGKILL)
    try await process.ended()
    state.withLock { $0.process = nil }
  }

  /// A fresh one-time code of a workspace, which it creates if there is none.
  func code(workspace: String? = nil) async throws -> String {
    let words = ["pair"] + (workspace.map { ["--workspace", $0] } ?? []) + ["--json"]
    var output = try await command(words)
    if output.standardError.contains("--new") { output = try await command(words + ["--new"]) }
    let grant: PairingCode = try output.succeeded().decoded()
    return grant.code
  }

  func command(_ arguments: [String]) async throws -> Output {
    try await bed.run("cospool-server", arguments + ["--data", data])
  }

  struct PairingCode: Decodable {
    var code: String
  }
}
