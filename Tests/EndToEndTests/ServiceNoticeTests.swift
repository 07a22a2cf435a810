#if os(Linux)
  import Foundation
  import Testing

  extension EndToEnd {
    /// The reports of the daemon and the server to the service manager that starts them.
    @Suite struct ServiceNoticeTests {
      @Test(arguments: ["cospoold", "cospool-server"])
      func readinessLifeAndStopAreReported(program: String) async throws {
        try await TestBed.run { bed in
          let manager = try Manager(path: bed.path("notify"))
          defer { manager.close() }
          let arguments =
            program == "cospoold"
            ? ["--data", bed.path("data")]
            : ["serve", "--data", bed.path("data"), "--port", "0"]
          let process = try bed.launch(
            try Executables.path(of: program), arguments, name: program,
            environment: ["NOTIFY_SOCKET": bed.path("notify"), "WATCHDOG_USEC": "200000"])
          try manager.await("READY=1", from: process)
          for _ in 1...3 { try manager.await("WATCHDOG=1", from: process) }
          process.send(SIGTERM)
          try manager.await("STOPPING=1", from: process)
          #expect(try await process.ended() == .code(0))
        }
      }

      /// Otherwise, programs that agents start could report about the daemon.
      @Test func agentsDoNotInheritTheManager() async throws {
        try await TestBed.run { bed in
          let manager = try Manager(path: bed.path("notify"))
          defer { manager.close() }
          let device = Device(bed, "a")
          let process = try bed.launch(
            try Executables.path(of: "cospoold"), ["--data", device.data], name: "a cospoold",
            environment: [
              "NOTIFY_SOCKET": bed.path("notify"), "WATCHDOG_USEC": "60000000", "KEPT": "yes",
            ])
          _ = try await process.line(holding: "ready on")
          let script = bed.path("agent")
          try
            "#!/bin/sh\nenv > '\(bed.path("seen.new"))'; mv '\(bed.path("seen.new"))' '\(bed.path("seen"))'\n"
            .write(toFile: script, atomically: true, encoding: .utf8)
          try FileManager.default.setAttributes([.posixPermissions: 0o755], ofItemAtPath: script)
          try await device.cospool("config", "set", "command", script)
          try await device.cospool("config", "set", "agent", "command")
          try await device.send("s", "look")
          try await device.cospool("session", "host", "s", "this")
          try await bed.eventually("the agent ran", within: 60) {
            FileManager.default.fileExists(atPath: bed.path("seen"))
          }
          let seen = try String(contentsOfFile: bed.path("seen"), encoding: .utf8)
          #expect(seen.contains("KEPT=yes"))
          #expect(!seen.contains("NOTIFY_SOCKET") && !seen.contains("WATCHDOG"), "\(seen)")
        }
      }
    }
  }

  /// A service manager's end of the socket.
  private struct Manager {
    let descriptor: Int32
    let path: String

    init(path: String) throws {
      self.path = path
      descriptor = socket(AF_UNIX, Int32(SOCK_DGRAM.rawValue), 0)
      var address = sockaddr_un()
      address.sun_family = sa_family_t(AF_UNIX)
      try #require(path.utf8.count < MemoryLayout.size(ofValue: address.sun_path))
      withUnsafeMutableBytes(of: &address.sun_path) { $0.copyBytes(from: Array(path.utf8)) }
      let code = withUnsafePointer(to: &address) {
        $0.withMemoryRebound(to: sockaddr.self, capacity: 1) {
          bind(descriptor, $0, socklen_t(MemoryLayout<sockaddr_un>.size))
        }
      }
      try #require(code == 0)
      var limit = timeval(tv_sec: 60, tv_usec: 0)
      setsockopt(
        descriptor, SOL_SOCKET, SO_RCVTIMEO, &limit, socklen_t(MemoryLayout<timeval>.size))
    }

    /// Reads until a message begins with `text`.
    func await(_ text: String, from process: ChildProcess) throws {
      var buffer = [UInt8](repeating: 0, count: 4_096)
      while true {
        let count = recv(descriptor, &buffer, buffer.count, 0)
        guard count > 0 else { throw ProcessFailure("never told: \(text)\n\(process.transcript)") }
        if String(decoding: buffer[..<count], as: UTF8.self).hasPrefix(text) { return }
      }
    }

    func close() { Foundation.close(descriptor) }
  }
#endif
