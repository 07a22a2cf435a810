import GRDB
import QueueModel
import SequenceCRDT
import ServerCore
import Testing

@testable import ServerStore

@Suite struct EpochTests {
  private func stored(_ folder: StoreFolder) throws -> (ServerDatabase, WorkspaceID) {
    let database = try folder.open()
    let workspace = try database.addPairingCode(
      hash: [1], for: Sample.proposal("default"), expiresAt: .max)
    _ = try database.redeem(Sample.redemption(code: [1]))
    var batch = CommitBatch()
    batch.appends = [
      Sample.append(workspace, 1, 1, 10), Sample.append(workspace, 2, 11, 15),
      Sample.append(workspace, 3, 1, 4, replica: ReplicaID(rawValue: 5)),
    ]
    try database.commit(batch)
    try database.save(StoredSnapshot(position: 2, bytes: [1]), of: workspace)
    return (database, workspace)
  }

  private let start = EpochStart(
    epoch: 1 << 32 | 7, previous: 0, position: 3, base: [4, 5, 6])

  @Test func baseTakesThePlaceOfTheLogAndSurvivesReopening() throws {
    let folder = try StoreFolder()
    let (database, workspace) = try stored(folder)
    try database.start(start, of: workspace)
    try database.close()
    let again = try folder.open()
    let header = try #require(try again.header(of: workspace))
    #expect(header.epoch == start.epoch)
    #expect(header.head == 3 && header.basePosition == 3)
    #expect(header.replicas.allSatisfy { $0.baseSeq == $0.seq })
    #expect(try again.base(of: workspace) == StoredSnapshot(position: 3, bytes: [4, 5, 6]))
    #expect(try again.entries(of: workspace, after: 0, limit: 9).isEmpty)
    #expect(try again.latestSnapshot(of: workspace) == nil)
    let ranges = [OperationRange(replica: Sample.replica, first: 1, last: 15)]
    #expect(try again.entries(of: workspace, overlapping: ranges).isEmpty)
    // The log goes on behind it.
    var batch = CommitBatch()
    batch.appends = [Sample.append(workspace, 4, 16, 20)]
    try again.commit(batch)
    let later = try #require(try again.header(of: workspace))
    #expect(later.head == 4)
    let mark = later.replicas.first { $0.replica == Sample.replica }
    #expect(mark?.seq == 20 && mark?.baseSeq == 15)
  }

  @Test func startThatDoesNotFollowChangesNothing() throws {
    let folder = try StoreFolder()
    let (database, workspace) = try stored(folder)
    for wrong in [
      EpochStart(epoch: 9, previous: 1, position: 3, base: [1]),
      EpochStart(epoch: 9, previous: 0, position: 2, base: [1]),
      EpochStart(epoch: 9, previous: 0, position: 4, base: [1]),
      EpochStart(epoch: 9, previous: 0, position: 2, base: [1], replicas: []),
    ] {
      #expect(throws: StorageFault.self) { try database.start(wrong, of: workspace) }
    }
    #expect(try database.header(of: workspace)?.epoch == 0)
    #expect(try database.entries(of: workspace, after: 0, limit: 9).count == 3)
  }

  @Test func failureInTheMiddleLeavesAllAsItWas() throws {
    let folder = try StoreFolder()
    let (database, workspace) = try stored(folder)
    // The last statement of the transaction fails.
    try database.queue.write {
      try $0.execute(
        sql: """
          CREATE TRIGGER broken BEFORE UPDATE OF base_seq ON replicas
          BEGIN SELECT raise(ABORT, 'the disk went away'); END
          """)
    }
    #expect(throws: StorageFault.self) { try database.start(start, of: workspace) }
    try database.close()
    let again = try folder.open()
    #expect(try again.header(of: workspace)?.epoch == 0)
    #expect(try again.base(of: workspace) == nil)
    #expect(try again.entries(of: workspace, after: 0, limit: 9).count == 3)
    #expect(try again.latestSnapshot(of: workspace)?.position == 2)
  }

  @Test func stateOfADeviceBringsItsReplicas() throws {
    let folder = try StoreFolder()
    let (database, workspace) = try stored(folder)
    var taken = start
    taken.position = 4
    taken.replicas = [
      ReplicaMark(replica: Sample.replica, seq: 40, digest: 9, device: Sample.device),
      ReplicaMark(
        replica: ReplicaID(rawValue: 6), seq: 3, digest: 8, device: DeviceID(high: 1, low: 1)),
    ]
    try database.start(taken, of: workspace)
    let header = try #require(try database.header(of: workspace))
    #expect(header.head == 4)
    #expect(header.replicas.first { $0.replica == Sample.replica }?.seq == 40)
    #expect(header.replicas.first { $0.replica.rawValue == 6 }?.baseSeq == 3)
    #expect(header.replicas.count == 3)
  }

  @Test func wishesAndLongLogsAreFound() throws {
    let folder = try StoreFolder()
    let (database, workspace) = try stored(folder)
    #expect(try database.compactionCandidates(operationsMin: 20, waiting: []).isEmpty)
    let long = try database.compactionCandidates(operationsMin: 19, waiting: [])
    #expect(long.map(\.operations) == [19])
    #expect(long.first?.devices.map(\.id) == [Sample.device])
    #expect(try database.compactionCandidates(operationsMin: .max, waiting: [workspace]).count == 1)
    #expect(try database.requestCompaction(ofWorkspaceNamed: "default", .whenSeen) == workspace)
    #expect(try database.requestCompaction(ofWorkspaceNamed: "nobody", .now) == nil)
    let wish = try database.compactionCandidates(operationsMin: .max, waiting: [])
    #expect(wish.map(\.request) == [.whenSeen])
    try database.start(start, of: workspace)
    #expect(try database.compactionCandidates(operationsMin: 1, waiting: []).isEmpty)
  }

  @Test func fileOfBeforeEpochsIsTakenUp() throws {
    let folder = try StoreFolder()
    try ServerDatabase.prepare(directory: folder.path)
    let queue = try DatabaseQueue(path: folder.databasePath)
    try ServerSchema.migrator(steps: 1).migrate(queue)
    try queue.write { db in
      try db.execute(
        sql: """
          INSERT INTO workspaces (number, id, name, log_identity, created_at)
          VALUES (1, ?, 'default', 7, 0);
          INSERT INTO replicas (workspace, replica, device, seq, digest) VALUES (1, 9, ?, 12, 3);
          INSERT INTO log (workspace, position, delta) VALUES (1, 1, x'00');
          """, arguments: [WorkspaceID(high: 1, low: 2).column, Sample.device.column])
    }
    try queue.close()
    let database = try folder.open()
    let header = try #require(try database.header(of: WorkspaceID(high: 1, low: 2)))
    #expect(header.epoch == 0 && header.basePosition == 0 && header.head == 1)
    #expect(header.replicas.map(\.baseSeq) == [0])
  }
}
