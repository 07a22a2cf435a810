import SequenceCRDT

/// A key that chooses its shard. The dictionary in the shard hashes it thoroughly; a second hash
/// would double the cost of each look-up.
protocol ShardKey: Hashable, Sendable {
  /// A number whose highest bits name the shard. It depends on the seed, so that no author of keys
  /// can put all of them into one shard.
  ///
  /// - Parameter seed: odd.
  func mixed(with seed: UInt64) -> UInt64
}

extension MessageID: ShardKey {
  func mixed(with seed: UInt64) -> UInt64 { (high ^ (low &* seed) >> 32 ^ low) &* seed }
}

extension OperationID: ShardKey {
  func mixed(with seed: UInt64) -> UInt64 { (replica.rawValue &+ UInt64(seq) &* seed) &* seed }
}

extension SessionID: ShardKey {
  func mixed(with seed: UInt64) -> UInt64 {
    rawValue.utf8.reduce(seed) { ($0 ^ UInt64($1)) &* seed }
  }
}

/// Different in each process.
private let shardSeed = UInt64(bitPattern: Int64(0.hashValue)) | 1

/// A dictionary in shards, so that changing one copy of a large one copies only a shard.
///
/// A merge keeps the state before it until it has succeeded. With a plain dictionary, the first
/// write would copy every entry. The shards are in rows, so that the first write into a copy
/// retains the shards of one row, not all of them.
struct ShardedDictionary<Key: ShardKey, Value: Sendable>: Sendable {
  private var rows: [[[Key: Value]]]
  private(set) var count = 0

  private static var rowCount: Int { 16 }
  private static var rowLength: Int { 16 }

  init() {
    rows = Array(
      repeating: Array(repeating: [:], count: Self.rowLength), count: Self.rowCount)
  }

  private func place(of key: Key) -> (row: Int, shard: Int) {
    let bits = Int(truncatingIfNeeded: key.mixed(with: shardSeed) >> (UInt64.bitWidth - 8))
    return (bits / Self.rowLength, bits % Self.rowLength)
  }

  /// Whether there is a value of a key.
  func contains(_ key: Key) -> Bool {
    let (row, shard) = place(of: key)
    return rows[row][shard].keys.contains(key)
  }

  /// The value of a key; nil if there is none.
  subscript(key: Key) -> Value? {
    get {
      let (row, shard) = place(of: key)
      return rows[row][shard][key]
    }
    _modify {
      let (row, shard) = place(of: key)
      count -= rows[row][shard].count
      defer { count += rows[row][shard].count }
      yield &rows[row][shard][key]
    }
  }

  /// The value of a key, created first if there is none.
  subscript(key: Key, default value: @autoclosure () -> Value) -> Value {
    get {
      self[key] ?? value()
    }
    _modify {
      let (row, shard) = place(of: key)
      count -= rows[row][shard].count
      defer { count += rows[row][shard].count }
      yield &rows[row][shard][key, default: value()]
    }
  }

  /// All values, in no particular order.
  var values: some Sequence<Value> {
    rows.lazy.joined().flatMap { $0.values }
  }

  /// All keys, in no particular order.
  var keys: some Sequence<Key> {
    rows.lazy.joined().flatMap { $0.keys }
  }
}
