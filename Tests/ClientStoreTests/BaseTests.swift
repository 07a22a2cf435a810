import ClientCore
import ClientStore
import QueueModel
import SequenceCRDT
import Testing
import WireProtocol

/// A state of the server replaces the log.
@Suite struct BaseTests {
  /// The state of a server that has everything of a device.
  private func base(of workspace: Workspace) -> Replica.Base {
    Replica.Base(image: workspace.image(), prefix: LogPrefix(position: 5, chain: 9))
  }

  @Test func baseTakesThePlaceOfTheLogAndSurvivesReopening() throws {
    let directory = try StoreDirectory()
    var open = try directory.open()
    try directory.send(1, &open)
    try directory.send(2, &open)
    let base = base(of: open.replica.workspace)
    try directory.send(3, &open)
    let before = open.replica.lastEntry
    let size = try open.store.logSize()
    _ = try open.replica.install(base, at: directory.context(), store: open.store)
    #expect(try open.store.logSize().entries == 1)
    #expect(try open.store.logSize().bytes < size.bytes)
    #expect(open.replica.lastEntry > before)
    try open.store.close()
    let again = try directory.open()
    #expect(again.replica.record == open.replica.record)
    #expect(again.replica.record.prefix == base.prefix)
    #expect(again.replica.record.outbox.ranges.count == 1)
    #expect(again.replica.lastEntry == open.replica.lastEntry)
    let isEqual = again.replica.workspace.image() == open.replica.workspace.image()
    #expect(isEqual)
    #expect(try directory.contents(again.replica) == ["text 1", "text 2", "text 3"])
    try again.store.close()
  }

  @Test func theHistoryBeforeTheLogIsKeptWithinItsBound() throws {
    let directory = try StoreDirectory()
    var open = try directory.open()
    for number in 1...3 as ClosedRange<UInt64> { try directory.send(number, &open) }
    func history(_ open: StoreDirectory.Open) throws -> [HistoryEntry] {
      try open.replica.history(of: .workspace, before: nil, limit: 100, store: open.store).entries
    }
    let before = try history(open)
    _ = try open.replica.install(
      base(of: open.replica.workspace), at: directory.context(), store: open.store)
    #expect(try open.store.logSize().entries == 0)
    #expect(try history(open) == before)
    try directory.send(4, &open)
    try open.store.close()
    let again = try directory.open()
    #expect(try history(again).suffix(before.count) == before)
    // More entries than the journal keeps: the oldest is removed.
    var transaction = StoreTransaction(record: again.replica.record)
    transaction.journal.added = (0..<JournalChanges.entriesMax).reversed().map {
      JournalEntry(position: HistoryPosition(entry: 1_000, index: $0), event: before[0])
    }
    try again.store.commit(transaction)
    let oldest = HistoryPosition(entry: 1_000, index: 0)
    #expect(try again.store.journal(before: oldest, countMax: 10).isEmpty)
    let next = HistoryPosition(entry: 1_000, index: 1)
    #expect(try again.store.journal(before: next, countMax: 10).count == 1)
    // Entries past their time are removed.
    transaction.journal.added = []
    transaction.journal.forgottenBefore = .max
    try again.store.commit(transaction)
    let latest = HistoryPosition(entry: .max, index: 0)
    #expect(try again.store.journal(before: latest, countMax: 10).isEmpty)
    try again.store.close()
  }

  @Test func emptyLogBehindABaseGoesOn() throws {
    let directory = try StoreDirectory()
    var open = try directory.open()
    try directory.send(1, &open)
    _ = try open.replica.install(
      base(of: open.replica.workspace), at: directory.context(), store: open.store)
    #expect(try open.store.logSize().entries == 0)
    #expect(open.replica.record.outbox.isEmpty)
    let last = open.replica.lastEntry
    try open.store.close()
    var again = try directory.open()
    #expect(again.replica.lastEntry == last)
    try directory.send(2, &again)
    try again.store.close()
    let third = try directory.open()
    #expect(try directory.contents(third.replica) == ["text 1", "text 2"])
    try third.store.close()
  }

  @Test func cachedImageOfBeforeIsNotTakenForTheBase() throws {
    let directory = try StoreDirectory()
    var open = try directory.open()
    for number in 1...4 as ClosedRange<UInt64> { try directory.send(number, &open) }
    try open.store.keep(open.replica.workspace, upTo: open.replica.lastEntry)
    _ = try open.replica.install(
      base(of: open.replica.workspace), at: directory.context(), store: open.store)
    try directory.send(5, &open)
    try open.store.close()
    let again = try directory.open()
    let isEqual = again.replica.workspace.image() == open.replica.workspace.image()
    #expect(isEqual)
    try again.store.close()
  }

  @Test func fullDiskLeavesLogAndRecordUnchanged() throws {
    // Another device's text that barely compresses: the base needs more pages than the log frees.
    let donor = try StoreDirectory(seed: 1 << 50)
    var source = try donor.open()
    var text = String.UnicodeScalarView()
    for index in 0..<60_000 as Range<UInt32> {
      let mixed = index &* 2_654_435_761 >> 8
      if let scalar = Unicode.Scalar(0x4E00 + mixed % 20_000) { text.append(scalar) }
    }
    try donor.send(9, &source, text: String(text))
    let base = base(of: source.replica.workspace)
    try source.store.close()
    let directory = try StoreDirectory()
    var open = try directory.open()
    try directory.send(1, &open)
    let before = open.replica
    try open.store.limitPages(to: try open.store.pageCount())
    #expect(throws: Replica.Fault.self) {
      _ = try open.replica.install(base, at: directory.context(), store: open.store)
    }
    #expect(open.replica.record == before.record)
    try open.store.close()
    let again = try directory.open()
    #expect(again.replica.record == before.record)
    let isEqual = again.replica.workspace.image() == before.workspace.image()
    #expect(isEqual)
    try again.store.close()
  }
}
