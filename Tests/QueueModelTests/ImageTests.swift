import QueueModel
import SequenceCRDT
import SyncTestSupport
import Testing

/// Snapshots: what can be restored, what is refused, and whether the restored workspace behaves the
/// same.
struct ImageTests {
  private func device() throws -> TestDevice {
    var device = TestDevice(1)
    try device.perform(.send("hello world", as: 1, in: "s"))
    try device.perform(.edit(.numbered(1), content: "hello", base: nil))
    try device.perform(.send("second", as: 2, in: "s", .urgent))
    try device.perform(.send("third", as: 3, in: "t"))
    try device.perform(.move([.numbered(3)], to: .before(.numbered(1))))
    try device.perform(.cancel([.numbered(2)]))
    try device.perform(.pause(.named("t"), reason: "reason"))
    return device
  }

  @Test func aRestoredWorkspaceShowsTheSameAndGoesOnTheSame() throws {
    let first = try device()
    var second = first
    try second.restoreFromImage()
    #expect(second.workspace.image().isExactlyEqual(to: first.workspace.image()))
    #expect(second.workspace.dump() == first.workspace.dump())
    #expect(second.workspace.vector == first.workspace.vector)
    var results: [WorkspaceImage] = []
    for device in [first, second] {
      var copy = device
      try copy.perform(.restore(.numbered(2)))
      try copy.perform(.edit(.numbered(1), content: "hello there", base: nil))
      try copy.perform(.move([.numbered(1)], to: .position(1)))
      results.append(copy.workspace.image())
    }
    #expect(results[0].isExactlyEqual(to: results[1]))
  }

  /// Anchors are slots: inserting next to a slot whose element moved away or was withdrawn gives
  /// the same on a restored workspace as on one that saw every operation.
  @Test func insertionsNextToDeadSlotsAgreeAfterARestore() throws {
    var author = TestDevice(1)
    for number in UInt64(1)...4 {
      try author.perform(.send("text", as: number, in: "s", requeues: false))
    }
    try author.perform(.move([.numbered(1)], to: .position(3)))
    try author.perform(.cancel([.numbered(3)]))
    var replayed = TestDevice(2)
    try replayed.merge(author.made)
    var restored = TestDevice(3)
    try restored.merge(author.made)
    try restored.restoreFromImage()
    var concurrent = author
    try concurrent.perform(.move([.numbered(4)], to: .after(.numbered(2))))
    try replayed.perform(.move([.numbered(2)], to: .position(3)))
    try restored.perform(.move([.numbered(2)], to: .after(.numbered(1))))
    let all = concurrent.made + replayed.made + restored.made
    try replayed.merge(all)
    try restored.merge(all)
    try concurrent.merge(all)
    try restored.restoreFromImage()
    #expect(replayed.workspace.image() == concurrent.workspace.image())
    #expect(restored.workspace.image() == concurrent.workspace.image())
    #expect(SlowWorkspace(all).state().imageDifferences(from: restored.workspace) == [])
  }

  @Test func theEmptyWorkspaceHasAnEmptyImage() throws {
    #expect(Workspace().image() == WorkspaceImage())
    #expect(try Workspace(image: WorkspaceImage()).image() == WorkspaceImage())
  }

  /// Each change contradicts the rest of the image in one place.
  @Test func imagesThatContradictThemselvesAreRefused() throws {
    let good = try device().workspace.image()
    let stranger = OperationID(replica: ReplicaID(rawValue: 77), seq: 1)
    let changes: [(String, (inout WorkspaceImage) -> Void)] = [
      ("no replicas", { $0.replicas = [] }),
      ("replica 0", { $0.replicas[0].id = ReplicaID(rawValue: 0) }),
      ("sequence number 0", { $0.replicas[0].seq = 0 }),
      ("too few known", { $0.replicas[0].seq = 3 }),
      ("session twice", { $0.sessions.append($0.sessions[0]) }),
      ("session without reference", { $0.sessions[0].references = [] }),
      ("slot run empty", { $0.sessions[0].slots[0].length = 0 }),
      ("slot run huge", { $0.sessions[0].slots[0].length = .max }),
      ("slot run negative", { $0.sessions[0].slots[0].length = .min }),
      ("slot unknown", { $0.sessions[0].slots[0].id = stranger }),
      ("slot origin unknown", { $0.sessions[0].slots[0].origins.left = stranger }),
      ("thread slots missing", { $0.threadSlots = [] }),
      ("thread place unknown", { $0.sessions[0].threadPosition?.slot = stranger }),
      (
        "two threads at one place",
        { $0.sessions[1].threadPosition = $0.sessions[0].threadPosition }
      ),
      ("message twice", { $0.sessions[1].messages.append($0.sessions[0].messages[0]) }),
      ("messages out of order", { $0.sessions[0].messages.reverse() }),
      ("message in the wrong session", { $0.sessions[1].messages = [$0.sessions[0].messages[0]] }),
      ("message without addition", { $0.sessions[0].messages[0].additions = [] }),
      ("message place unknown", { $0.sessions[0].messages[0].position.slot = stranger }),
      ("text too short", { $0.sessions[0].messages[0].additions[0].text.removeLast() }),
      ("text too long", { $0.sessions[0].messages[0].additions[0].text += "x" }),
      ("text run huge", { $0.sessions[0].messages[0].additions[0].runs[0].slots.length = .max }),
      ("tag unknown", { $0.sessions[0].messages[0].tags[0].tags[0].id = stranger }),
      ("register writer unknown", { $0.sessions[0].messages[0].registers[0].writer = stranger }),
    ]
    for (name, change) in changes {
      var bad = good
      change(&bad)
      #expect(bad != good, "\(name)")
      let error = #expect(throws: MergeError.self, "\(name)") { try Workspace(image: bad) }
      guard let error, case .invalidImage = error else {
        Issue.record("\(name): refused as \(String(describing: error))")
        continue
      }
    }
  }
}
