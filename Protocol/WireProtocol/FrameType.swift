/// The numbers of the frames, without bit 7; SPECIFICATION.md, section "Frames".
enum FrameType: UInt8, CaseIterable {
  case pair = 1
  case paired = 2
  case hello = 3
  case welcome = 4
  case refused = 5
  case changes = 6
  case ack = 7
  case snapshot = 8
  case request = 9
  case response = 10
  case presence = 11
  case goAway = 12
  case error = 13
  case answered = 14
  case notification = 15
  case notified = 16
  case outputWanted = 17
  case output = 18
  case access = 19

  /// Set in the first byte of frames that a reader may skip if it does not know their number.
  static let optional: UInt8 = 0x80

  /// Whether a reader of an earlier version may skip it.
  var isOptional: Bool { rawValue > 13 }

  /// The first byte of such a frame.
  var head: UInt8 { isOptional ? rawValue | FrameType.optional : rawValue }
}
