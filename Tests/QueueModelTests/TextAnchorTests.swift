import Foundation
import QueueModel
import SequenceCRDT
import SyncTestSupport
import Testing

/// Typing at offsets, and places that stay while others type.
struct TextAnchorTests {
  private func device(_ text: String) throws -> TestDevice {
    var device = TestDevice(1)
    try device.perform(.send(text, as: 1, in: "s"))
    return device
  }

  private func text(_ device: TestDevice) throws -> String {
    try device.workspace.message(.numbered(1)).content
  }

  private func shown(_ device: TestDevice) throws -> ShownText {
    try device.workspace.shownText(of: .numbered(1))
  }

  @Test func typingInsertsAndDeletesAtScalarOffsets() throws {
    var device = try device("a👩‍👩‍👧z")
    try device.perform(.insertText(.numbered(1), at: 1, text: "é"))
    #expect(try text(device) == "aé👩‍👩‍👧z")
    // The family is five scalars; the middle one goes with its joiner.
    try device.perform(.deleteText(.numbered(1), 3..<5))
    #expect(try text(device) == "aé👩‍👧z")
    try device.perform(.insertText(.numbered(1), at: 6, text: "!"))
    #expect(try text(device) == "aé👩‍👧z!")
    #expect(try device.perform(.insertText(.numbered(1), at: 0, text: "")).notice == .unchanged)
    #expect(try device.perform(.deleteText(.numbered(1), 2..<2)).notice == .unchanged)
  }

