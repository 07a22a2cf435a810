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
    let directory = try StoreDirectory()
    var open = try directory.open()
    for number in 1...20 as ClosedRange<UInt64> { try directory.send(number, &open) }
    try open.replica.remember(store: open.store) { record in
      record.workspace = WorkspaceID(high: 3, low: 4)
      record.isSyncEnabled = false
      record.prefix = LogPrefix(position: 12, chain: .max)
      record.repairs = 2
    }
    try open.store.close()
    let again = try directory.open()
    #expect(again.replica.record == open.replica.record)
    let isEqual = again.replica.workspace.image() == open.replica.workspace.image()
    #expect(isEqual)
    #expect(again.replica.lastEntry == open.replica.lastEntry)
    #expect(again.replica.record.outbox.count > 20)
    try again.store.close()
  }

  @Test func anUnusableFolderIsReportedWithTheReason() throws {
    let directory = try StoreDirectory()
    let file = directory.path + "/file"
    try Data().write(to: URL(filePath: file))
    #expect {
      try LockedDirectory(path: file + "/data")
    } throws: { error in
      "\(error)".contains("cannot make \(file)/data: Not a directory.")
    }
  }

  /// Even if others may read the directory.
  @Test func theFilesAreForTheirOwnerAlone() throws {
    let directory = try StoreDirectory()
    try FileManager.default.setAttributes([.posixPermissions: 0o755], ofItemAtPath: directory.path)
    func modes() throws -> [Int?] {
      try ["", "-wal", "-shm"].map { suffix in
        try FileManager.default.attributesOfItem(atPath: directory.database + suffix)[
          .posixPermissions] as? Int
      }
    }
    var open = try directory.open()
    try directory.send(1, &open)
    #expect(try modes() == [0o600, 0o600, 0o600])
    try open.store.close()
    // The rights that earlier versions left.
    try FileManager.default.setAttributes(
      [.posixPermissions: 0o644], ofItemAtPath: directory.database)
    open = try directory.open()
    try directory.send(2, &open)
    #expect(try modes() == [0o600, 0o600, 0o600])
    try open.store.close()
  }

  /// Attachments read from a queue of their own, possibly after the store was closed.
  @Test func readingAfterTheEndFails() throws {
    let directory = try StoreDirectory()
    var open = try directory.open()
    try directory.send(1, &open)
    try open.store.close()
    #expect(throws: StoreError.self) { try StoredAttachments(store: open.store).all() }
    #expect(throws: StoreError.self) {
      try open.store.entries(in: [], after: 0, countMax: 10)
    }
  }

  @Test func storedImageShortensTheTail() throws {
    let directory = try StoreDirectory()
    var open = try directory.open()
    for number in 1...10 as ClosedRange<UInt64> { try directory.send(number, &open) }
    try open.store.keep(open.replica.workspace, upTo: open.replica.lastEntry)
    try directory.send(11, &open)
    try open.store.close()
    let loaded = try ClientStore.open(directory: directory.path)
    #expect(loaded.loaded.tail.count == 1)
    try loaded.store.close()
    let again = try directory.open()
    #expect(try directory.contents(again.replica).count == 11)
    let isEqual = again.replica.workspace.image() == open.replica.workspace.image()
    #expect(isEqual)
    try again.store.close()
  }

  @Test func acknowledgementsAndReceiptsAreKept() throws {
    let directory = try StoreDirectory()
    var open = try directory.open()
    let ranges = try directory.send(1, &open).operations.ranges
    let prefix = LogPrefix(position: 9, chain: 7)
    try open.replica.acknowledge(
      [OperationRange(replica: ranges[0].replica, first: 1, last: ranges[0].last)],
      prefix: prefix, store: open.store)
    #expect(open.replica.record.outbox.isEmpty)
    try directory.send(2, &open)
    try open.store.close()
    let again = try directory.open()
    #expect(again.replica.record == open.replica.record)
    #expect(again.replica.record.prefix == prefix)
    #expect(again.replica.record.outbox.ranges.map(\.first) == [ranges[0].last + 1])
    #expect(again.replica.receipts == open.replica.receipts)
    #expect(again.replica.receipts.all.map(\.logPosition) == [9])
    try again.store.close()
  }

  @Test func outgoingEntriesComeInOrderAndInPages() throws {
    let directory = try StoreDirectory()
    var open = try directory.open()
    for number in 1...10 as ClosedRange<UInt64> { try directory.send(number, &open) }
    var found: [StoredOperations] = []
    while true {
      let page = try open.store.entries(
        in: open.replica.record.outbox.ranges, after: found.last?.id ?? 0, countMax: 3)
      if page.isEmpty { break }
      #expect(page.count <= 3)
      found += page
    }
    #expect(found.map(\.id) == Array(1...10))
    #expect(found.allSatisfy { $0.isLocal })
    let all = try open.store.entries(after: 0, countMax: 100)
    #expect(found == all)
    try open.store.close()
  }

  @Test func installedSnapshotIsTheBaseOfTheLog() throws {
    let donor = try StoreDirectory(seed: 1 << 50)
    var source = try donor.open()
    try donor.send(1, &source)
    let directory = try StoreDirectory()
    var open = try directory.open()
    try directory.send(2, &open)
    _ = try open.replica.install(
      Replica.Base(
        image: source.replica.workspace.image(), prefix: LogPrefix(position: 3, chain: 5)),
      at: directory.context(), store: open.store)
    try source.store.close()
    try open.store.close()
    let again = try directory.open()
    #expect(try Set(directory.contents(again.replica)) == ["text 1", "text 2"])
    #expect(again.replica.record.prefix == LogPrefix(position: 3, chain: 5))
    #expect(again.replica.record == open.replica.record)
    #expect(try again.store.base() != nil)
    try again.store.close()
  }

  @Test func killAtAnyCommitLosesNothingThatWasAnswered() throws {
    let directory = try StoreDirectory()
    var open = try directory.open()
    var crashes: [(files: [String: Data], answered: Int)] = []
    for number in 1...12 as ClosedRange<UInt64> {
      try directory.send(number, &open)
      crashes.append((try directory.snapshot(), Int(number)))
    }
    try open.store.close()
    for crash in crashes {
      let place = try StoreDirectory()
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
    let directory = try StoreDirectory()
    var open = try directory.open()
    for number in 1...5 as ClosedRange<UInt64> { try directory.send(number, &open) }
    let files = try directory.snapshot()
    try open.store.close()
    let wal = try #require(files["cospool.sqlite-wal"])
    for cut in stride(from: wal.count, to: 0, by: -max(1, wal.count / 9)) {
      let place = try StoreDirectory()
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
