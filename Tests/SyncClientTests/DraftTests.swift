import QueueModel
import SyncClient
import Testing

@Suite(.timeLimit(.minutes(10))) struct DraftTests {
  // S2-44: one for each session, kept across restarts, ended by the send.
  @Test func aDraftIsKeptUntilItsSessionSends() async throws {
    try await ClientFixture.withServer { fixture in
      let (a, b) = (try SessionID("a"), try SessionID("b"))
      var client = try await fixture.open()
      try await client.queues.setDraft("  one,\n unfinished ", of: a)
      try await client.queues.setDraft("other", of: b)
      try await client.queues.setDraft("one, more of it", of: a)
      await client.close()
      client = try await fixture.open()
      #expect(try await client.queues.draft(of: a)?.text == "one, more of it")
      #expect(try await client.queues.drafts().map(\.session) == [a, b])
      try await client.perform(.text("one, more of it", 1))
      #expect(try await client.queues.draft(of: a) == nil)
      #expect(try await client.queues.draft(of: b)?.text == "other")
      await client.close()
      client = try await fixture.open()
      #expect(try await client.queues.drafts().map(\.session) == [b])
      await client.close()
    }
  }

  // S2-44: a message that an agent queues, or another text of the user, does not end it.
  @Test func aDraftThatWasNotSentStays() async throws {
    try await ClientFixture.withServer { fixture in
      let client = try await fixture.open()
      let session = try SessionID("a")
      try await client.queues.setDraft("an edit that came too late\n", of: session)
      try await client.perform(.text("an edit", 1))
      #expect(try await client.queues.draft(of: session)?.text == "an edit that came too late\n")
      try await client.perform(.text("Once more: an edit that came too late", 2))
      #expect(try await client.queues.draft(of: session) == nil)
      await client.close()
    }
  }

  // S2-43: a refused send changes nothing, not even the draft.
  @Test func aRefusedSendKeepsTheDraft() async throws {
    try await ClientFixture.withServer { fixture in
      let client = try await fixture.open()
      let session = try SessionID("a")
      try await client.queues.setDraft("begun", of: session)
      client.apply(DeviceSettings(maxQueueSize: 1))
      for text in ["   ", String(repeating: "x", count: Limits.contentBytesMax + 1)] {
        await #expect(throws: ClientError.self) { try await client.perform(.text(text, 1)) }
      }
      #expect(try await client.queues.draft(of: session)?.text == "begun")
      await client.close()
    }
  }

  @Test func draftsAreBounded() async throws {
    try await ClientFixture.withServer { fixture in
      let client = try await fixture.open()
      let session = try SessionID("a")
      let long = String(repeating: "x", count: Limits.contentBytesMax)
      try await client.queues.setDraft(long, of: session)
      await #expect(
        throws: ClientError.queue(
          .contentTooLong(bytes: Limits.contentBytesMax + 1, max: Limits.contentBytesMax))
      ) { try await client.queues.setDraft(long + "x", of: session) }
      for number in 1..<Limits.draftsMax {
        try await client.queues.setDraft("x", of: try SessionID("s\(number)"))
      }
      await #expect(
        throws: ClientError.queue(.limitReached(what: "drafts", max: Limits.draftsMax))
      ) { try await client.queues.setDraft("x", of: try SessionID("beyond")) }
      // Existing ones can be changed and removed.
      try await client.queues.setDraft("y", of: session)
      try await client.queues.setDraft("", of: session)
      try await client.queues.setDraft("x", of: try SessionID("beyond"))
      #expect(try await client.queues.drafts().count == Limits.draftsMax)
      await client.close()
    }
  }

  @Test func readersHearOfDrafts() async throws {
    try await ClientFixture.withServer { fixture in
      let client = try await fixture.open()
      let session = try SessionID("a")
      var events = client.deviceEvents().makeAsyncIterator()
      try await client.queues.setDraft("begun", of: session)
      try await client.queues.setDraft("begun, more", of: session)
      try await client.perform(.text("something else", 1))
      try await client.perform(.text("begun, more and done", 2))
      try await client.perform(.text("two", 3))
      try await client.queues.setDraft("", of: session)
      try await client.queues.setDraft("again", of: session)
      #expect(await events.next() == .draft(session, exists: true))
      #expect(await events.next() == .draft(session, exists: true))
      #expect(await events.next() == .draft(session, exists: false))
      #expect(await events.next() == .draft(session, exists: true))
      await client.close()
    }
  }

  @Test func aNULAndCombiningTextAreReadUnchanged() async throws {
    try await ClientFixture.withServer { fixture in
      let client = try await fixture.open()
      let session = try SessionID("a")
      let text = "a\u{0}b\u{301}\u{202E}👩‍👩‍👧"
      try await client.queues.setDraft(text, of: session)
      let kept = try await client.queues.draft(of: session)?.text
      #expect(kept?.unicodeScalars.elementsEqual(text.unicodeScalars) == true)
      await client.close()
    }
  }
}