  @Test func missingScalarsAreRefused() throws {
    var device = try device("text")
    let before = device.workspace.image()
    for offset in [-1, 5, .max, .min] {
      #expect(
        throws: QueueError.invalidTextRange(first: offset, last: offset, count: 4)
      ) { try device.perform(.insertText(.numbered(1), at: offset, text: "x")) }
    }
    for range in [-1..<2, 2..<5, 5..<5, Int.min..<Int.max] {
      #expect(
        throws: QueueError.invalidTextRange(
          first: range.lowerBound, last: range.upperBound, count: 4)
      ) { try device.perform(.deleteText(.numbered(1), range)) }
    }
    #expect(throws: QueueError.blankText) {
      try device.perform(.deleteText(.numbered(1), 0..<4))
    }
    #expect(throws: QueueError.self) {
      try device.perform(.insertText(.numbered(9), at: 0, text: "x"))
    }
    let long = String(repeating: "é", count: Limits.contentBytesMax / 2 - 2)
    try device.perform(.insertText(.numbered(1), at: 0, text: long))
    #expect(
      throws: QueueError.contentTooLong(
        bytes: Limits.contentBytesMax + 1, max: Limits.contentBytesMax)
    ) { try device.perform(.insertText(.numbered(1), at: 0, text: "x")) }
    try device.perform(.undo)
    try device.perform(.cancel([.numbered(1)]))
    #expect(throws: QueueError.messageCancelled(id: MessageID.numbered(1).description)) {
      try device.perform(.insertText(.numbered(1), at: 0, text: "x"))
    }
    #expect(device.workspace.image() != before)
  }

  @Test func anAnchorStaysBetweenItsScalars() throws {
    var device = try device("one three")
    let front = try shown(device).anchor(at: 4)
    let back = try shown(device).anchor(at: 4, side: .before)
    try device.perform(.insertText(.numbered(1), at: 4, text: "two "))
    #expect(try shown(device).offset(of: front) == 4)
    #expect(try shown(device).offset(of: back) == 8)
    try device.perform(.insertText(.numbered(1), at: 0, text: "zero "))
    #expect(try shown(device).offset(of: front) == 9)
    #expect(try shown(device).offset(of: back) == 13)
    // Both scalars are deleted: the place is where they were.
    try device.perform(.deleteText(.numbered(1), 7..<15))
    #expect(try text(device) == "zero onree")
    #expect(try shown(device).offset(of: front) == 7)
    #expect(try shown(device).offset(of: back) == 7)
  }

  @Test func theEndsAreAnchorsToo() throws {
    var device = try device("text")
    let start = try shown(device).anchor(at: 0)
    let end = try shown(device).anchor(at: 4, side: .before)
    let last = try shown(device).anchor(at: 4)
    try device.perform(.insertText(.numbered(1), at: 4, text: "!!"))
    try device.perform(.insertText(.numbered(1), at: 0, text: "?"))
    #expect(try shown(device).offset(of: start) == 0)
    #expect(try shown(device).offset(of: end) == 7)
    #expect(try shown(device).offset(of: last) == 5)
    #expect(throws: QueueError.invalidTextRange(first: 8, last: 8, count: 7)) {
      try shown(device).anchor(at: 8)
    }
    #expect(throws: QueueError.messageNotFound(id: MessageID.numbered(9).description)) {
      try device.workspace.shownText(of: .numbered(9)).anchor(at: 0)
    }
  }

  @Test func anAnchorSurvivesASnapshot() throws {
    var device = try device("abcdef")
    let front = try shown(device).anchor(at: 3)
    let back = try shown(device).anchor(at: 3, side: .before)
    try device.perform(.deleteText(.numbered(1), 2..<3))
    let restored = try Workspace(image: device.workspace.image())
    #expect(try restored.shownText(of: .numbered(1)).offset(of: front) == 2)
    #expect(try restored.shownText(of: .numbered(1)).offset(of: back) == 2)
  }

  @Test func anAnchorIsStoredAsJSON() throws {
    let device = try device("abc")
    let anchor = try shown(device).anchor(at: 2)
    let data = try JSONEncoder().encode(anchor)
    #expect(try JSONDecoder().decode(TextAnchor.self, from: data) == anchor)
  }

  @Test func offsetsAreConvertedToAndFromUTF16() throws {
    let device = try device("a👩‍👧é🇩🇪z")
    let text = try text(device)
    var (scalars, units) = (0, 0)
    for scalar in text.unicodeScalars {
      #expect(
        try shown(device).utf16Offset(ofScalar: scalars) == units)
      #expect(
        try shown(device).scalarOffset(ofUTF16: units) == scalars)
      scalars += 1
      units += UTF16.width(scalar)
    }
    #expect(
      try shown(device).scalarOffset(ofUTF16: units) == scalars)
    #expect(
      try shown(device).utf16Offset(ofScalar: scalars) == units)
    #expect(throws: QueueError.invalidTextRange(first: units + 1, last: units + 1, count: units)) {
      try shown(device).scalarOffset(ofUTF16: units + 1)
    }
  }

  /// Two devices type; an anchor's place is compared with that of a marker scalar beside it.
  @Test(arguments: TestSeeds.list(standard: 20, from: 900))
  func anchorsFollowTheirScalarThroughMergedTyping(seed: UInt64) throws {
    var generator = SeededGenerator(seed: seed)
    var one = try device("abcdefghij")
    var two = TestDevice(2)
    try two.merge(one.made)
    for _ in 0..<12 {
      let count = try text(one).unicodeScalars.count
      // The marker is typed, and anchors are made on both of its sides.
      let place = generator.below(count + 1)
      let marker = Character(Unicode.Scalar(UInt8(0x30 + generator.below(10))))
      try one.perform(.insertText(.numbered(1), at: place, text: String(marker)))
      let left = try shown(one).anchor(at: place, side: .before)
      let right = try shown(one).anchor(at: place + 1)
      for _ in 0..<5 {
        let length = try text(two).unicodeScalars.count
        try two.perform(
          .insertText(.numbered(1), at: generator.below(length + 1), text: "xy"))
      }
      try one.merge(two.made)
      try two.merge(one.made)
      let offset = try #require(try shown(one).offset(of: left))
      #expect(try shown(one).offset(of: right) == offset + 1)
      let scalars = Array(try text(two).unicodeScalars)
      #expect(Character(scalars[offset]) == marker, "seed \(seed)")
      #expect(try shown(two).offset(of: left) == offset)
    }
  }
}
