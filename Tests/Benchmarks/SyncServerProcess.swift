import Foundation
import Synchronization

/// A real `cospool-server` process on an ephemeral port of 127.0.0.1.
final class SyncServerProcess {
  let port: Int
  private let process: Process

  /// The path of the executable: beside this one, or in `COSPOOL_BIN`.
  static var executable: URL? {
    let chosen = ProcessInfo.processInfo.environment["COSPOOL_BIN"].map { URL(filePath: $0) }
    let folders = [chosen, Bundle.main.executableURL?.deletingLastPathComponent()]
    return folders.compactMap { $0?.appending(path: "cospool-server") }
      .first { FileManager.default.isExecutableFile(atPath: $0.path(percentEncoded: false)) }
  }

  /// Starts it and waits until it listens.
  ///
  /// - Parameter port: 0 takes a free one.
  /// - Throws: `BenchFailure` if it ends, or does not listen within 30 seconds.
  init(directory: String, port: Int = 0) throws {
    guard let executable = Self.executable else {
      throw BenchFailure("there is no cospool-server beside cospool-bench")
    }
    let process = Process()
    let output = Pipe()
    process.executableURL = executable
    process.arguments = [
      "serve", "--data", directory, "--host", "127.0.0.1", "--port", "\(port)",
      "--log-level", "error",
    ]
    process.standardOutput = output
    try process.run()
    self.process = process
    let lines = Mutex("")
    let listens = DispatchSemaphore(value: 0)
    // A separate thread reads to the end: no dispatch source outlives the descriptor.
    let reading = output.fileHandleForReading
    Thread.detachNewThread {
      while true {
        let text = String(decoding: reading.availableData, as: UTF8.self)
        let isWhole = lines.withLock { lines in
          lines += text
          return lines.contains("\n")
        }
        if isWhole || text.isEmpty { listens.signal() }
        if text.isEmpty { return }
      }
    }
    _ = listens.wait(timeout: .now() + 30)
    let line = lines.withLock { $0 }
    guard let match = line.firstMatch(of: #/listening on ws://[^:]+:([0-9]+)/#),
      let port = Int(match.1)
    else {
      process.terminate()
      throw BenchFailure("cospool-server does not listen: \(line)")
    }
    self.port = port
  }

  /// Ends it as an operator does, and waits for its end.
  func stop() {
    guard process.isRunning else { return }
    process.terminate()
    process.waitUntilExit()
  }

  deinit {
    if process.isRunning { kill(process.processIdentifier, SIGKILL) }
  }

  /// Seconds of processor time that it has used.
  var processorSeconds: Double {
    get throws { try ProcessorTime.seconds(of: process.processIdentifier) }
  }

  /// The bytes of memory that it has now, and at most since its start.
  var memory: (resident: Double, peak: Double) {
    get throws {
      let id = process.processIdentifier
      return (
        try ProcessMemory.bytes("VmRSS", of: id), try ProcessMemory.bytes("VmHWM", of: id)
      )
    }
  }

  /// The bytes of its anonymous memory now, without pages of files.
  var anonymousMemory: Double {
    get throws { try ProcessMemory.bytes("RssAnon", of: process.processIdentifier) }
  }
}
