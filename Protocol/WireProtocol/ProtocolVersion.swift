/// The versions of the protocol, in one place; SPECIFICATION.md, section "Versions".
///
/// | version | since | change |
/// |---|---|---|
/// | 1 | never released | the first |
/// | 2 | 0.1.0 | an attempt keeps its session until it ends, can be stopped and taken over from anywhere |
package enum ProtocolVersion {
  /// The newest version that this code speaks.
  package static let current: UInt16 = 2
  /// The oldest version that this code speaks; raised only with a note in the change log.
  package static let floor: UInt16 = 2

  /// The versions that a client offers and a server accepts.
  package static var spoken: ClosedRange<UInt16> { floor...current }

  /// The highest version that both sides speak; nil if there is none.
  package static func choose(
    _ offered: ClosedRange<UInt16>, of spoken: ClosedRange<UInt16> = spoken
  ) -> UInt16? {
    let highest = min(offered.upperBound, spoken.upperBound)
    return highest >= max(offered.lowerBound, spoken.lowerBound) ? highest : nil
  }
}
