import SyncTestSupport
import Testing

@testable import QueueModel
@testable import SequenceCRDT

/// Letters typed one after the other are one change. Most are typed at its end, which is found
/// without analysing the text. The result is the same as for any two changes.
struct TypingJoinTests {
  private static let id = MessageID.numbered(1)
  private static let letters = ["a", "b", "é", "😀", "e\u{301}", "\n", "\r\n", "two words"]

  @Test(arguments: TestSeeds.list(standard: 10, from: 4_901))
  func joiningIsReplacing(seed: UInt64) throws {
    var generator = SeededGenerator(seed: seed)
    var device = TestDevice(1)
    try device.perform(.send("start of a text", as: 1, in: "s"))
    var whole: TextReversal?
    var (joined, apart) = (0, 0)
    for step in 0..<300 {
      let count = try #require(content(device)).sequence.visibleCount
      // Usually at the end of what was typed before.
      let end = whole.map { min($0.offset + $0.text.unicodeScalars.count, count) } ?? 0
      let place = generator.chance(75) ? end : generator.below(count + 1)
      let insert = generator.chance(65) || place == 0
      let start = insert ? place : max(place - 1 - generator.below(2), 0)
      let old = insert ? "" : try #require(content(device)).visibleText(in: start..<place)
      let new = insert ? generator.pick(TypingJoinTests.letters) ?? "a" : ""
      do throws(QueueError) {
        try device.perform(
          insert
            ? .insertText(TypingJoinTests.id, at: start, text: new)
            : .deleteText(TypingJoinTests.id, start..<place))
      } catch {
        continue
      }
      let text = try #require(content(device))
      let later = TextReversal(
        of: text, try #require(device.workspace.origin(of: TypingJoinTests.id)),
        in: start..<start + new.unicodeScalars.count, old: old)
      let found = whole?.joined(with: later, in: text)
      let expected = whole.flatMap { replaced($0, by: later, in: text) }
      #expect(found == expected, "seed \(seed) step \(step)")
      if found == nil { apart += 1 } else { joined += 1 }
      whole = generator.chance(3) ? later : found ?? later
    }
    #expect(joined > 50, "seed \(seed): \(joined) joined, \(apart) apart")
  }

  private func content(_ device: TestDevice) -> TextContent? {
    device.workspace.messageStates[TypingJoinTests.id]?.primary?.content
  }

  /// The same result, by undoing the text scalar by scalar.
  private func replaced(
    _ first: TextReversal, by later: TextReversal, in text: TextContent
  ) -> TextReversal? {
    func scalars(_ text: String) -> [Unicode.Scalar] { Array(text.unicodeScalars) }
    let (mine, its, between) = (scalars(first.text), scalars(later.text), scalars(later.old))
    let count = mine.count + scalars(first.old).count + its.count + between.count
    let start = min(first.offset, later.offset)
    let oldEnd = max(first.offset + mine.count, later.offset + between.count)
    let end = oldEnd - between.count + its.count
    guard count <= Limits.typingScalarsMax, end - start <= 4 * Limits.typingScalarsMax,
      end <= text.sequence.visibleCount
    else { return nil }
    var shown = scalars(text.text)[start..<end].map { $0 }
    let places = [
      (new: between, old: its, at: later.offset - start),
      (new: scalars(first.old), old: mine, at: first.offset - start),
    ]
    for (new, old, place) in places {
      guard place >= 0, place + old.count <= shown.count,
        shown[place..<place + old.count].elementsEqual(old)
      else { return nil }
      shown.replaceSubrange(place..<place + old.count, with: new)
    }
    return TextReversal(
      of: text, first.content, in: start..<end, old: String(String.UnicodeScalarView(shown)))
  }

  /// A letter far behind the beginning keeps the label, unless another device changed the beginning.
  @Test(arguments: TestSeeds.list(standard: 10, from: 4_971))
  func aLabelHasTheBeginningOfTheText(seed: UInt64) throws {
    var generator = SeededGenerator(seed: seed)
    var (device, other, checked) = (TestDevice(1), TestDevice(2), 0)
    try device.perform(
      .send(String(repeating: "begins so. ", count: 12), as: 1, in: "s"))
    for step in 0..<150 {
      if generator.chance(10), device.history.undoCount > 1 { _ = try? device.perform(.undo) }
      if generator.chance(10) { try device.restart() }
      if generator.chance(15) {
        _ = try other.merge(device.made)
        try other.perform(.insertText(TypingJoinTests.id, at: generator.below(40), text: "o"))
        _ = try device.merge(other.made)
      }
      let count = try #require(content(device)).sequence.visibleCount
      let place = generator.chance(70) ? min(61 + generator.below(20), count) : generator.below(40)
      let command: Command =
        generator.chance(75)
        ? .insertText(TypingJoinTests.id, at: place, text: generator.pick(["a", "é", "\n"]) ?? "a")
        : .deleteText(TypingJoinTests.id, place..<min(place + 1, count))
      guard let outcome = try? device.perform(command), !outcome.operations.isEmpty else {
        continue
      }
      let beginning = device.workspace.messageStates[TypingJoinTests.id]?.beginning
      #expect(device.history.undoLabel?.text == beginning, "seed \(seed) step \(step)")
      checked += 1
    }
    #expect(checked > 75, "seed \(seed)")
  }

  /// A label has the first line of a text, whatever the line ends are.
  @Test(arguments: TestSeeds.list(standard: 10, from: 4_951))
  func aLabelHasTheFirstLine(seed: UInt64) throws {
    var generator = SeededGenerator(seed: seed)
    for number in UInt64(1)...60 {
      let pieces = (0...generator.below(12)).map { _ in
        generator.pick(TypingJoinTests.letters) ?? ""
      }
      let text = "x" + pieces.joined() + "y"
      var device = TestDevice(1)
      try device.perform(.send(text, as: number, in: "s"))
      try device.perform(.insertText(.numbered(number), at: 0, text: "\n\n"))
      let shown = "\n\n" + text
      let line = String(shown.split(separator: "\n", maxSplits: 1).first ?? "")
      let beginning = device.workspace.messageStates[.numbered(number)]?.beginning
      if line.unicodeScalars.count < UndoLabel.textScalarsMax - 2 {
        #expect(beginning == line, "seed \(seed): \(text.debugDescription)")
      }
    }
  }
}
