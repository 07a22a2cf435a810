/// The time of an event, and fresh random bits for its consequences.
///
/// The core has no clock and no source of random numbers; every event contains these, so that a run
/// can be repeated exactly.
package struct EventContext: Hashable, Sendable {
  /// Milliseconds on a clock that never steps; its zero has no meaning.
  package var now: Int64
  /// The best known time: milliseconds since 1970, possibly wrong.
  package private(set) var wall: Int64
  /// The same by the device's own clock.
  package let deviceWall: Int64
  /// 64 bits that no other event got.
  package var random: UInt64

  package init(now: Int64, wall: Int64, random: UInt64) {
    self.now = now
    self.wall = wall
    deviceWall = wall
    self.random = random
  }

  /// The same event by a better clock than the device's.
  func at(wall: Int64) -> EventContext {
    var corrected = self
    corrected.wall = wall
    return corrected
  }

  /// Number `index` of the random values derived from `random`.
  func random(_ index: UInt64) -> UInt64 {
    EventContext.mixed(random &+ index &* 0x9E37_79B9_7F4A_7C15)
  }

  /// SplitMix64's output function, one step further.
  static func mixed(_ value: UInt64) -> UInt64 {
    var mixed = value &+ 0x9E37_79B9_7F4A_7C15
    mixed = (mixed ^ (mixed >> 30)) &* 0xBF58_476D_1CE4_E5B9
    mixed = (mixed ^ (mixed >> 27)) &* 0x94D0_49BB_1331_11EB
    return mixed ^ (mixed >> 31)
  }
}
