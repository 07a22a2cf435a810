import Testing

extension EndToEnd {
  /// A device that was away for a long time.
  @Suite struct CatchUpTests {
    @Test func tenThousandOperationsBehind() async throws {
      try await TestBed.run { bed in
        // 140 prompts of 80 characters: each character is an operation of its own.
        try await catchUp(bed, sessions: 20, messages: 7, characters: 80, behind: 10_000)
      }
    }

    /// Above 20,000 operations the server sends a snapshot instead.
    @Test func thirtyThousandOperationsBehind() async throws {
      try await TestBed.run { bed in
        try await catchUp(bed, sessions: 5, messages: 4, characters: 1_600, behind: 30_000)
      }
    }

    private func catchUp(
      _ bed: TestBed, sessions: Int, messages: Int, characters: Int, behind: Int
    ) async throws {
      let server = try await bed.server()
      let (a, b) = (try await bed.device("a", of: server), try await bed.device("b", of: server))
      try await b.send("kept", "written before")
      try await bed.agreement(a, b)
      try await b.stop()
      try await a.cospool("sync", "off")

      let clock = ContinuousClock()
      let writing = try await clock.measure {
        for index in 0..<(sessions * messages) {
          let text = Self.text(index, characters)
          try await a.cospool("send", "-s", "session-\(index % sessions)", text)
        }
      }
      let outgoing = try await a.status().outgoing
      #expect(outgoing >= behind)
      try await a.cospool("sync", "on")
      let upload = try await clock.measure { try await a.synchronise() }
      try await b.start()
      let catchingUp = try await clock.measure { try await b.synchronise() }
      let last = Self.text(sessions * messages - 1, characters)
      #expect(try await b.contents("session-\(sessions - 1)").last == last)
      try await bed.agreement(a, b)
      print(
        "\(outgoing) operations by \(sessions * messages) commands: written in \(writing), "
          + "sent in \(upload), caught up in \(catchingUp)")
    }

    private static func text(_ index: Int, _ characters: Int) -> String {
      let line = "Prompt \(index): look at module \(index * 7 % 13) and say what it does. "
      return String(String(repeating: line, count: characters / line.count + 1).prefix(characters))
        .replacing(#/ $/#, with: ".")
    }
  }
}
