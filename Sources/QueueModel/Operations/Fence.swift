package import SequenceCRDT

/// The order of the writes of a fenced register: the lease first, then the attempt, then the phase.
///
/// Only the holder of a session's lease writes such a register, and tokens rise with every lease.
/// So late writes of a holder that lost its lease have no effect. In the wire format a fence takes
/// the place of other registers' stamp; SPECIFICATION.md, section "Merging".
public struct Fence: Hashable, Comparable, Sendable {
  /// The token of the lease under which the register was written, below 2⁴⁰.
  public var token: UInt64
  /// The attempt that it concerns, from 1.
  public var attempt: UInt16
  /// The progress of the attempt; the meaning is the field's.
  public var phase: UInt8

  /// Creates a fence; a token that is too large becomes the greatest one.
  public init(token: UInt64, attempt: UInt16, phase: UInt8) {
    self.token = min(token, Fence.tokenMax)
    self.attempt = attempt
    self.phase = phase
  }

  /// The greatest token.
  public static let tokenMax: UInt64 = (1 << 40) - 1

  /// Reads the value in place of a stamp.
  package init(_ stamp: Stamp) {
    self.init(
      token: stamp.rawValue >> 24,
      attempt: UInt16(truncatingIfNeeded: stamp.rawValue >> 8),
      phase: UInt8(truncatingIfNeeded: stamp.rawValue))
  }

  /// The value in place of a stamp.
  package var stamp: Stamp {
    Stamp(rawValue: token << 24 | UInt64(attempt) << 8 | UInt64(phase))
  }

  /// Orders by token, attempt and phase.
  public static func < (left: Fence, right: Fence) -> Bool {
    (left.token, left.attempt, left.phase) < (right.token, right.attempt, right.phase)
  }
}

extension RegisterField {
  /// Whether writes are ordered by a fence instead of a stamp.
  package var isFenced: Bool { rawValue >= 128 }
}
