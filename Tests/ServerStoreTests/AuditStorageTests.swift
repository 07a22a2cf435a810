import QueueModel
import ServerCore
import Testing

@testable import ServerStore

/// Events about access, as rows.
@Suite struct AuditStorageTests {
  private static let first = WorkspaceID(high: 1, low: 1)
  private static let second = WorkspaceID(high: 1, low: 2)

  private func entries(
    _ count: Int, _ event: AuditEntry.Event, of workspace: WorkspaceID?
  ) -> [AuditEntry] {
    (0..<count).map {
      AuditEntry(at: Int64($0), event: event, workspace: workspace, source: "192.0.2.1")
    }
  }

  @Test func noClientDisplacesEntriesOfAnotherWorkspace() throws {
    let folder = try StoreFolder()
    let database = try folder.open()
    try database.record(entries(1, .joined, of: Self.first))
    try database.record(entries(AuditEntry.keptOfEachKind + 1, .joined, of: Self.second))
    #expect(try database.audit(of: Self.first, limit: 10).count == 1)
    let kept = try database.audit(of: Self.second, limit: .max)
    #expect(kept.count == AuditEntry.keptOfEachKind)
    #expect(kept.first?.at == 1, "the oldest goes first")
  }

  @Test func strangersDisplaceOnlyStrangers() throws {
    let folder = try StoreFolder()
    let database = try folder.open()
    try database.record(entries(1, .refused, of: Self.first) + entries(1, .paired, of: Self.first))
    try database.record(entries(AuditEntry.keptOfEachKind + 5, .refused, of: nil))
    let all = try database.audit(of: nil, limit: .max)
    #expect(all.count == AuditEntry.keptOfEachKind + 2)
  }

  /// A device may ask for codes for years.
  @Test func codesOfDevicesDoNotPileUp() throws {
    let folder = try StoreFolder()
    let database = try folder.open()
    let workspace = try database.addPairingCode(
      hash: [1], for: Sample.proposal("default"), expiresAt: .max)
    _ = try database.redeem(Sample.redemption(code: [1]))
    try database.record(entries(AuditEntry.keptOfEachKind, .code, of: workspace))
    let proposal = CodeProposal(
      hash: [2], workspace: workspace, device: Sample.device, role: .author,
      accessMilliseconds: nil, wallMilliseconds: Sample.now,
      expiresAt: Sample.now + PairingCode.lifetimeMilliseconds, recentMax: 2, source: "192.0.2.1")
    #expect(try database.addCode(proposal) == .added)
    let codes = try database.audit(of: workspace, limit: .max).filter { $0.event == .code }
    #expect(codes.count == AuditEntry.keptOfEachKind)
    #expect(codes.last?.device == Sample.device)
  }
}
