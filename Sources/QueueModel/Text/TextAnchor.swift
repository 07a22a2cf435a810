public import SequenceCRDT

/// A place in a message's text that stays the same while others type: a cursor, or one end of a
/// selection.
///
/// It is bound to one side of one scalar. If the scalar is deleted, the place stays, next to the
/// nearest visible scalars. If a compaction removes even the scalar's trace, the scalar on the
/// other side of the place is used.
public struct TextAnchor: Hashable, Sendable {
  /// The scalar that an anchor is bound to.
  public enum Side: String, Hashable, Sendable {
    /// The scalar before the place: text typed at the place comes after the anchor.
    case behind
    /// The scalar after the place: text typed at the place comes before the anchor.
    case before
  }

  /// The message.
  public var message: MessageID
  /// The `addMessage` that introduced the text.
  public var content: OperationID
  /// The scalar that the anchor is bound to; nil for the start (`behind`) or the end (`before`).
  public var scalar: OperationID?
  /// The side of that scalar.
  public var side: Side
  /// The scalar that was on the other side; nil for none.
  public var neighbour: OperationID?
}

extension Workspace {
  /// The visible text of a message, for finding places in it.
  ///
  /// - Throws: `QueueError.messageNotFound`.
  public func shownText(of message: MessageID) throws(QueueError) -> ShownText {
    guard let primary = messageStates[message]?.primary else {
      throw .messageNotFound(id: message.description)
    }
    return ShownText(message: message, addition: primary.id, content: primary.content)
  }
}

/// A message's text as it is now. Offsets count Unicode scalars unless they are in UTF-16.
public struct ShownText: Sendable {
  private let message: MessageID
  private let addition: OperationID
  private let content: TextContent

  fileprivate init(message: MessageID, addition: OperationID, content: TextContent) {
    self.message = message
    self.addition = addition
    self.content = content
  }

  /// Creates an anchor at an offset.
  ///
  /// - Parameters:
  ///   - offset: in Unicode scalars, from 0 to the length of the text.
  ///   - side: the one of the two scalars at the place to bind to.
  /// - Throws: `QueueError.invalidTextRange`.
  /// - Complexity: O(log *n*).
  public func anchor(
    at offset: Int, side: TextAnchor.Side = .behind
  ) throws(QueueError) -> TextAnchor {
    try checkOffset(offset)
    let front = content.visibleID(at: offset - 1)
    let back = content.visibleID(at: offset)
    return TextAnchor(
      message: message, content: addition, scalar: side == .behind ? front : back, side: side,
      neighbour: side == .behind ? back : front)
  }

  /// The place of an anchor now, in Unicode scalars.
  ///
  /// - Returns: nil if its text is not this one, or if both of its scalars were forgotten.
  /// - Complexity: O(log *n*).
  public func offset(of anchor: TextAnchor) -> Int? {
    guard message == anchor.message, addition == anchor.content else { return nil }
    let sequence = content.sequence
    if let scalar = anchor.scalar {
      if let offset = sequence.offset(of: scalar, anchor.side) { return offset }
      // The neighbour on the other side: `before` for `behind`, and the reverse.
      guard let neighbour = anchor.neighbour else {
        return anchor.side == .behind ? sequence.visibleCount : 0
      }
      return sequence.offset(of: neighbour, anchor.side == .behind ? .before : .behind)
    }
    return anchor.side == .behind ? 0 : sequence.visibleCount
  }

  /// The UTF-16 offset, as most user interfaces count, of an offset in Unicode scalars.
  ///
  /// - Throws: `QueueError.invalidTextRange`.
  /// - Complexity: O(log *n*).
  public func utf16Offset(ofScalar offset: Int) throws(QueueError) -> Int {
    try checkOffset(offset)
    return content.sequence.codeUnitOffset(ofVisible: offset)
  }

  /// The offset in Unicode scalars of a UTF-16 offset; one inside a surrogate pair belongs to its
  /// scalar.
  ///
  /// - Throws: `QueueError.invalidTextRange`.
  /// - Complexity: O(log *n*).
  public func scalarOffset(ofUTF16 offset: Int) throws(QueueError) -> Int {
    let count = content.sequence.codeUnitCount
    guard offset >= 0, offset <= count else {
      throw .invalidTextRange(first: offset, last: offset, count: count)
    }
    return content.sequence.visibleIndex(ofCodeUnit: offset)
  }

  private func checkOffset(_ offset: Int) throws(QueueError) {
    let count = content.sequence.visibleCount
    guard offset >= 0, offset <= count else {
      throw .invalidTextRange(first: offset, last: offset, count: count)
    }
  }
}

extension RunSequence {
  /// The visible offset on one side of a unit, whether it is visible or deleted; nil if it is
  /// unknown here.
  fileprivate func offset(of id: OperationID, _ side: TextAnchor.Side) -> Int? {
    guard let number = contentIndex(of: id) else { return nil }
    let before = visibleCount(beforeContent: number)
    return side == .behind && isVisible(content: number) ? before + 1 : before
  }
}

extension TextAnchor: Codable {}
extension TextAnchor.Side: Codable {}
