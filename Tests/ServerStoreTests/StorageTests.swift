import DispatchAuthority
import GRDB
import QueueModel
import ServerCore
import Testing
import WireProtocol

@testable import ServerStore

@Suite struct StorageTests {
  private func paired(_ folder: StoreFolder) throws -> (ServerDatabase, WorkspaceID) {
    let database = try folder.open()
    let workspace = try database.addPairingCode(
      hash: [1], for: Sample.proposal("default"), expiresAt: .max)
    #expect(
      try database.redeem(Sample.redemption(code: [1]))
        == .granted(workspace: workspace, workspaceName: "default"))
    return (database, workspace)
  }

  @Test func everythingIsThereAfterReopening() throws {
    let folder = try StoreFolder()
    let (database, workspace) = try paired(folder)
    let entries = try database.write(2, to: workspace)
    var batch = CommitBatch()
    batch.touches = [
      DeviceTouch(
        workspace: workspace, device: Sample.device, name: "renamed", seenLogPosition: 2,
        wallMilliseconds: 99)
    ]
    try database.commitKnowingMarks(batch)
    let snapshot = StoredSnapshot(prefix: entries[1].prefix, bytes: [1, 2])
    _ = try database.save(snapshot, of: workspace, truncatingBefore: 2)
    try database.close()

    let again = try folder.open()
    let header = try #require(try again.header(of: workspace))
    #expect(header.name == "default")
    #expect(header.firstChain == Sample.proposal("default").firstChain)
    #expect(header.head == entries[1].prefix)
    #expect(
      header.devices == [
        DeviceRecord(id: Sample.device, name: "renamed", seenLogPosition: 2, lastSeenAt: 99)
      ])
    #expect(try again.latestSnapshot(of: workspace, notBehind: 2) == snapshot)
    #expect(try again.entries(of: workspace, after: 0, limit: 9, bytesMax: .max) == entries)
    #expect(try again.token(hash: [7, 7])?.workspace == workspace)
    #expect(try again.devices(inWorkspaceNamed: "default").first?.lastSeenAt == 99)
  }

  @Test(arguments: Intervention.allCases)
  func leasesAndDispatchesAreThereAfterReopening(intervention: Intervention) throws {
    let folder = try StoreFolder()
    let (database, workspace) = try paired(folder)
    let holder = LeaseHolder(device: Sample.device, store: StoreID(rawValue: .max))
    let first = Lease(session: try SessionID("a"), token: Fence.tokenMax, holder: holder)
    let second = Lease(session: try SessionID("b"), token: 2, holder: nil)
    let message = MessageID(high: .max, low: 1)
    func records(_ leases: [Lease], attempt: UInt16) -> AuthorityRecords {
      AuthorityRecords(
        leases: leases,
        dispatches: [
          Dispatch(
            message: message, session: first.session, holder: holder, token: 1,
            attempt: attempt, request: .max, content: .max - 1, milliseconds: 7,
            intervention: intervention)
        ])
    }
    var batch = CommitBatch()
    batch.records = [
      (
        workspace,
        records([first, Lease(session: second.session, token: 1, holder: holder)], attempt: 1)
      )
    ]
    try database.commitKnowingMarks(batch)
    batch.records = [(workspace, records([second], attempt: .max))]
    try database.commitKnowingMarks(batch)
    try database.close()

    let header = try #require(try folder.open().header(of: workspace))
    #expect(
      Authority(header.authority, uptime: 0, wall: 0)
        .stored == records([first, second], attempt: .max))
  }

  @Test func verdictsAreKeptForSevenDays() throws {
    let folder = try StoreFolder()
    let (database, workspace) = try paired(folder)
    func record(_ number: UInt64, at time: Int64) throws -> VerdictRecord {
      VerdictRecord(
        request: RequestID(high: number, low: .max), session: try SessionID("a"),
        given: GivenVerdict(
          verdict: .answered, device: Sample.device, text: "nul \u{0} too",
          digest: number == 3 ? ContentHash(String(repeating: "a0", count: 32)) : nil),
        milliseconds: time)
    }
    let records = try [
      record(1, at: 5), record(2, at: 6), record(3, at: 5 + Authority.verdictMilliseconds),
      record(4, at: 6 + Authority.verdictMilliseconds),
    ]
    var batch = CommitBatch()
    for record in records {
      batch.records = [(workspace, AuthorityRecords(verdicts: [record]))]
      try database.commitKnowingMarks(batch)
    }
    try database.close()
    let header = try #require(try folder.open().header(of: workspace))
    #expect(
      Authority(header.authority, uptime: 0, wall: 0).stored
        == AuthorityRecords(verdicts: Array(records.dropFirst())))
  }

  @Test func workspacesDoNotSeeEachOther() throws {
    let folder = try StoreFolder()
    let (database, first) = try paired(folder)
    let second = try database.addPairingCode(
      hash: [2], for: Sample.proposal("other", 2), expiresAt: .max)
    let one = try database.write(2, to: first)
    let other = try database.write(1, to: second)
    _ = try database.save(
      StoredSnapshot(prefix: one[1].prefix, bytes: [9]), of: first, truncatingBefore: 2)
    #expect(try database.header(of: first)?.head == one[1].prefix)
    #expect(try database.header(of: second)?.head == other[0].prefix)
    #expect(try database.entries(of: second, after: 0, limit: 9, bytesMax: .max) == other)
    #expect(try database.chain(of: second, at: 1) != database.chain(of: first, at: 1))
    #expect(try database.header(of: second)?.devices.isEmpty == true)
    #expect(try database.latestSnapshot(of: second, notBehind: .max >> 1) == nil)
    #expect(try database.header(of: WorkspaceID(high: 4, low: 4)) == nil)
  }

  @Test func commitIsAllOrNothing() throws {
    let folder = try StoreFolder()
    let (database, workspace) = try paired(folder)
    let head = try #require(try database.header(of: workspace)).head
    let entry = Sample.log(1, behind: head)[0]
    var batch = CommitBatch()
    batch.appends = [(workspace, entry), (workspace, entry)]
    #expect(throws: StorageFault.self) { try database.commitKnowingMarks(batch) }
    #expect(try database.header(of: workspace)?.head == head)
    #expect(try database.entries(of: workspace, after: 0, limit: 9, bytesMax: .max).isEmpty)
  }

  @Test func fullDiskIsDistinguishedAndNothingIsStored() throws {
    let folder = try StoreFolder()
    let (database, workspace) = try paired(folder)
    try database.queue.inDatabase { db in
      let pages = try Int.fetchOne(db, sql: "PRAGMA page_count") ?? 0
      try db.execute(sql: "PRAGMA max_page_count = \(pages)")
    }
    let head = try #require(try database.header(of: workspace)).head
    let delta = [UInt8](repeating: 1, count: 100_000)
    var batch = CommitBatch()
    let entry = LogEntry(prefix: head.appending(delta), content: .delta(delta))
    batch.appends = [(workspace, entry)]
    do {
      try database.commitKnowingMarks(batch)
      Issue.record("a full disk accepted a batch")
    } catch {
      #expect(error.code == .full)
    }
    #expect(try database.header(of: workspace)?.head == head)
    try database.queue.inDatabase { try $0.execute(sql: "PRAGMA max_page_count = 1000000") }
    try database.commitKnowingMarks(batch)
    #expect(try database.header(of: workspace)?.head.position == 1)
  }

  @Test func codesWorkOnceExpireAndDieOfWrongGuesses() throws {
    let folder = try StoreFolder()
    let database = try folder.open()
    let proposal = Sample.proposal("default")
    _ = try database.addPairingCode(hash: [1, 1, 1], for: proposal, expiresAt: Sample.now + 10)
    #expect(try database.redeem(Sample.redemption(code: [1, 1, 1], at: Sample.now + 10)) == .wrong)
    for _ in 0..<4 { #expect(try database.redeem(Sample.redemption(code: [1, 1, 9])) == .wrong) }
    guard case .granted = try database.redeem(Sample.redemption(code: [1, 1, 1])) else {
      Issue.record("four wrong guesses killed the code")
      return
    }
    #expect(try database.redeem(Sample.redemption(code: [1, 1, 1])) == .wrong)
    _ = try database.addPairingCode(hash: [2, 2, 2], for: proposal, expiresAt: .max)
    _ = try database.addPairingCode(hash: [2, 3, 2], for: proposal, expiresAt: .max)
    for _ in 0..<5 { _ = try database.redeem(Sample.redemption(code: [2, 2, 9])) }
    #expect(try database.redeem(Sample.redemption(code: [2, 2, 2])) == .exhausted)
    // The guesses do not affect codes of other names.
    guard case .granted = try database.redeem(Sample.redemption(code: [2, 3, 2])) else {
      Issue.record("wrong guesses killed a code of another name")
      return
    }
  }

  @Test func pairingAgainReplacesTheToken() throws {
    let folder = try StoreFolder()
    let (database, workspace) = try paired(folder)
    _ = try database.addPairingCode(hash: [2], for: Sample.proposal("default"), expiresAt: .max)
    _ = try database.redeem(Sample.redemption(code: [2], token: [8, 8]))
    #expect(try database.token(hash: [7, 7]) == nil)
    #expect(try database.token(hash: [8, 8])?.workspace == workspace)
    #expect(try database.devices(inWorkspaceNamed: nil).count == 1)
  }

  @Test func deviceBeyondTheLimitIsRefused() throws {
    let folder = try StoreFolder()
    let (database, _) = try paired(folder)
    _ = try database.addPairingCode(hash: [2], for: Sample.proposal("default"), expiresAt: .max)
    let second = DeviceID(high: 8, low: 8)
    #expect(
      try database.redeem(Sample.redemption(code: [2], device: second, token: [8], devicesMax: 1))
        == .tooManyDevices)
    guard
      case .granted = try database.redeem(
        Sample.redemption(code: [2], device: second, token: [8], devicesMax: 2))
    else {
      Issue.record("the second of two devices was refused")
      return
    }
  }

  @Test func revocationByAnotherProcessIsNoticed() throws {
    let folder = try StoreFolder()
    let (database, workspace) = try paired(folder)
    let token = ConnectedToken(workspace: workspace, device: Sample.device, hash: [7, 7])
    #expect(try database.lapsedAccess(among: [token]).tokens.isEmpty)
    let other = try folder.open(.administration)
    try other.revoke(Sample.device, in: workspace, at: 5)
    #expect(try database.lapsedAccess(among: [token]).tokens == [token])
    #expect(try database.token(hash: [7, 7])?.isRevoked == true)
    #expect(try database.header(of: workspace)?.devices.isEmpty == true)
    #expect(try database.devices(inWorkspaceNamed: nil).map(\.revokedAt) == [5])
  }

  @Test func revocationIsNoticedOfADeviceThatCameAfterTheLook() throws {
    let folder = try StoreFolder()
    let (database, workspace) = try paired(folder)
    _ = try database.addPairingCode(hash: [2], for: Sample.proposal("default"), expiresAt: .max)
    let second = DeviceID(high: 8, low: 8)
    _ = try database.redeem(Sample.redemption(code: [2], device: second, token: [8, 8]))
    let first = ConnectedToken(workspace: workspace, device: Sample.device, hash: [7, 7])
    let late = ConnectedToken(workspace: workspace, device: second, hash: [8, 8])
    #expect(try database.lapsedAccess(among: [first]).tokens.isEmpty)
    // It authenticates; before it is among the connected devices, it is revoked, and the others are
    // looked up.
    #expect(try database.token(hash: [8, 8])?.isRevoked == false)
    let other = try folder.open(.administration)
    try other.revoke(second, in: workspace, at: 5)
    #expect(try database.lapsedAccess(among: [first]).tokens.isEmpty)
    #expect(try database.lapsedAccess(among: [first, late]).tokens == [late])
    // Reported again as long as it is connected.
    #expect(try database.lapsedAccess(among: [first, late]).tokens == [late])
  }

  @Test func revocationIsNoticedOfADeviceThatIsAway() throws {
    let folder = try StoreFolder()
    let (database, workspace) = try paired(folder)
    _ = try database.addPairingCode(hash: [2], for: Sample.proposal("default"), expiresAt: .max)
    let away = DeviceID(high: 8, low: 8)
    _ = try database.redeem(Sample.redemption(code: [2], device: away, token: [8, 8]))
    let token = ConnectedToken(workspace: workspace, device: Sample.device, hash: [7, 7])
    #expect(try database.lapsedAccess(among: [token]).devices == [workspace: []])
    try folder.open(.administration).revoke(away, in: workspace, at: 5)
    #expect(
      try database.lapsedAccess(among: [token])
        == LapsedAccess(
          devices: [workspace: [away]], quotas: [workspace: WorkspaceQuota()]))
    #expect(try database.lapsedAccess(among: [token]) == LapsedAccess(), "it was reported once")
  }

  @Test func tokenThatPairingReplacedIsNoticed() throws {
    let folder = try StoreFolder()
    let (database, workspace) = try paired(folder)
    _ = try database.addPairingCode(hash: [2], for: Sample.proposal("default"), expiresAt: .max)
    let token = ConnectedToken(workspace: workspace, device: Sample.device, hash: [7, 7])
    #expect(try database.lapsedAccess(among: [token]).tokens.isEmpty)
    _ = try database.redeem(Sample.redemption(code: [2], token: [8, 8]))
    #expect(try database.lapsedAccess(among: [token]).tokens == [token])
  }

  /// The server continues with the other workspaces only if the store reports this.
  @Test(arguments: [
    "INSERT INTO leases (workspace, session, token) SELECT number, char(7), 1 FROM workspaces",
    """
    INSERT INTO dispatches (workspace, message, session, device, store, token, attempt,
      request, content, let_out_at, intervention)
    SELECT number, x'01', 's', x'02', 1, 1, 1, 1, 1, 1, 0 FROM workspaces
    """,
  ])
  func rowThatCannotBeReadIsDamage(sql: String) throws {
    let folder = try StoreFolder()
    let (database, workspace) = try paired(folder)
    try database.write { db in
      try db.execute(sql: "PRAGMA ignore_check_constraints = ON")
      try db.execute(sql: sql)
    }
    let fault = #expect(throws: StorageFault.self) { try database.header(of: workspace) }
    #expect(fault?.code == .corrupt, "\(String(describing: fault))")
  }

  @Test func workspaceOfTheSameNameIsMadeOnce() throws {
    let folder = try StoreFolder()
    let database = try folder.open()
    let first = try database.addPairingCode(hash: [1], for: Sample.proposal("a", 1), expiresAt: 1)
    let again = try database.addPairingCode(hash: [2], for: Sample.proposal("a", 2), expiresAt: 1)
    #expect(first == again)
    #expect(try database.hasWorkspace(named: "a"))
    #expect(try !database.hasWorkspace(named: "b"))
  }

  /// `status` shows the others; the log reports that the workspace cannot be read.
  @Test func aDamagedDeviceHidesNoOther() throws {
    let database = try StoreFolder().open()
    let id = try database.addPairingCode(
      hash: [1], for: Sample.proposal("default"), expiresAt: .max)
    _ = try database.redeem(Sample.redemption(code: [1]))
    try database.write {
      try $0.execute(
        sql: """
          PRAGMA ignore_check_constraints = ON;
          INSERT INTO devices (workspace, id, name, paired_at) VALUES (1, x'01', 'broken', 0);
          PRAGMA ignore_check_constraints = OFF
          """)
    }
    #expect(try database.devices(inWorkspaceNamed: nil).count == 1)
    guard case .failed(let fault) = database.perform(.load(id)) else {
      Issue.record("a damaged workspace was read")
      return
    }
    #expect(fault.code == .corrupt)
  }
}
