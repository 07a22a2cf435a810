import Foundation
import Testing

@testable import QueueModel
@testable import SyncClient

@Suite struct FeedLogTests {
  /// A reader that was registered by hand.
  private struct Reader {
    var id: UInt64
    var ended: AsyncStream<Never>
  }

  private func reader(_ log: FeedLog, after cursor: FeedCursor? = nil) -> Reader {
    let (_, bell) = AsyncStream<Void>.makeStream(bufferingPolicy: .bufferingNewest(1))
    let (ended, end) = AsyncStream<Never>.makeStream()
    return Reader(
      id: log.register(after: cursor ?? log.cursor, bell: bell, end: end), ended: ended)
  }

  private func event(_ number: Int) throws -> FeedEvent {
    .changed(.sessionDeleted(try SessionID("s\(number)")))
  }

  private func taken(_ log: FeedLog, _ reader: Reader) -> [FeedEvent]? {
    var events: [FeedEvent] = []
    while true {
      guard case .items(let items) = log.take(reader.id) else { return nil }
      if items.isEmpty { return events }
      events += items.map(\.event)
    }
  }

  @Test func holdsAsManyEventsAsItsLimitAndNotOneMore() throws {
    let log = FeedLog(opening: 7, limits: .init(eventsMax: 100, bytesMax: 1 << 20))
    let start = log.cursor
    let reader = reader(log)
    let events = try (0..<100).map(event)
    for event in events { log.append([event]) }
    #expect(log.gap(after: start) == nil)
    #expect(taken(log, reader) == events)
    log.append([try event(100)])
    #expect(log.gap(after: start) == .overrun)
    #expect(log.gap(after: FeedCursor(opening: 7, position: 1)) == nil)
    // This one had read everything, so it misses nothing.
    #expect(taken(log, reader) == [try event(100)])
  }

  @Test func readerBehindTheOldestEventIsCutOffAtOnce() async throws {
    let log = FeedLog(opening: 7, limits: .init(eventsMax: 2, bytesMax: 1 << 20))
    let slow = reader(log)
    log.append([try event(1), try event(2)])
    let quick = reader(log)
    log.append([try event(3)])
    for await _ in slow.ended {}
    #expect(taken(log, slow) == nil)
    #expect(taken(log, quick) == [try event(3)])
  }

  /// Between the check for a gap and the registration, events may be dropped.
  @Test func aReaderWhoseEventsWentMeanwhileIsCutOff() async throws {
    let log = FeedLog(opening: 7, limits: .init(eventsMax: 2, bytesMax: 1 << 20))
    let cursor = log.cursor
    for number in 0..<3 { log.append([try event(number)]) }
    let late = reader(log, after: cursor)
    for await _ in late.ended {}
    #expect(taken(log, late) == nil)
  }

  @Test func bytesOfTextsAreBounded() throws {
    let log = FeedLog(opening: 7, limits: .init(eventsMax: 100, bytesMax: 10_000))
    let session = try SessionID("s")
    let view = MessageView(
      id: MessageID(high: 1, low: 1), session: session,
      content: String(repeating: "x", count: 4_000), priority: .normal, status: .queued,
      position: 1, createdAt: 0, device: nil)
    let start = log.cursor
    log.append([.changed(.messages(session, [.insert(view, at: 0)]))])
    log.append([.changed(.messages(session, [.update(view, at: 0)]))])
    #expect(log.gap(after: start) == nil)
    log.append([.changed(.messages(session, [.update(view, at: 0)]))])
    #expect(log.gap(after: start) == .overrun)
  }

  @Test func cursorsOfOthersAreDistinguished() throws {
    let log = FeedLog(opening: 7)
    log.append([try event(1)])
    #expect(log.gap(after: FeedCursor(opening: 8, position: 1)) == .restarted)
    #expect(log.gap(after: FeedCursor(opening: 7, position: 2)) == .unknown)
    #expect(log.gap(after: FeedCursor(opening: 7, position: .max)) == .unknown)
  }

