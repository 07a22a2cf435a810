/// The numbers of the frames, without bit 7; SPECIFICATION.md, section "Frames".
enum FrameType: UInt8, CaseIterable {
  case pair = 1
  case paired = 2
  case hello = 3
  case welcome = 4
  case refused = 5
  case changes = 6
  case ack = 7
  case missing = 8
  case snapshot = 9
  case request = 10
  case response = 11
  case presence = 12
  case goAway = 13
  case error = 14
  case compact = 15
  case epoch = 16
  case answered = 17
  case notification = 18
  case notified = 19

  /// Set in the first byte of frames that a reader may skip when it does not know their number.
  static let optional: UInt8 = 0x80

  /// Whether a reader of an earlier version does without it.
  var isOptional: Bool { rawValue > 16 }

  /// The first byte of such a frame.
  var head: UInt8 { isOptional ? rawValue | FrameType.optional : rawValue }
}
