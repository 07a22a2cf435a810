/// A beginning of a workspace's log: the number of its entries, and a hash over all of them.
///
/// Two logs whose first *n* entries differ have different chains there. So 16 bytes identify a
/// prefix of a log. SPECIFICATION.md, section "Log".
package struct LogPrefix: Hashable, Sendable {
  /// The position of the last entry; entries count from 1, and 0 is the empty prefix.
  package var position: UInt64
  /// The hash chain over all entries up to there.
  package var chain: UInt64

  package init(position: UInt64 = 0, chain: UInt64 = 0) {
    self.position = position
    self.chain = chain
  }

  /// The empty prefix, a prefix of every log.
  package static let empty = LogPrefix()

  /// The prefix that ends with one more entry.
  ///
  /// - Complexity: O(bytes).
  package func appending(_ entry: [UInt8]) -> LogPrefix {
    LogPrefix(
      position: position + 1,
      chain: StripedChecksum.taking(
        StripedChecksum.sum(entry[...], dictionary: nil), into: chain))
  }
}

/// One store of one device: an id that is drawn when the store is created, and kept in it.
///
/// Leases belong to a store. A copy of its files has the same id; then the lease's token
/// distinguishes the copies. SPECIFICATION.md, section "Leases and dispatch".
package struct StoreID: RawRepresentable, Hashable, Sendable {
  package var rawValue: UInt64

  package init(rawValue: UInt64) {
    self.rawValue = rawValue
  }
}
