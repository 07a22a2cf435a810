import QueueModel
import ServerCore
import Testing

@testable import ServerStore

/// Codes that devices requested, as rows.
@Suite struct DeviceCodeStorageTests {
  private static let second = DeviceID(high: 8, low: 8)
  private static let day: Int64 = 86_400_000

  /// A workspace with one device, which has access for this time.
  private func paired(
    _ folder: StoreFolder, as role: DeviceRole = .host, for milliseconds: Int64? = nil
  ) throws -> (ServerDatabase, WorkspaceID) {
    let database = try folder.open()
    let workspace = try database.addPairingCode(
      hash: [1], for: Sample.proposal("default"), expiresAt: .max, role: role,
      accessMilliseconds: milliseconds)
    _ = try database.redeem(Sample.redemption(code: [1]))
    return (database, workspace)
  }

  private func proposal(
    _ hash: [UInt8], in workspace: WorkspaceID, role: DeviceRole = .author,
    for milliseconds: Int64? = nil, at now: Int64 = Sample.now
  ) -> CodeProposal {
    CodeProposal(
      hash: hash, workspace: workspace, device: Sample.device, role: role,
      accessMilliseconds: milliseconds, wallMilliseconds: now,
      expiresAt: now + PairingCode.lifetimeMilliseconds, recentMax: 2, source: "192.0.2.1")
  }

  private func redeem(
    _ hash: [UInt8], as device: DeviceID = second, at now: Int64 = Sample.now,
    in database: ServerDatabase
  ) throws -> RedemptionOutcome {
    try database.redeem(Sample.redemption(code: hash, device: device, token: [8, 8], at: now))
  }

  @Test func aCodeGivesTheRoleAndSaysWhoLetIn() throws {
    let folder = try StoreFolder()
    let (database, workspace) = try paired(folder)
    #expect(try database.addCode(proposal([2], in: workspace)) == .added)
    try database.close()
    let again = try folder.open()
    #expect(
      try redeem([2], in: again)
        == .granted(
          workspace: workspace, workspaceName: "default", letInBy: Sample.device))
    #expect(try redeem([2], in: again) == .wrong, "it is used")
    let token = try #require(try again.token(hash: [8, 8]))
    #expect(token.device.role == .author && token.expiresAt == nil)
    let entries = try again.audit(of: nil, limit: 10)
    #expect(entries.contains { $0.event == .code && $0.device == Sample.device })
  }

  /// This holds for any request, and however late the code is used.
  @Test(
    arguments: [
      (nil, nil, nil), (nil, day, day + 1), (10 * day, nil, 10 * day), (10 * day, day, day + 1),
      (10 * day, 20 * day, 10 * day),
    ] as [(Int64?, Int64?, Int64?)])
  func accessEndsWithThatOfWhoLetIn(own: Int64?, asked: Int64?, given: Int64?) throws {
    let folder = try StoreFolder()
    let (database, workspace) = try paired(folder, for: own)
    #expect(try database.addCode(proposal([2], in: workspace, for: asked)) == .added)
    _ = try redeem([2], at: Sample.now + 1, in: database)
    #expect(try database.token(hash: [8, 8])?.expiresAt == given.map { Sample.now + $0 })
  }

  @Test func onlyAHostWithAccessGetsOneAndItsCodesDieWithIt() throws {
    for role in [DeviceRole.viewer, .author] {
      let folder = try StoreFolder()
      let (database, workspace) = try paired(folder, as: role)
      #expect(try database.addCode(proposal([2], in: workspace)) == .noAccess)
    }
    let folder = try StoreFolder()
    let (database, workspace) = try paired(folder, for: Self.day)
    let late = Sample.now + Self.day
    #expect(try database.addCode(proposal([2], in: workspace, at: late)) == .noAccess)
    #expect(try database.addCode(proposal([3], in: workspace, at: late - 1)) == .added)
    #expect(try redeem([3], at: late, in: database) == .wrong, "its own access has ended")
    #expect(try database.addCode(proposal([4], in: workspace)) == .added)
    try database.revoke(Sample.device, in: workspace, at: Sample.now)
    #expect(try redeem([4], in: database) == .wrong)
    #expect(try database.addCode(proposal([5], in: workspace)) == .noAccess)
  }

  @Test func aRevokedDeviceNeedsACodeOfTheServer() throws {
    let folder = try StoreFolder()
    let (database, workspace) = try paired(folder)
    _ = try database.addPairingCode(hash: [2], for: Sample.proposal("default"), expiresAt: .max)
    _ = try redeem([2], in: database)
    try database.revoke(Self.second, in: workspace, at: Sample.now)
    #expect(try database.addCode(proposal([3], in: workspace)) == .added)
    #expect(try redeem([3], in: database) == .revoked)
    #expect(try database.token(hash: [8, 8])?.isRevoked == true)
    _ = try database.addPairingCode(hash: [4], for: Sample.proposal("default"), expiresAt: .max)
    #expect(
      try redeem([4], in: database)
        == .granted(workspace: workspace, workspaceName: "default", wasRevoked: true))
  }

  /// No device takes the place of another one; the device that requested the code may renew its own
  /// token.
  @Test func aKnownDeviceIsNotLetInByAnother() throws {
    let folder = try StoreFolder()
    let (database, workspace) = try paired(folder)
    _ = try database.addPairingCode(hash: [2], for: Sample.proposal("default"), expiresAt: .max)
    _ = try redeem([2], in: database)
    #expect(try database.addCode(proposal([3], in: workspace, role: .viewer)) == .added)
    #expect(try redeem([3], in: database) == .known)
    #expect(try database.token(hash: [8, 8])?.device.role == .host)
    #expect(
      try database.redeem(
        Sample.redemption(code: [3], device: Sample.device, token: [9, 9], at: Sample.now))
        == .granted(workspace: workspace, workspaceName: "default", letInBy: Sample.device))
  }

  @Test func usedCodesCountUntilTheirTimeIsOver() throws {
    let folder = try StoreFolder()
    let (database, workspace) = try paired(folder)
    #expect(try database.addCode(proposal([2], in: workspace)) == .added)
    _ = try redeem([2], in: database)
    #expect(try database.addCode(proposal([3], in: workspace)) == .added)
    #expect(try database.addCode(proposal([4], in: workspace)) == .tooMany)
    let later = Sample.now + PairingCode.lifetimeMilliseconds
    #expect(try database.addCode(proposal([4], in: workspace, at: later)) == .added)
  }
}
