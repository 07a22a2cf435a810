import QueueModel

/// Maps labels of messages to ids and back.
///
/// An id depends only on its label, so that two runs, or two files with the same labels, use the
/// same ids. A label that is a UUID is its own id.
struct LabelTable: Sendable {
  private var labels: [MessageID: String] = [:]

  init() {}

  /// The label's id: version 8 of RFC 9562, filled from two FNV-1a sums of the label's bytes, each
  /// mixed by SplitMix64's output function.
  static func id(of label: String) -> MessageID {
    if let id = MessageID(label) { return id }
    return MessageID(
      high: mixed(sum(of: label, start: 0xCBF2_9CE4_8422_2325)) & ~0xF000 | 0x8000,
      low: mixed(sum(of: label, start: 0x8422_2325_CBF2_9CE4)) & ~(0b11 << 62) | 0b10 << 62)
  }

  /// Records the label of an id.
  mutating func note(_ label: String) -> MessageID {
    let id = Self.id(of: label)
    labels[id] = label
    return id
  }

  /// The label of the id, or the id itself if it has none.
  func label(of id: MessageID) -> String { labels[id] ?? id.description }

  private static func sum(of label: String, start: UInt64) -> UInt64 {
    label.utf8.reduce(start) { ($0 ^ UInt64($1)) &* 0x100_0000_01B3 }
  }

  private static func mixed(_ value: UInt64) -> UInt64 {
    var mixed = value &+ 0x9E37_79B9_7F4A_7C15
    mixed = (mixed ^ (mixed >> 30)) &* 0xBF58_476D_1CE4_E5B9
    mixed = (mixed ^ (mixed >> 27)) &* 0x94D0_49BB_1331_11EB
    return mixed ^ (mixed >> 31)
  }
}
