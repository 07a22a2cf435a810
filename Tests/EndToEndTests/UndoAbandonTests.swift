import Foundation
import PushTestSupport
import Testing

extension EndToEnd {
  /// Undo with a server that does not answer, and of the server's changes.
  @Suite struct UndoAbandonTests {
    /// A user who interrupts expects that nothing happens, and nothing happens, then or later.
    @Test func anInterruptedUndoChangesNothing() async throws {
      try await TestBed.run { bed in
        let server = try await bed.server()
        let device = try await bed.device("laptop", of: server)
        try await device.send("s", "keep me")
        try await device.synchronise()
        server.process?.send(SIGSTOP)
        let undo = try bed.start("cospool", ["undo", "--data", device.data], name: "laptop")
        // It asks the server for five seconds.
        try await Task.sleep(for: .seconds(1))
        #expect(undo.exit == nil)
        undo.send(SIGINT)
        #expect(try await undo.ended(within: 60) == .code(130))
        #expect(undo.standardError.contains("Interrupted before the daemon answered"))
        try await Task.sleep(for: .seconds(6))
        #expect(try await device.queue("s").messages.map(\.content) == ["keep me"])
        let shown = try await device.cospool("undo", "--show")
        #expect(shown.contains(#"undo: sending "keep me" to s"#), "\(shown)")
        // For a user who waits, it is done.
        try await device.cospool("undo")
        #expect(try await device.queue("s").messages.isEmpty)
        server.process?.send(SIGCONT)
      }
    }

    @Test func serverSideChangesAreNamedWithTheirCommand() async throws {
      let web = try await FakeWebServer.start()
      try await TestBed.run { bed in
        let server = try await bed.server()
        try await server.stop()
        _ = try await server.command(["push", "configure", "network", "--allow", "127.0.0.1"])
          .succeeded()
        try await server.start()
        let device = try await bed.device("laptop", of: server)
        try await device.send("s", "before")
        let secret = bed.directory + "/secret"
        try Data("0123456789abcdef\n".utf8).write(to: URL(filePath: secret))
        let id = UUID().uuidString.lowercased()
        try await device.cospool(
          "push", "add", "webhook", web.url + "/hook", "--secret-file", secret, "--id", id)
        for (command, label) in [
          ("push remove \(id)", "adding the push address"),
          ("push add --help", "removing the push address"),
          ("pair \(server.url) CODE", "unpairing this device"),
        ] {
          let refused = try await device.attempt("undo")
          #expect(
            refused.code == 1 && refused.standardError.contains("cospool \(command)"), "\(refused)")
          let shown = try await device.cospool("undo", "--show")
          #expect(shown.contains("undo: \(label)"), "\(shown)")
          #expect(!shown.contains("0123456789abcdef"))
          switch command {
          case "push remove \(id)": try await device.cospool("push", "remove", id)
          case "push add --help": try await device.cospool("unpair")
          default: break
          }
        }
        for _ in 1...3 { try await device.cospool("undo", "--skip") }
        #expect(try await device.cospool("undo").contains(#"undone: sending "before" to s"#))
      }
      try await web.stop()
    }
  }
}
