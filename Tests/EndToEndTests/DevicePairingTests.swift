import Foundation
import Testing

extension EndToEnd {
  /// A new device that gets access from a paired one, with the real programs.
  @Suite struct DevicePairingTests {
    private struct Invitation: Decodable {
      var code: String
      var command: String
      var role: String
      var hint: String?
      var qr: [String]
    }

    private func invite(from device: Device, _ options: String...) async throws -> Invitation {
      try await device.attempt(["pair", "--show", "--json"] + options).succeeded().decoded()
    }

    @Test func aCodeShownOnOneDeviceIsTypedOnTheNext() async throws {
      try await TestBed.run { bed in
        let server = Server(bed, options: ["--devices-may-pair"])
        try await server.start()
        let a = try await bed.device("a", of: server)
        try await a.send("s", "from the first")
        let shown = try await invite(from: a)
        #expect(shown.role == "host" && shown.qr.count >= 21)
        #expect(shown.hint?.contains("127.0.0.1") == true, "other machines cannot reach this")
        let (b, late) = (Device(bed, "b"), Device(bed, "late"))
        try await b.start()
        try await late.start()
        let words = shown.command.split(separator: " ").map(String.init)
        #expect(words == ["cospool", "pair", server.url, shown.code])
        _ = try await b.attempt(Array(words.dropFirst())).succeeded()
        try await bed.agreement(a, b)
        #expect(try await b.contents("s") == ["from the first"])
        #expect(try await late.attempt("pair", server.url, shown.code).code == 3, "it is used")

        // The next one can only read, and can give no access.
        let text = try await a.cospool("pair", "--show", "--role", "viewer", "--expires", "30d")
        #expect(text.contains("new viewer") && !text.contains("\u{1B}"), "no picture for scripts")
        let code = try #require(text.firstMatch(of: #/[B-Z]{4}-[B-Z]{4}/#)).output
        try await late.pair(url: server.url, code: String(code))
        try await bed.agreement(a, late)
        let refused = try await late.attempt("pair", "--show")
        #expect(refused.code != 0 && refused.standardError.contains("viewer"), "\(refused)")

        // It changes nothing, here or elsewhere, and says what would let it.
        let id = try #require(try await late.queue("s").messages.first?.id)
        for command in [
          ["send", "-s", "s", "mine"], ["queue", "cancel", id], ["queue", "edit", id, "mine"],
          ["queue", "pause", "-s", "s"], ["session", "delete", "s"],
          ["session", "host", "s", "this"], ["undo"],
        ] {
          let output = try await late.attempt(command)
          #expect(output.code == 3, "\(command): \(output)")
          #expect(output.standardError.contains("cospool-server pair --role"), "\(output)")
        }
        #expect(try await late.contents("s") == ["from the first"])
        #expect(try await late.status().outgoing == 0)
        #expect(try await late.cospool("status").contains("viewer: it can read"))
        try await late.cospool("draft", "set", "-s", "s", "mine")
        // As an author it works at once.
        let again = try await server.command(["pair", "--role", "author", "--json"]).succeeded()
        let role: Server.PairingCode = try again.decoded()
        let paired = try await late.attempt("pair", server.url, role.code).succeeded()
        #expect(paired.standardOutput.contains("author: it can queue"), "\(paired)")
        try await late.send("s", "mine")
        try await bed.agreement(a, late)

        // A code ends with the access of the device that requested it.
        let pending = try await invite(from: b)
        _ = try await server.command(["revoke", try await b.status().device]).succeeded()
        let other = Device(bed, "other")
        try await other.start()
        #expect(try await other.attempt("pair", server.url, pending.code).code == 3)
        let log = try await server.command(["log"]).succeeded().standardOutput
        #expect(log.contains("role viewer, by the device"))
        #expect(log.contains("let in by device \(try await a.status().device)"))
      }
    }

    @Test func aDeviceThatIsPairedAgainSyncsAgain() async throws {
      try await TestBed.run { bed in
        let server = try await bed.server()
        let a = try await bed.device("a", of: server)
        try await a.send("s", "wait")
        try await a.cospool("config", "set", "command", "true")
        try await a.cospool("config", "set", "agent", "command")
        try await a.synchronise()
        try await a.cospool("sync", "off")
        #expect(try await a.cospool("unpair").contains("until the device is paired again"))
        try await a.cospool("session", "host", "s", "this")
        try await bed.eventually("the queue says why nothing starts") {
          try await a.cospool("queue", "list", "-s", "s").contains("this device was unpaired")
        }
        let code = try await server.code()
        let paired = try await a.attempt("pair", server.url, code).succeeded().standardOutput
        #expect(paired.contains("Sync was off, and is on again."), "\(paired)")
        #expect(paired.contains("earlier change"), "\(paired)")
        try await a.synchronise()
      }
    }

    @Test func theServersOwnerSaysNoUnlessToldOtherwise() async throws {
      try await TestBed.run { bed in
        let server = try await bed.server()
        let a = try await bed.device("a", of: server)
        let refused = try await a.attempt("pair", "--show")
        #expect(refused.code == 1, "\(refused)")
        #expect(refused.standardError.contains("--devices-may-pair"), "\(refused)")
        let alone = Device(bed, "alone")
        try await alone.start()
        let unpaired = try await alone.attempt("pair", "--show")
        #expect(unpaired.code == 1 && unpaired.standardError.contains("not paired"), "\(unpaired)")
      }
    }
  }
}
