/// A dictionary in shards, so that changing one copy of a large one copies only a shard.
///
/// A merge keeps the state before it until it has succeeded. With a plain dictionary, the first
/// write would copy every entry. The shards are in rows, so that the first write into a copy
/// retains the shards of one row, not all of them.
struct ShardedDictionary<Key: Hashable & Sendable, Value: Sendable>: Sendable {
  private var rows: [[[Key: Value]]]
  private(set) var count = 0

  private static var rowCount: Int { 16 }
  private static var rowLength: Int { 16 }

  init() {
    rows = Array(
      repeating: Array(repeating: [:], count: Self.rowLength), count: Self.rowCount)
  }

  private func place(of key: Key) -> (row: Int, shard: Int) {
    // The dictionary inside uses the low bits of the same hash; these are the highest, however many there
    // are.
    let bits = Int(truncatingIfNeeded: UInt(bitPattern: key.hashValue) >> (UInt.bitWidth - 8))
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

  /// The value of a key, made first if there is none.
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

  @discardableResult
  mutating func removeValue(forKey key: Key) -> Value? {
    let (row, shard) = place(of: key)
    guard let value = rows[row][shard].removeValue(forKey: key) else { return nil }
    count -= 1
    return value
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
