import Foundation
import Testing

extension EndToEnd {
  /// Users' mistakes on the command line, and queues at their cap on two offline devices.
  @Suite struct BadInputTests {
    private static let id = "11111111-1111-4111-8111-111111111111"

    private struct Row {
      var arguments: [String]
      var input: String?
      var code: Int32
      var says: String
    }

    private static let rows: [Row] = [
      Row(arguments: ["send", "-s", "s", ""], code: 2, says: "The text is blank."),
      Row(arguments: ["send", "-s", "s", " \n\t "], code: 2, says: "The text is blank."),
      Row(arguments: ["send", "-s", "s", "-"], input: "", code: 2, says: "The text is blank."),
      Row(
        arguments: ["send", "-s", "s", "-"], input: String(repeating: "x", count: 1 << 20) + "y",
        code: 1, says: "a message can have at most 1048576"),
      Row(
        arguments: ["send", "-s", "s", "--id", "1", "text"], code: 2, says: "is not a UUID"),
      Row(
        arguments: ["send", "-s", " ", "text"], code: 2, says: "cannot be a session id"),
      Row(
        arguments: ["send", "-s", "other", "--id", id, "text"], code: 5, says: "already exists"),
      Row(arguments: ["queue", "edit", "1111", "  "], code: 2, says: "The text is blank."),
      Row(arguments: ["queue", "move", "1111", "--to", "0"], code: 2, says: "choose 1 or more"),
      Row(arguments: ["queue", "move", "1111", "--to=-1"], code: 2, says: "choose 1 or more"),
      Row(arguments: ["queue", "move", "1111", "--to", "2"], code: 1, says: "choose 1 to 1"),
      Row(arguments: ["queue", "move", "1111", "--to", "x"], code: 2, says: "x"),
      Row(arguments: ["queue", "cancel", "ffff"], code: 1, says: "No message ffff"),
      Row(arguments: ["queue", "show", "s"], code: 1, says: "No message s"),
      Row(arguments: ["queue", "priority", "1111", "high"], code: 2, says: "urgent or normal"),
      Row(arguments: ["queue", "list", "-s", "nowhere"], code: 1, says: "No session nowhere"),
      Row(arguments: ["thread", "move", "s", "--to", "0"], code: 2, says: "choose 1 or more"),
      Row(arguments: ["thread", "move", "nowhere", "--to", "1"], code: 1, says: "nowhere"),
    ]

    @Test func eachGetsAClearErrorAndChangesNothing() async throws {
      try await TestBed.run { bed in
        let a = Device(bed, "a")
        try await a.start()
        try await a.cospool("send", "-s", "s", "--id", Self.id, "text")
        let before = try await a.dump()
        for row in Self.rows {
          let output = try await a.attempt(row.arguments, input: row.input)
          #expect(output.code == row.code, "\(output)")
          #expect(output.standardError.contains(row.says), "\(output)")
          #expect(output.standardOutput.isEmpty, "\(output)")
        }
        #expect(try await a.dump() == before)
      }
    }

    /// Terminal control characters do not reach the terminal; the text itself is kept.
    @Test func charactersOfAllKindsAreKeptAndShownSafely() async throws {
      try await TestBed.run { bed in
        let a = Device(bed, "a")
        try await a.start()
        let texts = [
          "family 👩‍👩‍👧‍👦", "e\u{301}", "\u{202E}turned around\u{202C}", "nul \u{0} and \u{1B}[31mred",
          "שלום",
        ]
        for text in texts {
          _ = try await a.attempt(["send", "-s", "s", "-"], input: text).succeeded()
        }
        let kept = try await a.contents("s")
        #expect(kept.map { Array($0.unicodeScalars) } == texts.map { Array($0.unicodeScalars) })
        let shown = try await a.cospool("queue", "list", "-s", "s")
        for steering in ["\u{202E}", "\u{0}", "\u{1B}"] {
          #expect(!shown.unicodeScalars.contains(steering.unicodeScalars.first ?? "x"))
        }
      }
    }

    /// The cap refuses messages that are queued here; messages from elsewhere are kept above it.
    @Test func twoOfflineDevicesMayFillAQueueAboveItsCap() async throws {
      try await TestBed.run { bed in
        let server = try await bed.server()
        let (a, b) = (
          try await bed.device("a", of: server), try await bed.device("b", of: server)
        )
        try await a.cospool("sync", "off")
        try await b.cospool("sync", "off")
        for device in [a, b] {
          for number in 1...10 { try await device.send("s", "\(device.name) \(number)") }
          let full = try await device.attempt("send", "-s", "s", "one more")
          #expect(full.code == 1)
          #expect(
            full.standardError.contains(
              "Queue full (10/10). Cancel a message or wait for one to complete."))
        }
        try await a.cospool("sync", "on")
        try await b.cospool("sync", "on")
        try await bed.agreement(a, b)
        #expect(try await a.contents("s").count == 20)
        let full = try await b.attempt("send", "-s", "s", "one more")
        #expect(full.standardError.contains("Queue full (20/10)."), "\(full)")
      }
    }
  }
}
