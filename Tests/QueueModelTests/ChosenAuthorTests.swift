import QueueModel
import SequenceCRDT
import SyncTestSupport
import Testing

/// The author of a text is who wrote it, not who chose it or saved the same text.
@Suite struct ChosenAuthorTests {
  private static let id = EditionTests.id

  @Test func aChosenTextStaysItsAuthors() throws {
    var pair = try EditionTests.Pair("Bump", "Bump to 1.3", "Bump to 2.0")
    try pair.one.perform(.edit(Self.id, content: "Bump to 2.0", base: nil))
    try pair.other.perform(.edit(Self.id, content: "Bump to 3.0", base: nil))
    try pair.meet()
    let versions = try pair.one.workspace.message(Self.id).versions
    #expect(Set(versions.map(\.text)) == ["Bump to 2.0", "Bump to 3.0"])
    #expect(versions.map(\.device) == ["device 2", "device 2"])
  }

  @Test func aUserWhoChoosesTheirOwnTextIsItsAuthor() throws {
    var pair = try EditionTests.Pair("Bump", "Bump to 1.3", "Bump to 2.0")
    try pair.one.perform(.edit(Self.id, content: "Bump to 1.3", base: nil))
    try pair.other.perform(.edit(Self.id, content: "Bump to 3.0", base: nil))
    try pair.meet()
    #expect(
      try Set(pair.one.workspace.message(Self.id).versions.map(\.device)) == [
        "device 1", "device 2",
      ])
  }

  /// An undo has the same effect whether another device saved that text in the same millisecond or
  /// later.
  @Test(arguments: [false, true]) func twoSavesInOneMillisecondAreTwo(_ undoesOther: Bool) throws {
    func result(apart: Int64) throws -> String {
      var one = TestDevice(1)
      try one.perform(.send("Bump", as: 1, in: "s", requeues: false))
      var other = TestDevice(2, now: one.now)
      try other.merge(one.made)
      other.now = one.now + apart
      let sent = one.made.count
      try one.perform(.edit(Self.id, content: "Bump to 2.0", base: nil))
      try other.perform(.edit(Self.id, content: "Bump to 2.0", base: nil))
      let made = (Array(one.made[sent...]), other.made)
      try one.merge(made.1)
      try other.merge(made.0)
      var device = undoesOther ? other : one
      do {
        try device.perform(.undo)
      } catch {
        return "\(error)"
      }
      let message = try device.workspace.message(Self.id)
      return "\(message.content), \(message.isMerged), \(message.versions.map(\.device))"
    }
    #expect(try result(apart: 0) == result(apart: 10))
  }

  /// Nothing is left of a merged text: it cannot be chosen, and the answer names what can be.
  @Test func aBlankMergedTextIsNotAChoice() throws {
    let pair = try EditionTests.Pair("alpha beta", "alpha", "beta")
    let message = try pair.one.workspace.message(Self.id)
    try #require(message.isMerged && message.content.allSatisfy(\.isWhitespace), "\(message)")
    #expect(throws: QueueError.mergedTextBlank(id: Self.id.description)) {
      try message.text(choosing: .merged)
    }
    #expect(try message.text(choosing: .version(1)) == "alpha")
  }
}
