import GRDB
import QueueModel
import ServerCore
import Testing
import WireProtocol

@testable import ServerStore

/// The log, its snapshots, and the part of it that is dropped with them.
@Suite struct LogTests {
  private let folder: StoreFolder
  private let database: ServerDatabase
  private let workspace: WorkspaceID

  init() throws {
    folder = try StoreFolder()
    database = try folder.open()
    workspace = try database.addPairingCode(
      hash: [1], for: Sample.proposal("default"), expiresAt: .max)
  }

  private var empty: LogPrefix {
    LogPrefix(position: 0, chain: Sample.proposal("default").firstChain)
  }

  private func positions(_ database: ServerDatabase) throws -> [UInt64] {
    try database.entries(of: workspace, after: 0, limit: 999, bytesMax: .max).map(\.prefix.position)
  }

  private func snapshot(_ entry: LogEntry) -> StoredSnapshot {
    StoredSnapshot(prefix: entry.prefix, bytes: [UInt8(entry.prefix.position)])
  }

  @Test func anEmptyLogHasItsOwnChain() throws {
    #expect(try database.header(of: workspace)?.head == empty)
    #expect(try database.chain(of: workspace, at: 1) == nil)
  }

  @Test func entriesOfBothKindsComeBackInOrder() throws {
    let first = try database.write(3, to: workspace)
    let bytes: [UInt8] = [7, 0, 7]
    let state = LogEntry(prefix: first[2].prefix.appending(bytes), content: .state(bytes))
    try database.append(state, to: workspace, at: Sample.now)
    let last = try database.write(1, to: workspace)
    try database.close()
    let again = try folder.open()
    #expect(
      try again.entries(of: workspace, after: 0, limit: 9, bytesMax: .max) == first + [state] + last
    )
    #expect(
      try again.entries(of: workspace, after: 1, limit: 2, bytesMax: .max) == Array(first[1...]))
    #expect(try again.header(of: workspace)?.head == last[0].prefix)
    #expect(try again.chain(of: workspace, at: 4) == state.prefix.chain)
  }

  /// Batches and states, each for its own day.
  @Test func receivedBytesCountForTheirDay() throws {
    func written(_ database: ServerDatabase) throws -> DailyWrites? {
      try database.header(of: workspace)?.written
    }
    func append(_ bytes: [UInt8], at wallMilliseconds: Int64) throws {
      let head = try #require(try database.header(of: workspace)).head
      let entry = LogEntry(prefix: head.appending(bytes), content: .state(bytes))
      try database.append(entry, to: workspace, at: wallMilliseconds)
    }
    let day = DailyWrites.dayMilliseconds
    var batch = CommitBatch()
    batch.wallMilliseconds = day
    batch.appends = Sample.log(2, behind: try #require(try database.header(of: workspace)).head)
      .map { (workspace, $0) }
    try database.commitKnowingMarks(batch)
    #expect(try written(database) == DailyWrites(day: 1, bytes: 6))
    try append([7, 7], at: 2 * day - 1)
    #expect(try written(database) == DailyWrites(day: 1, bytes: 8))
    try append([7], at: 2 * day)
    try database.close()
    #expect(try written(folder.open()) == DailyWrites(day: 2, bytes: 1))
  }

  /// A snapshot is one of a log, whoever made it.
  @Test func aSnapshotOfAnotherLogIsNotSaved() throws {
    let entries = try database.write(3, to: workspace)
    let prefix = entries[1].prefix
    for other in [
      LogPrefix(position: prefix.position, chain: prefix.chain ^ 1),
      entries[2].prefix.appending([1]),
    ] {
      let snapshot = StoredSnapshot(prefix: other, bytes: [9])
      #expect(try !database.save(snapshot, of: workspace, truncatingBefore: 9))
      #expect(try database.latestSnapshot(of: workspace, notBehind: 9) == nil)
    }
    #expect(try database.save(snapshot(entries[1]), of: workspace, truncatingBefore: 9))
  }

  @Test func entriesEndWithTheOneThatMakesTheBytesFull() throws {
    let entries = try database.write(3, to: workspace)
    let first = entries[0].content.bytes.count
    for (bytesMax, count) in [(0, 0), (1, 1), (first, 1), (first + 1, 2), (.max, 3)] {
      let read = try database.entries(of: workspace, after: 0, limit: 9, bytesMax: bytesMax)
      #expect(read == Array(entries[..<count]))
    }
  }

  @Test func onlyTheLastTwoSnapshotsAreKept() throws {
    let entries = try database.write(4, to: workspace)
    for entry in entries {
      _ = try database.save(snapshot(entry), of: workspace, truncatingBefore: 0)
    }
    #expect(try database.latestSnapshot(of: workspace, notBehind: 4) == snapshot(entries[3]))
    #expect(try database.latestSnapshot(of: workspace, notBehind: 3) == snapshot(entries[2]))
    #expect(try database.latestSnapshot(of: workspace, notBehind: 2) == nil)
    #expect(try positions(database) == [1, 2, 3, 4])
  }

  /// The entry at the position has the chain for the device for which the log is kept.
  @Test func theLogIsDroppedBeforeThePositionAndTheOlderSnapshot() throws {
    let entries = try database.write(9, to: workspace)
    _ = try database.save(snapshot(entries[3]), of: workspace, truncatingBefore: 9)
    #expect(try positions(database) == Array(1...9), "one snapshot may be damaged")
    _ = try database.save(snapshot(entries[7]), of: workspace, truncatingBefore: 3)
    #expect(try positions(database) == Array(3...9))
    _ = try database.save(snapshot(entries[8]), of: workspace, truncatingBefore: 99)
    #expect(try positions(database) == [8, 9])
    #expect(try database.chain(of: workspace, at: 8) == entries[7].prefix.chain)
    #expect(try database.chain(of: workspace, at: 7) == nil)
    #expect(try database.header(of: workspace)?.head == entries[8].prefix)
    let later = try database.write(1, to: workspace)
    #expect(later[0].prefix.position == 10)
  }

  /// A device that is away, or never reports its position, does not make the log grow without end.
  @Test func noMoreIsKeptThanADeviceWouldBeSent() throws {
    let entries = try database.write(4_200, to: workspace)
    for index in [4_149, 4_199] {
      let prefix = entries[index].prefix
      _ = try database.save(
        StoredSnapshot(prefix: prefix, bytes: [1]), of: workspace, truncatingBefore: 0)
    }
    #expect(try database.chain(of: workspace, at: 103) == nil)
    let kept = try database.entries(of: workspace, after: 0, limit: 9_999, bytesMax: .max)
    #expect(kept == Array(entries[103...]), "4,096, and the one that marks where they begin")
    // A few large entries count as many, and entries after the older snapshot stay.
    let head = try #require(entries.last).prefix
    let bytes = [UInt8](repeating: 7, count: 9 << 20)
    let first = LogEntry(prefix: head.appending(bytes), content: .state(bytes))
    let second = LogEntry(prefix: first.prefix.appending(bytes), content: .state(bytes))
    for entry in [first, second] { try database.append(entry, to: workspace, at: Sample.now) }
    _ = try database.save(
      StoredSnapshot(prefix: first.prefix, bytes: [1]), of: workspace, truncatingBefore: 0)
    #expect(try positions(database).first == 4_200)
    _ = try database.save(
      StoredSnapshot(prefix: second.prefix, bytes: [1]), of: workspace, truncatingBefore: 0)
    #expect(try positions(database) == [4_201, 4_202])
  }

  @Test func aSnapshotAloneSaysTheHead() throws {
    let entries = try database.write(2, to: workspace)
    _ = try database.save(snapshot(entries[0]), of: workspace, truncatingBefore: 0)
    _ = try database.save(snapshot(entries[1]), of: workspace, truncatingBefore: 9)
    try database.write { try $0.execute(sql: "DELETE FROM log") }
    #expect(try database.header(of: workspace)?.head == entries[1].prefix)
    #expect(try database.chain(of: workspace, at: 1) == entries[0].prefix.chain)
    let later = try database.write(1, to: workspace)
    #expect(later[0].prefix == entries[1].prefix.appending([3, 0, 255]))
  }

  @Test func savingIsAllOrNothing() throws {
    let entries = try database.write(3, to: workspace)
    _ = try database.save(snapshot(entries[0]), of: workspace, truncatingBefore: 0)
    _ = try database.save(snapshot(entries[1]), of: workspace, truncatingBefore: 0)
    // The last statement of the transaction fails.
    try database.write {
      try $0.execute(
        sql: """
          CREATE TRIGGER broken BEFORE DELETE ON log
          BEGIN SELECT raise(ABORT, 'the disk went away'); END
          """)
    }
    #expect(throws: StorageFault.self) {
      _ = try database.save(snapshot(entries[2]), of: workspace, truncatingBefore: 9)
    }
    try database.close()
    let again = try folder.open()
    #expect(try again.latestSnapshot(of: workspace, notBehind: 9) == snapshot(entries[1]))
    #expect(try again.latestSnapshot(of: workspace, notBehind: 1) == snapshot(entries[0]))
    #expect(try positions(again) == [1, 2, 3])
  }

  @Test func anUnknownKindIsDamage() throws {
    _ = try database.write(1, to: workspace)
    try database.write { db in
      try db.execute(sql: "PRAGMA ignore_check_constraints = ON")
      try db.execute(sql: "UPDATE log SET kind = 9")
    }
    let fault = #expect(throws: StorageFault.self) {
      try database.entries(of: workspace, after: 0, limit: 9, bytesMax: .max)
    }
    #expect(fault?.code == .corrupt)
  }

  @Test func logsAreListed() throws {
    let entries = try database.write(3, to: workspace)
    _ = try database.addPairingCode(
      hash: [2], for: Sample.proposal("zero", 2), expiresAt: .max)
    for entry in entries[1...] {
      _ = try database.save(snapshot(entry), of: workspace, truncatingBefore: 9)
    }
    let all = try database.logs(ofWorkspaceNamed: nil)
    #expect(
      all == [
        LogListing(
          workspace: workspace, workspaceName: "default", headPosition: 3, entries: 2, bytes: 6,
          snapshotPosition: 3, snapshotBytes: 1),
        LogListing(
          workspace: Sample.proposal("zero", 2).id, workspaceName: "zero", headPosition: 0,
          entries: 0, bytes: 0, snapshotPosition: 0, snapshotBytes: 0),
      ])
    #expect(try database.logs(ofWorkspaceNamed: "zero") == [all[1]])
  }
}
