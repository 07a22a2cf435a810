public import SequenceCRDT

/// A place in a message's text that stays where it is while others type: a cursor, or one end of a
/// selection.
///
/// It holds on to one scalar and sits on one side of it. When the scalar is deleted, the place is
/// where it stood, next to the nearest scalars that are left. When even its trace is gone, after a
/// compaction, the scalar that was on the other side takes its place.
public struct TextAnchor: Hashable, Sendable {
  /// Which scalar an anchor holds on to.
  public enum Side: String, Hashable, Sendable {
    /// The scalar in front: text typed at the place comes behind the anchor.
    case behind
    /// The scalar after it: text typed at the place comes before the anchor.
    case before
  }

  /// The message.
  public var message: MessageID
  /// The `addMessage` that introduced the text.
  public var content: OperationID
  /// The scalar that the anchor holds on to; nil for the start (`behind`) or the end (`before`).
  public var scalar: OperationID?
  /// On which side of that scalar it sits.
  public var side: Side
  /// The scalar that was on the other side; nil for none.
  public var neighbour: OperationID?
}

extension Workspace {
  /// Makes an anchor at an offset.
  ///
  /// - Parameters:
  ///   - offset: in Unicode scalars, from 0 to the length of the text.
  ///   - side: which of the two scalars at the place to hold on to.
  /// - Throws: `QueueError.messageNotFound`, `.invalidTextRange`.
  /// - Complexity: O(log *n*).
  public func textAnchor(
    in message: MessageID, at offset: Int, side: TextAnchor.Side = .behind
  ) throws(QueueError) -> TextAnchor {
    let (addition, content) = try shownContent(of: message)
    try checkOffset(offset, in: content)
    let front = content.visibleID(at: offset - 1)
    let back = content.visibleID(at: offset)
    return TextAnchor(
      message: message, content: addition, scalar: side == .behind ? front : back, side: side,
      neighbour: side == .behind ? back : front)
  }

  /// Where an anchor is now, in Unicode scalars.
  ///
  /// - Returns: nil where its text is not the one that shows, or both of its scalars were forgotten.
  /// - Throws: `QueueError.messageNotFound`.
  /// - Complexity: O(log *n*).
  public func offset(of anchor: TextAnchor) throws(QueueError) -> Int? {
    let (addition, content) = try shownContent(of: anchor.message)
    guard addition == anchor.content else { return nil }
    let sequence = content.sequence
    if let scalar = anchor.scalar {
      if let offset = sequence.offset(of: scalar, anchor.side) { return offset }
      // The neighbour on the other side: before the one it was behind of, and the other way round.
      guard let neighbour = anchor.neighbour else {
        return anchor.side == .behind ? sequence.visibleCount : 0
      }
      return sequence.offset(of: neighbour, anchor.side == .behind ? .before : .behind)
    }
    return anchor.side == .behind ? 0 : sequence.visibleCount
  }

  /// The UTF-16 offset, as most user interfaces count, of an offset in Unicode scalars.
  ///
  /// - Throws: `QueueError.messageNotFound`, `.invalidTextRange`.
  /// - Complexity: O(log *n*).
  public func utf16Offset(
    ofScalar offset: Int, in message: MessageID
  ) throws(QueueError) -> Int {
    let content = try shownContent(of: message).content
    try checkOffset(offset, in: content)
    return content.sequence.codeUnitOffset(ofVisible: offset)
  }

  /// The offset in Unicode scalars of a UTF-16 offset; one inside a surrogate pair belongs to its
  /// scalar.
  ///
  /// - Throws: `QueueError.messageNotFound`, `.invalidTextRange`.
  /// - Complexity: O(log *n*).
  public func scalarOffset(
    ofUTF16 offset: Int, in message: MessageID
  ) throws(QueueError) -> Int {
    let content = try shownContent(of: message).content
    let count = content.sequence.codeUnitCount
    guard offset >= 0, offset <= count else {
      throw .invalidTextRange(first: offset, last: offset, count: count)
    }
    return content.sequence.visibleIndex(ofCodeUnit: offset)
  }

  private func checkOffset(_ offset: Int, in content: TextContent) throws(QueueError) {
    let count = content.sequence.visibleCount
    guard offset >= 0, offset <= count else {
      throw .invalidTextRange(first: offset, last: offset, count: count)
    }
  }

  private func shownContent(
    of message: MessageID
  ) throws(QueueError) -> (addition: OperationID, content: TextContent) {
    guard let primary = messageStates[message]?.primary else {
      throw .messageNotFound(id: message.description)
    }
    return (primary.id, primary.content)
  }
}

extension RunSequence {
  /// The visible offset on one side of a unit, dead or not; nil where it is not here.
  fileprivate func offset(of id: OperationID, _ side: TextAnchor.Side) -> Int? {
    guard let number = contentIndex(of: id) else { return nil }
    let before = visibleCount(beforeContent: number)
    return side == .behind && isVisible(content: number) ? before + 1 : before
  }
}

extension TextAnchor: Codable {}
extension TextAnchor.Side: Codable {}
