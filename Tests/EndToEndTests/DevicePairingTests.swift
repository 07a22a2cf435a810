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

        // Its operations stay on the device, which reports that.
        _ = try await late.attempt("send", "-s", "s", "mine").succeeded()
        try await bed.eventually("it is refused") {
          try await late.status().refusalCode == "notAllowed"
        }
        let sent = try await late.attempt("send", "-s", "s", "more").succeeded()
        #expect(sent.standardError.contains("Saved on this device only"), "\(sent)")
        #expect(
          try await late.cospool("queue", "list", "-s", "s").contains(
            "[the server refused it] mine"))
        let waited = try await late.attempt("sync", "wait", "--timeout", "1")
        #expect(waited.code == 75 && waited.standardError.contains("paired to view"), "\(waited)")

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
