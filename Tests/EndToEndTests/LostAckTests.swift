import Testing

extension EndToEnd {
  /// The server stored, and the device never learned of it.
  @Suite struct LostAckTests {
    @Test func nothingIsSentTwiceAfterALostAck() async throws {
      try await TestBed.run { bed in
        let server = try await bed.server()
        let proxy = try await AckEatingProxy.start(to: server.port)
        bed.atEnd { await proxy.stop() }
        let a = Device(bed, "a")
        try await a.start()
        try await a.pair(url: proxy.url, code: try await server.code())
        let b = try await bed.device("b", of: server)
        try await a.send("s", "before")
        try await bed.agreement(a, b)

        for round in 1...3 {
          proxy.eat()
          let eaten = proxy.eatenBytes
          try await a.send("s", "lost ack \(round)")
          // B has it, so the server stored it; A cannot know.
          try await bed.eventually("b has what a sent") {
            try await b.contents("s").contains("lost ack \(round)")
          }
          try await bed.eventually("the proxy ate an answer") { proxy.eatenBytes > eaten }
          #expect(try await a.status().outgoing > 0)
          await proxy.cut()
          try await a.cospool("sync", "now")
          try await bed.agreement(a, b)
          #expect(try await a.status().outgoing == 0)
          let contents = try await b.contents("s")
          #expect(contents == ["before"] + (1...round).map { "lost ack \($0)" })
        }
      }
    }

    @Test func workGoesOnOverAConnectionThatKeepsBreaking() async throws {
      try await TestBed.run { bed in
        let server = try await bed.server()
        let proxy = try await AckEatingProxy.start(to: server.port)
        bed.atEnd { await proxy.stop() }
        let a = Device(bed, "a")
        try await a.start()
        try await a.pair(url: proxy.url, code: try await server.code())
        let b = try await bed.device("b", of: server)
        var sent: [String] = []
        for index in 0..<8 {
          let text = "message \(index)"
          sent.append(text)
          try await a.send("s", text)
          await proxy.cut()
          try await a.cospool("sync", "now")
        }
        // After this many failures in a row, it waits long; a request ends the wait.
        try await bed.eventually("a is connected again") {
          try await a.cospool("sync", "now")
          return try await a.status().state == "connected"
        }
        try await bed.agreement(a, b)
        #expect(try await b.contents("s") == sent)
      }
    }
  }
}
