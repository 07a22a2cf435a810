import Dispatch
import Foundation
import QueueModel
import Testing

@testable import SyncClient

@Suite struct LocalTests {
  // S1-28.
  @Test func commandsAreThereAfterReopening() async throws {
    try await ClientFixture.withServer { fixture in
      let client = try await fixture.open()
      let receipt = try await client.perform(.text("one", 1))
      guard case .queued(_, position: 1, count: 1, warning: false) = receipt.notice else {
        Issue.record("answered \(receipt.notice)")
        return
      }
      let range = try #require(receipt.operations)
      #expect(await client.changeState(range) == .onThisDevice)
      await client.close()
      await client.close()
      await #expect(throws: ClientError.closed) { try await client.perform(.text("two", 2)) }
      let again = try await fixture.open()
      #expect(try again.workspace().texts() == ["one"])
      #expect(again.syncStatus().state == .notPaired)
      await again.close()
    }
  }

  /// A session that is made again under its name begins a new conversation, with the same agent.
  @Test func aDeletedSessionTakesItsConversationAlong() async throws {
    try await ClientFixture.withServer { fixture in
      let (gone, other) = (try SessionID("gone"), try SessionID("other"))
      var client = try await fixture.open()
      for session in [gone, other] {
        try await client.perform(.addSession(session, name: nil, project: nil))
        try await client.execution.setConversation("c-\(session)", of: session, with: "claude")
      }
      try await client.execution.setAgentKind(.codex, of: gone)
      try await client.perform(.deleteSession(gone))
      try await client.perform(.addSession(gone, name: nil, project: nil))
      for _ in 1...2 {
        #expect(try await client.execution.conversation(of: gone, with: "claude") == nil)
        #expect(try await client.execution.conversations(with: "claude") == [other: "c-other"])
        #expect(await client.execution.agentKind(of: gone) == .codex)
        await client.close()
        client = try await fixture.open()
      }
      await client.close()
    }
  }

