import ClientCore
import ClientStore
import Foundation
import QueueModel
import SequenceCRDT
import Testing
import WireProtocol

@Suite struct ReopeningTests {
  // S0-71.
  @Test func everythingIsThereAfterReopening() throws {
    let shelf = try Shelf()
    var open = try shelf.open()
    for number in 1...20 as ClosedRange<UInt64> { try shelf.send(number, &open) }
    try open.replica.remember(store: open.store) { record in
      record.workspace = WorkspaceID(high: 3, low: 4)
      record.isSyncEnabled = false
      record.logIdentity = .max
      record.logPosition = 12
      record.repairs = 2
    }
    try open.store.close()
    let again = try shelf.open()
    #expect(again.replica.record == open.replica.record)
    #expect(!again.needsFreshReplica)
    let isEqual = again.replica.workspace.image() == open.replica.workspace.image()
    #expect(isEqual)
    #expect(again.replica.lastEntry == open.replica.lastEntry)
    #expect(again.replica.outgoingCount == open.replica.outgoingCount)
    try again.store.close()
  }

  /// Also in a directory that others may read.
  @Test func theFilesAreForTheirOwnerAlone() throws {
    let shelf = try Shelf()
    try FileManager.default.setAttributes([.posixPermissions: 0o755], ofItemAtPath: shelf.path)
    func modes() throws -> [Int?] {
      try ["", "-wal", "-shm"].map { suffix in
        try FileManager.default.attributesOfItem(atPath: shelf.database + suffix)[
          .posixPermissions] as? Int
      }
    }
    var open = try shelf.open()
    try shelf.send(1, &open)
    #expect(try modes() == [0o600, 0o600, 0o600])
    try open.store.close()
    // As earlier versions left it.
    try FileManager.default.setAttributes([.posixPermissions: 0o644], ofItemAtPath: shelf.database)
    open = try shelf.open()
    try shelf.send(2, &open)
    #expect(try modes() == [0o600, 0o600, 0o600])
    try open.store.close()
  }

