import Foundation
import Testing

@testable import Systemd

#if os(Linux)
  @Suite(.timeLimit(.minutes(5))) struct ServiceNotifierTests {
    @Test func sentMessagesArrive() async throws {
      for socket in [
        "/tmp/csp-notify-\(UInt32.random(in: .min ... .max))",
        "@csp-notify-\(UInt32.random(in: .min ... .max))",
      ] {
        let manager = try Manager(socket: socket)
        let notifier = try #require(ServiceNotifier(socket: socket))
        notifier.send("READY=1\nSTATUS=listening")
        #expect(try await manager.message() == "READY=1\nSTATUS=listening")
        manager.close()
        // The other end of the socket is closed.
        notifier.send("STOPPING=1")
      }
    }

    @Test func nothingIsSentToAnInvalidSocket() {
      for name in ["", "/", "@", "relative", "vsock:2:1", "/" + String(repeating: "a", count: 108)]
      {
        #expect(ServiceNotifier(socket: name) == nil, "\(name)")
      }
    }

    @Test func watchdogReportsAreSentOnlyOnRequest() async throws {
      let socket = "@csp-notify-\(UInt32.random(in: .min ... .max))"
      let manager = try Manager(socket: socket)
      defer { manager.close() }
      for unasked in [nil, "0", "-1", "often"] as [String?] {
        let notifier = try #require(ServiceNotifier(socket: socket, watchdogMicroseconds: unasked))
        #expect(notifier.watchdogPeriod == nil)
        await notifier.keepAlive {}
      }
      let notifier = try #require(ServiceNotifier(socket: socket, watchdogMicroseconds: "2000"))
      #expect(notifier.watchdogPeriod == .milliseconds(2))
      let living = Task { await notifier.keepAlive {} }
      for _ in 1...3 { #expect(try await manager.message() == "WATCHDOG=1") }
      living.cancel()
      await living.value
    }

    @Test func aServiceThatDoesNotAnswerSaysNothing() async throws {
      let socket = "@csp-notify-\(UInt32.random(in: .min ... .max))"
      let manager = try Manager(socket: socket)
      defer { manager.close() }
      let notifier = try #require(ServiceNotifier(socket: socket, watchdogMicroseconds: "2000"))
      let (hangs, goesOn) = AsyncStream<Void>.makeStream()
      let living = Task { await notifier.keepAlive { for await _ in hangs { return } } }
      notifier.send("first")
      #expect(try await manager.message() == "first")
      goesOn.yield()
      #expect(try await manager.message() == "WATCHDOG=1")
      living.cancel()
      goesOn.finish()
      await living.value
    }
  }

  /// A service manager's end of the socket.
  private struct Manager {
    let descriptor: Int32
    let path: String?

    init(socket name: String) throws {
      descriptor = socket(AF_UNIX, Int32(SOCK_DGRAM.rawValue), 0)
      path = name.hasPrefix("/") ? name : nil
      var limit = timeval(tv_sec: 60, tv_usec: 0)
      setsockopt(
        descriptor, SOL_SOCKET, SO_RCVTIMEO, &limit, socklen_t(MemoryLayout<timeval>.size))
      var address = sockaddr_un()
      address.sun_family = sa_family_t(AF_UNIX)
      var bytes = Array(name.utf8)
      if path == nil { bytes[0] = 0 }
      withUnsafeMutableBytes(of: &address.sun_path) { $0.copyBytes(from: bytes) }
      let length = socklen_t(MemoryLayout<sa_family_t>.size + bytes.count)
      let code = withUnsafePointer(to: &address) {
        $0.withMemoryRebound(to: sockaddr.self, capacity: 1) { bind(descriptor, $0, length) }
      }
      try #require(code == 0)
    }

    /// Waits for the next message, on a thread of its own because the tests have few threads.
    func message() async throws -> String {
      let bytes = await withCheckedContinuation { continuation in
        Thread.detachNewThread {
          var buffer = [UInt8](repeating: 0, count: 4_096)
          let count = recv(descriptor, &buffer, buffer.count, 0)
          continuation.resume(returning: count < 0 ? nil : Array(buffer[..<count]))
        }
      }
      return String(decoding: try #require(bytes), as: UTF8.self)
    }

    func close() {
      Foundation.close(descriptor)
      if let path { unlink(path) }
    }
  }
#endif