  @Test(arguments: [
    "", "-", "1", "1-", "-1", "1-2-3", "g-1", "1-+1", "10000000000000000-1", "1 -1",
  ])
  func invalidCursorsAreRefused(text: String) {
    #expect(FeedCursor(text) == nil)
  }

  @Test func cursorsAreReadBack() {
    for cursor in [
      FeedCursor(opening: 0, position: 0), FeedCursor(opening: .max, position: .max),
      FeedCursor(opening: 0xABC, position: 17),
    ] {
      #expect(FeedCursor(cursor.description) == cursor)
    }
  }
}

@Suite struct FeedSourceTests {
  @Test func aNewTimeOfTheLastSyncIsNotAnEvent() async throws {
    var source = FeedSource(log: FeedLog(opening: 7))
    var status = SyncStatus(
      state: .connected, device: DeviceID(high: 1, low: 1), deviceName: "desk")
    let feed = source.open(after: nil, Workspace(), status)
    status.lastSyncedAt = 1
    source.show(status)
    status.outgoing = 1
    source.show(status)
    var items = feed.makeAsyncIterator()
    while let item = await items.next(), item.event != .present {}
    #expect(await items.next()?.event == .sync(status))
  }

  @Test func eventsThatCameTogetherAreReadTogether() async throws {
    let log = FeedLog(opening: 7)
    let feed = EventFeed(log: log, after: log.cursor, beginning: [])
    var items = feed.makeAsyncIterator()
    let events = try (1...3).map { FeedEvent.changed(.sessionDeleted(try SessionID("s\($0)"))) }
    log.append(events)
    #expect(await items.next()?.event == events[0])
    #expect(items.nextAtHand()?.event == events[1])
    #expect(items.nextAtHand()?.event == events[2])
    #expect(items.nextAtHand() == nil)
    log.append([events[0]])
    #expect(items.nextAtHand() == nil)
    #expect(await items.next()?.event == events[0])
  }
}

@Suite(.timeLimit(.minutes(10))) struct EventFeedTests {
  @Test func feedGoesOnBehindItsCursor() async throws {
    try await ClientFixture.withServer { fixture in
      let client = try await fixture.open()
      var mirror: [MessageView] = []
      var cursor: FeedCursor?
      try await client.perform(.text("one", 1))
      do {
        let feed = try await client.events()
        for await item in feed {
          if case .changed(.messages(_, let steps)) = item.event {
            steps.forEach { $0.apply(to: &mirror) }
          }
          cursor = item.cursor
          if item.event == .present { break }
        }
      }
      #expect(mirror.map(\.content) == ["one"])
      try await client.perform(.text("two", 2))
      try await client.perform(.text("three", 3))
      let feed = try await client.events(after: cursor)
      var items = feed.makeAsyncIterator()
      #expect(await items.next() == FeedItem(event: .resumed(.ok)))
      while mirror.count < 3 {
        let item = try #require(await items.next())
        #expect(item.cursor != nil)
        if case .changed(.messages(_, let steps)) = item.event {
          steps.forEach { $0.apply(to: &mirror) }
        }
      }
      #expect(mirror.map(\.content) == ["one", "two", "three"])
      await client.close()
      while await items.next() != nil {}
      await feed.waitUntilEnded()
      await #expect(throws: ClientError.closed) { try await client.events() }
    }
  }

  @Test func readerThatWaitsIsWokenAndCancelled() async throws {
    try await ClientFixture.withServer { fixture in
      let client = try await fixture.open()
      let feed = try await client.events()
      let reading = Task {
        var count = 0
        for await _ in feed { count += 1 }
        return count
      }
      try await client.perform(.text("one", 1))
      reading.cancel()
      #expect(await reading.value >= 0)
      await client.close()
    }
  }
}