  /// The files of attachments have a queue of their own, which may come after the end.
  @Test func whoReadsAfterTheEndGetsAnError() throws {
    let shelf = try Shelf()
    var open = try shelf.open()
    try shelf.send(1, &open)
    try open.store.close()
    #expect(throws: StoreError.self) { try StoredAttachments(store: open.store).all() }
    #expect(throws: StoreError.self) {
      try open.store.entries(in: [], after: 0, countMax: 10)
    }
  }

  @Test func storedImageShortensTheTail() throws {
    let shelf = try Shelf()
    var open = try shelf.open()
    for number in 1...10 as ClosedRange<UInt64> { try shelf.send(number, &open) }
    try open.store.keep(open.replica.workspace, upTo: open.replica.lastEntry)
    try shelf.send(11, &open)
    try open.store.close()
    let loaded = try ClientStore.open(directory: shelf.path)
    #expect(loaded.loaded.tail.count == 1)
    try loaded.store.close()
    let again = try shelf.open()
    #expect(try shelf.contents(again.replica).count == 11)
    let digests = again.replica.known == open.replica.known
    #expect(digests)
    try again.store.close()
  }

  @Test func acknowledgementsAndReceiptsAreKept() throws {
    let shelf = try Shelf()
    var open = try shelf.open()
    let ranges = try shelf.send(1, &open).operations.ranges
    try open.replica.acknowledge(
      [OperationRange(replica: ranges[0].replica, first: 1, last: ranges[0].last)],
      logPosition: 9, hasCaughtUp: true, store: open.store)
    try shelf.send(2, &open)
    try open.store.close()
    let again = try shelf.open()
    #expect(again.replica.record.acknowledged == open.replica.record.acknowledged)
    #expect(again.replica.receipts == open.replica.receipts)
    #expect(again.replica.receipts.all.map(\.logPosition) == [9])
    #expect(again.replica.outgoing == open.replica.outgoing)
    try again.store.close()
  }

  @Test func outgoingEntriesComeInOrderAndInPages() throws {
    let shelf = try Shelf()
    var open = try shelf.open()
    for number in 1...10 as ClosedRange<UInt64> { try shelf.send(number, &open) }
    var found: [LogEntry] = []
    while true {
      let page = try open.store.entries(
        in: open.replica.outgoing, after: found.last?.id ?? 0, countMax: 3)
      if page.isEmpty { break }
      #expect(page.count <= 3)
      found += page
    }
    #expect(found.map(\.id) == Array(1...11))
    #expect(found.allSatisfy { $0.isLocal })
    let all = try open.store.entries(after: 0, countMax: 100)
    #expect(found == all)
    try open.store.close()
  }

  @Test func waitingOperationsSurviveUntilTheyApply() throws {
    let donor = try Shelf(seed: 1 << 50)
    var source = try donor.open()
    try donor.send(1, &source)
    let operations = try source.store.entries(after: 0, countMax: 10).flatMap(\.operations)
    try source.store.close()
    let shelf = try Shelf()
    var open = try shelf.open()
    let front = Array(operations.prefix(2))
    let back = Array(operations.dropFirst(2))
    _ = try open.replica.merge(
      Replica.Delivery(operations: back, logPosition: 4), at: shelf.occasion(), store: open.store)
    try open.store.close()
    var again = try shelf.open()
    #expect(again.replica.workspace.pendingOperations.count == back.count)
    _ = try again.replica.merge(
      Replica.Delivery(operations: front, logPosition: 5), at: shelf.occasion(),
      store: again.store)
    #expect(try shelf.contents(again.replica) == ["text 1"])
    try again.store.close()
    let third = try shelf.open()
    #expect(third.replica.workspace.pendingOperations.isEmpty)
    #expect(try shelf.contents(third.replica) == ["text 1"])
    try third.store.close()
  }

  @Test func installedSnapshotIsTheBaseOfTheLog() throws {
    let donor = try Shelf(seed: 1 << 50)
    var source = try donor.open()
    try donor.send(1, &source)
    let shelf = try Shelf()
    var open = try shelf.open()
    try shelf.send(2, &open)
    _ = try open.replica.install(
      Replica.Base(image: source.replica.workspace.image(), epoch: 0, logPosition: 3),
      store: open.store)
    try source.store.close()
    try open.store.close()
    let again = try shelf.open()
    #expect(try Set(shelf.contents(again.replica)) == ["text 1", "text 2"])
    #expect(again.replica.record.logPosition == 3)
    #expect(try again.store.base() != nil)
    try again.store.close()
  }

  @Test func killAtAnyCommitLosesNothingThatWasAnswered() throws {
    let shelf = try Shelf()
    var open = try shelf.open()
    var crashes: [(files: [String: Data], answered: Int)] = []
    for number in 1...12 as ClosedRange<UInt64> {
      try shelf.send(number, &open)
      crashes.append((try shelf.snapshot(), Int(number)))
    }
    try open.store.close()
    for crash in crashes {
      let place = try Shelf()
      for (name, data) in crash.files where !name.hasSuffix("-shm") {
        try data.write(to: URL(fileURLWithPath: place.path + "/" + name))
      }
      let again = try place.open()
      let expected = (1...crash.answered).map { "text \($0)" }
      #expect(try place.contents(again.replica) == expected)
      try again.store.close()
    }
  }

  @Test func tornWriteAheadLogGivesAPrefix() throws {
    let shelf = try Shelf()
    var open = try shelf.open()
    for number in 1...5 as ClosedRange<UInt64> { try shelf.send(number, &open) }
    let files = try shelf.snapshot()
    try open.store.close()
    let wal = try #require(files["cospool.sqlite-wal"])
    for cut in stride(from: wal.count, to: 0, by: -max(1, wal.count / 9)) {
      let place = try Shelf()
      for (name, data) in files where !name.hasSuffix("-shm") {
        let bytes = name.hasSuffix("-wal") ? data.prefix(cut) : data
        try bytes.write(to: URL(fileURLWithPath: place.path + "/" + name))
      }
      let again = try place.open()
      let texts = (try? place.contents(again.replica)) ?? []
      #expect(texts == (0..<texts.count).map { "text \($0 + 1)" })
      try again.store.close()
    }
  }
}
