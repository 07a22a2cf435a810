import SequenceCRDT
import SyncTestSupport
import Testing

@testable import QueueModel

/// Texts that are packed while they are not edited.
struct MessageTextTests {
  private func text(_ number: UInt64, on device: TestDevice) throws -> MessageText {
    try #require(device.workspace.messageStates[.numbered(number)]?.additions.first).text
  }

  /// Without the numbers of units, which depend on the order of arrival.
  private func unnumbered(_ runs: [RunSequence.Run]) -> [RunSequence.Run] {
    runs.map { run in
      var run = run
      run.contentStart = 0
      return run
    }
  }

  @Test func aTextIsPlainUntilItIsEdited() throws {
    var device = TestDevice(1)
    try device.perform(.send("as it was sent 👩‍👩‍👧", as: 1, in: "s"))
    guard case .plain(_, "as it was sent 👩‍👩‍👧") = try text(1, on: device) else {
      Issue.record("a text that nobody edited has structure")
      return
    }
    try device.perform(.edit(.numbered(1), content: "as it is now", base: nil))
    #expect(try text(1, on: device).isOpen)
    try device.workspace.checkInvariants()
  }

  @Test func finishedMessagesArePackedAndReadAgain() throws {
    var device = TestDevice(1)
    try device.perform(.send("one two three", as: 1, in: "s"))
    try device.perform(.edit(.numbered(1), content: "one 2 three", base: nil))
    let open = try text(1, on: device).content
    try device.perform(.cancel([.numbered(1)]))
    let packed = try text(1, on: device)
    #expect(!packed.isOpen && packed.string == "one 2 three")
    #expect(unnumbered(packed.canonicalRuns) == unnumbered(open.sequence.canonicalRuns))
    try device.perform(.restore(.numbered(1)))
    try device.perform(.edit(.numbered(1), content: "one 2 three 4", base: nil))
    #expect(device.workspace.contents("s") == ["one 2 three 4"])
    try device.workspace.checkInvariants()
  }

  @Test func undoneTextsArePackedToo() throws {
    var device = TestDevice(1)
    try device.perform(.send("one", as: 1, in: "s"))
    try device.perform(.edit(.numbered(1), content: "one two", base: nil))
    try device.perform(.cancel([.numbered(1)]))
    try device.perform(.undo)
    try device.perform(.insertText(.numbered(1), at: 0, text: ">"))
    #expect(try text(1, on: device).isOpen)
    try device.perform(.undo)
    try device.perform(.redo)
    try device.perform(.undo)
    try device.perform(.undo)
    try device.perform(.undo)
    #expect(device.workspace.status(1) == .cancelled)
    #expect(try !text(1, on: device).isOpen)
    try device.workspace.checkInvariants()
  }

  /// Others' typing in a message that was cancelled meanwhile is merged into the packed text.
  @Test func editsOfOthersReachAPackedText() throws {
    var device = TestDevice(1)
    try device.perform(.send("one two", as: 1, in: "s"))
    var peer = TestDevice(2)
    try peer.merge(device.made)
    for offset in 0..<5 { try peer.perform(.insertText(.numbered(1), at: offset, text: "-")) }
    try device.perform(.cancel([.numbered(1)]))
    try device.merge(peer.made)
    #expect(try text(1, on: device).string == "-----one two")
    #expect(try !text(1, on: device).isOpen)
    try peer.merge(device.made)
    #expect(device.workspace.image().isExactlyEqual(to: peer.workspace.image()))
    try device.workspace.checkInvariants()
  }

  @Test(arguments: TestSeeds.list(standard: 40))
  func packingDoesNotChangeTypedText(seed: UInt64) throws {
    var generator = SeededGenerator(seed: seed)
    var content = TextContent()
    var units: [OperationID] = []
    var next: [UInt64: UInt32] = [:]
    for _ in 0..<60 {
      let replica = generator.pick([3, 1 << 63, 70_000] as [UInt64]) ?? 3
      let id = OperationID(
        replica: ReplicaID(rawValue: replica),
        seq: next[replica, default: 1] + (generator.chance(30) ? 100_000 : 0))
      let text = String(repeating: generator.chance(50) ? "x" : "ü", count: 1 + generator.below(4))
      let place = generator.below(units.count + 1)
      let left = place > 0 ? units[place - 1] : nil
      // Sometimes not the right neighbour, as if the author did not know it yet.
      let behind = place + (generator.chance(20) ? generator.below(5) : 0)
      let right = behind < units.count ? units[behind] : nil
      try content.insert(id: id, text: text, left: left, right: right)
      next[replica] = id.seq + UInt32(text.unicodeScalars.count)
      units = content.sequence.runs.flatMap { run in (0..<run.length).map(run.unitID) }
      if generator.chance(30), let first = generator.pick(units) {
        try content.delete(first: first, count: 1)
      }
    }
    let runs = unnumbered(content.sequence.canonicalRuns)
    let packed = PackedText(runs: runs, text: content.text)
    #expect(unnumbered(packed.runs) == runs && packed.text == content.text)
    let restored = try MessageText(runs: runs, text: content.text)
    #expect(!restored.isOpen && unnumbered(restored.canonicalRuns) == runs)
    #expect(restored.content.text == content.text)
  }
}