  @Test func refusedCommandSaysWhyAndChangesNothing() async throws {
    try await ClientFixture.withServer { fixture in
      let client = try await fixture.open()
      await #expect(throws: ClientError.queue(.blankText)) {
        try await client.perform(.text("  ", 1))
      }
      #expect(client.workspace().sessions().isEmpty)
      #expect(client.syncStatus().outgoing == 0)
      await client.close()
    }
  }

  @Test func anAbandonedStreamIsRemovedHoweverSoonItEnds() async throws {
    try await ClientFixture.withServer { fixture in
      let client = try await fixture.open()
      let gate = DispatchSemaphore(value: 0)
      client.engine.soon { _ in gate.wait() }
      // Gone before the engine processes them.
      _ = client.threads.updates()
      _ = client.queues.updates(of: try SessionID("a"))
      _ = client.syncStatusUpdates()
      gate.signal()
      #expect(await client.engine.viewCount == 0)
      var kept = client.syncStatusUpdates().makeAsyncIterator()
      _ = await kept.next()
      #expect(await client.engine.viewCount == 1)
      await client.close()
    }
  }

  // S0-22: the file has the shown state; a copy of it is as good.
  @Test func shownChangesAreAlreadyStored() async throws {
    try await ClientFixture.withServer { fixture in
      let client = try await fixture.open()
      try await client.perform(.text("text 1", 1))
      var queue = client.queues.updates(of: try SessionID("a")).makeAsyncIterator()
      #expect(await queue.next()?.messages.count == 1)
      for number in 2...4 as ClosedRange<UInt64> {
        async let sent = client.perform(.text("text \(number)", number))
        let shown = await queue.next()?.messages.map(\.content)
        let copy = ClientFixture(
          directory: "\(fixture.directory)-\(number)", server: fixture.server)
        defer { try? FileManager.default.removeItem(atPath: copy.directory) }
        try FileManager.default.copyItem(atPath: fixture.directory, toPath: copy.directory)
        let other = try await copy.open()
        #expect(try other.workspace().texts() == shown && shown?.count == Int(number))
        await other.close()
        _ = try await sent
      }
      await client.close()
    }
  }

  // S0-68: while the writer waits for the disk, readers read; simultaneous requests are done one
  // after the other.
  @Test func readersDoNotWaitForTheWriter() async throws {
    try await ClientFixture.withServer { fixture in
      let client = try await fixture.open()
      try await client.perform(.text("text 0", 100))
      let gate = DispatchSemaphore(value: 0)
      client.engine.soon { _ in
        #expect(gate.wait(timeout: .now() + 60) == .success, "readers waited")
      }
      let positions = try await withThrowingTaskGroup(of: Int?.self) { group in
        for number in 1...20 as ClosedRange<UInt64> {
          group.addTask {
            let receipt = try await client.perform(.text("text \(number)", number))
            guard case .queued(_, let position, _, _) = receipt.notice else { return nil }
            return position
          }
        }
        #expect(try client.workspace().texts() == ["text 0"])
        #expect(client.workspace().threadQueue().threads.count == 1)
        #expect(client.syncStatus().state == .notPaired)
        gate.signal()
        return try await group.reduce(into: []) { $0.append($1) }
      }
      #expect(positions.compactMap { $0 }.sorted() == Array(2...21))
      let texts = try client.workspace().texts()
      await client.close()
      let again = try await fixture.open()
      #expect(try again.workspace().texts() == texts)
      await again.close()
    }
  }

  @Test func secondClientOnADirectoryIsRefused() async throws {
    try await ClientFixture.withServer { fixture in
      let client = try await fixture.open()
      await #expect(throws: ClientError.locked(path: fixture.directory)) {
        _ = try await fixture.open()
      }
      await client.close()
    }
  }

  @Test func directoryIsItsOwnersAlone() async throws {
    try await ClientFixture.withServer { fixture in
      let client = try await fixture.open()
      let attributes = try FileManager.default.attributesOfItem(atPath: fixture.directory)
      #expect((attributes[.posixPermissions] as? NSNumber)?.intValue == 0o700)
      await client.close()
    }
  }

  @Test func damagedStoreIsReportedAndTheNextOpeningWorks() async throws {
    try await ClientFixture.withServer { fixture in
      try await fixture.open().close()
      let path = fixture.directory + "/cospool.sqlite"
      try Data(repeating: 7, count: 5_000).write(to: URL(fileURLWithPath: path))
      do {
        _ = try await fixture.open()
        Issue.record("opened")
      } catch let error as ClientError {
        #expect(error == .corruptStore(path: path, keptAt: path + ".corrupt-1"))
        #expect(error.exitCode == 6)
      }
      try await fixture.open().close()
    }
  }

  @Test func threadQueueIsNotChangedIfItIsOff() async throws {
    try await ClientFixture.withServer { fixture in
      let client = try await fixture.open(queueEnabled: false)
      try await client.perform(.text("one", 1))
      #expect(client.workspace().threadQueue().threads.isEmpty)
      await client.close()
    }
  }

  // S2-75, S2-77.
  @Test func theThreadQueueFollowsLocksAndDeletions() async throws {
    try await ClientFixture.withServer { fixture in
      let client = try await fixture.open()
      for (number, name) in ["a", "b", "c"].enumerated() {
        try await client.perform(.text("text", UInt64(number + 1), in: name))
      }
      var threads = client.threads.updates().makeAsyncIterator()
      #expect(await threads.next()?.ready == [])
      try await client.perform(.unlockThread(try SessionID("b")))
      #expect(await threads.next()?.ready.map(\.session.rawValue) == ["b"])
      try await client.perform(.text("again", 9, in: "b"))
      #expect(await threads.next()?.ready == [])
      try await client.perform(.unlockThread(try SessionID("c")))
      #expect(await threads.next()?.ready.map(\.position) == [2])
      try await client.perform(.deleteSession(try SessionID("a")))
      #expect(await threads.next()?.ready.map(\.position) == [1])
      try await client.perform(.deleteSession(try SessionID("c")))
      #expect(await threads.next()?.threads.map(\.session.rawValue) == ["b"])
      await client.close()
    }
  }

  @Test func viewsStartWithThePresentAndFollowChanges() async throws {
    try await ClientFixture.withServer { fixture in
      let client = try await fixture.open()
      try await client.perform(.text("one", 1))
      var queue = client.queues.updates(of: try SessionID("a")).makeAsyncIterator()
      var threads = client.threads.updates().makeAsyncIterator()
      #expect(await queue.next()?.messages.map(\.content) == ["one"])
      #expect(await threads.next()?.threads.count == 1)
      try await client.perform(.text("two", 2))
      #expect(await queue.next()?.messages.map(\.content) == ["one", "two"])
      try await client.perform(.text("elsewhere", 3, in: "b"))
      // The first queue did not change; the thread queue did.
      var latest = await threads.next()
      if latest?.threads.count == 1 { latest = await threads.next() }
      #expect(latest?.threads.count == 2)
      try await client.perform(.cancel([MessageID(high: 9, low: 1)]))
      #expect(await queue.next()?.messages.map(\.content) == ["two"])
      await client.close()
      #expect(await queue.next() == nil)
    }
  }

  @Test func changesRebuildTheQueuesInAMirror() async throws {
    try await ClientFixture.withServer { fixture in
      let client = try await fixture.open()
      try await client.perform(.text("one", 1))
      var changes = client.changes().makeAsyncIterator()
      var mirror: [MessageView] = []
      for number in 2...9 as ClosedRange<UInt64> {
        try await client.perform(.text("text \(number)", number))
      }
      try await client.perform(
        .move([MessageID(high: 9, low: 9)], to: .before(MessageID(high: 9, low: 2))))
      try await client.perform(.cancel([MessageID(high: 9, low: 4)]))
      try await client.perform(.edit(MessageID(high: 9, low: 1), content: "uno", base: nil))
      let expected = try client.workspace().messageQueue(SessionID("a")).messages
      while mirror != expected {
        let change = try #require(await changes.next())
        if case .messages(_, let steps) = change {
          for step in steps { step.apply(to: &mirror) }
        }
      }
      await client.close()
    }
  }

  @Test(arguments: [
    "http://host:1", "ws://", "host:1", "ws://host:1/an other", "ws://host:99999", "wss://a b",
  ])
  func addressesThatAreNoneAreRefused(_ text: String) async throws {
    try await ClientFixture.withServer { fixture in
      let client = try await fixture.open()
      await #expect(throws: ClientError.invalidServerURL(text)) {
        _ = try await client.pair(server: text, code: "x")
      }
      await client.close()
    }
  }
}

extension Engine {
  /// The number of watched state views.
  fileprivate var viewCount: Int { state.observers.viewCount }
}
