import DispatchAuthority
import QueueModel
import ServerCore
import Testing
import WireProtocol

@testable import ServerStore

/// The marks of workspaces: a commit that knows another one stores nothing.
@Suite struct MarkTests {
  let folder: StoreFolder
  let database: ServerDatabase
  let workspace: WorkspaceID
  let other: WorkspaceID

  init() throws {
    folder = try StoreFolder()
    database = try folder.open()
    workspace = try database.addPairingCode(
      hash: [1], for: Sample.proposal("default"), expiresAt: .max)
    other = try database.addPairingCode(
      hash: [2], for: Sample.proposal("other", 2), expiresAt: .max)
    _ = try database.redeem(Sample.redemption(code: [1]))
  }

  private func mark(_ id: WorkspaceID? = nil) throws -> WorkspaceMark {
    try #require(try database.header(of: id ?? workspace)).mark
  }

  /// Something of every kind, in both workspaces.
  private func batch() throws -> CommitBatch {
    var batch = CommitBatch()
    for id in [workspace, other] {
      let head = try #require(try database.header(of: id)).head
      batch.appends += Sample.log(2, behind: head).map { (id, $0) }
      let lease = Lease(session: try SessionID("s"), token: 7, holder: nil)
      batch.records.append((id, AuthorityRecords(leases: [lease])))
      var changes = InboxChanges()
      changes.preferences = [Sample.device: NotificationPreferences()]
      batch.inboxes.append((id, changes))
      batch.touches.append(
        DeviceTouch(
          workspace: id, device: Sample.device, name: "desk", seenLogPosition: 2,
          wallMilliseconds: 9))
    }
    return batch
  }

  @Test func eachCommitLeavesAFreshMark() throws {
    var seen = [try mark()]
    for _ in 0..<5 {
      var batch = try batch()
      batch.marks = [workspace: try mark(), other: try mark(other)]
      let result = try database.commit(batch)
      #expect(result.lost.isEmpty)
      #expect(Set(result.marks.keys) == [workspace, other])
      #expect(result.marks[workspace] == (try mark()))
      #expect(try database.token(hash: [7, 7])?.mark == (try mark()))
      seen.append(try mark())
    }
    #expect(Set(seen).count == 6)
    let known = try mark()
    try database.close()
    let again = try folder.open()
    #expect(try again.take(workspace)?.mark == known, "no other process can have served it")
  }

  @Test func aCommitWithAnotherMarkStoresNothingOfThatWorkspace() throws {
    let before = try #require(try database.header(of: workspace))
    var batch = try batch()
    batch.marks = [workspace: WorkspaceMark(rawValue: before.mark.rawValue ^ 1)]
    batch.marks[other] = try mark(other)
    let result = try database.commit(batch)
    #expect(result.lost == [workspace: .changedElsewhere])
    #expect(Set(result.marks.keys) == [other])
    #expect(try database.header(of: workspace) == before)
    #expect(try database.header(of: other)?.head.position == 2)
    #expect(try database.header(of: other)?.authority.leases.count == 1)
    // Nor of one whose mark it does not know at all.
    batch.marks[other] = try mark(other)
    batch.marks[workspace] = nil
    batch.appends.removeAll { $0.workspace == other }
    #expect(try database.commit(batch).lost.isEmpty)
    #expect(try database.header(of: workspace) == before)
  }

  @Test func looksAndTouchesChangeNoMark() throws {
    let known = try mark()
    var batch = CommitBatch()
    batch.marks = [workspace: known]
    #expect(try database.commit(batch) == CommitResult())
    batch.touches = [
      DeviceTouch(
        workspace: workspace, device: Sample.device, name: "desk", seenLogPosition: 0,
        wallMilliseconds: 9)
    ]
    #expect(try database.commit(batch) == CommitResult())
    #expect(try mark() == known)
    #expect(try database.header(of: workspace)?.devices.first?.name == "desk")
    _ = try database.write(1, to: workspace)
    #expect(try database.commit(batch).lost == [workspace: .changedElsewhere])
    #expect(try database.marks(otherThan: [workspace: known]) == [workspace: mark()])
    #expect(try database.marks(otherThan: [workspace: mark()]).isEmpty)
  }

  @Test func aDeletedWorkspaceIsLost() throws {
    var batch = try batch()
    batch.marks = [workspace: try mark(), other: try mark(other)]
    try database.delete(
      other,
      noting: AuditEntry(at: 0, event: .deleted, workspace: other, detail: "test"))
    #expect(try database.commit(batch).lost == [other: .deleted])
    #expect(try database.header(of: workspace)?.head.position == 2)
  }
}
