/// A dictionary in shards, so that changing one copy of a large one copies a shard and not all.
///
/// A merge keeps the state before it until it succeeded; with a plain dictionary the first write
/// after that would copy every entry.
struct ShardedDictionary<Key: Hashable & Sendable, Value: Sendable>: Sendable {
  private var shards: [[Key: Value]]
  private(set) var count = 0

  private static var shardCount: Int { 256 }

  init() {
    shards = Array(repeating: [:], count: Self.shardCount)
  }

  private func shard(of key: Key) -> Int {
    // The dictionary inside uses the low bits of the same hash; these are others.
    Int(truncatingIfNeeded: UInt(bitPattern: key.hashValue) >> 40) & (Self.shardCount - 1)
  }

  /// Whether there is a value of a key.
  func contains(_ key: Key) -> Bool {
    shards[shard(of: key)].keys.contains(key)
  }

  /// The value of a key, nil where there is none.
  subscript(key: Key) -> Value? {
    get {
      shards[shard(of: key)][key]
    }
    _modify {
      let shard = shard(of: key)
      count -= shards[shard].count
      defer { count += shards[shard].count }
      yield &shards[shard][key]
    }
  }

  /// The value of a key, made first where there is none.
  subscript(key: Key, default value: @autoclosure () -> Value) -> Value {
    get {
      shards[shard(of: key)][key] ?? value()
    }
    _modify {
      let shard = shard(of: key)
      count -= shards[shard].count
      defer { count += shards[shard].count }
      yield &shards[shard][key, default: value()]
    }
  }

  @discardableResult
  mutating func removeValue(forKey key: Key) -> Value? {
    guard let value = shards[shard(of: key)].removeValue(forKey: key) else { return nil }
    count -= 1
    return value
  }

  /// All values, in no particular order.
  var values: some Sequence<Value> {
    shards.lazy.flatMap { $0.values }
  }

  /// All keys, in no particular order.
  var keys: some Sequence<Key> {
    shards.lazy.flatMap { $0.keys }
  }
}
