import SequenceCRDT
import WireProtocol

/// Ordered lists with moves, on the workloads that other programs are measured on too.
///
/// One stamp a phase, as one transaction would have; every operation has an id and stands in the
/// log.
enum ListSuite {
  private static let size = 100_000
  private static let replica = ReplicaID(rawValue: 0x5C1D_93E8_04B7_A26F)
  private static let reader = ReplicaID(rawValue: 0x9E37_79B9_7F4A_7C15)

  static func measure(runs: Int) throws -> [Result] {
    try longList(runs: runs) + concurrentMoves(runs: runs) + ListGrowth.measure(runs: runs)
  }

  private static func stamp(_ phase: Int64) -> Stamp {
    Stamp(milliseconds: 1_790_000_000_000 + 1_000 * phase)
  }

  /// Draws with the same spread as other programs' `randrange`.
  struct Draw {
    private var state: UInt64

    init(seed: UInt64) {
      state = seed
    }

    /// SplitMix64; a number from 0 and below `bound`.
    mutating func below(_ bound: Int) -> Int {
      state &+= 0x9E37_79B9_7F4A_7C15
      var word = state
      word = (word ^ word >> 30) &* 0xBF58_476D_1CE4_E5B9
      word = (word ^ word >> 27) &* 0x94D0_49BB_1331_11EB
      word ^= word >> 31
      return Int(truncatingIfNeeded: word.multipliedFullWidth(by: UInt64(bound)).high)
    }
  }
}

// MARK: 100,000 elements

extension ListSuite {
  private static func longList(runs: Int) throws -> [Result] {
    var moved = MovableList(replica: replica)
    for change in [push, write, move] { try change(&moved) }
    let history = PackedList.pack(moved.log)
    let snapshot = PackedList.packSnapshot(moved)
    let values = moved.values
    let requireSame = { (read: [ListValue]) in
      try BenchFailure.require(read == values, "the list came back different")
    }
    return [
      try phase("push", after: [], runs: runs, push),
      try phase("set", after: [push], runs: runs, write),
      try phase("move", after: [push, write], runs: runs, move),
      try Stopwatch.median(
        "list/100k/load-history", runs: runs,
        { () throws -> [ListValue] in
          var list = MovableList(replica: reader)
          try list.merge(PackedList.unpack(history))
          return list.values
        }, check: requireSame),
      try Stopwatch.median(
        "list/100k/open-snapshot", runs: runs,
        { try PackedList.values(ofSnapshot: snapshot) }, check: requireSame),
      try Stopwatch.median(
        "list/100k/open-snapshot-to-change", runs: runs,
        { () throws -> [ListValue] in
          let image = try PackedList.image(ofSnapshot: snapshot)
          return try MovableList(image: image, replica: reader).values
        }, check: requireSame),
      Result(name: "list/100k/history-zlib", metric: "bytes", value: Double(history.count)),
      Result(name: "list/100k/snapshot-zlib", metric: "bytes", value: Double(snapshot.count)),
    ]
  }

  private typealias Change = (inout MovableList) throws -> Void

  /// Changes a list in place: a copy that is left behind would make the first change a copy too.
  private static func phase(
    _ name: String, after changes: [Change], runs: Int, _ body: Change
  ) throws -> Result {
    var seconds: [Double] = []
    for _ in 0..<runs {
      var list = MovableList(replica: replica)
      for change in changes { try change(&list) }
      seconds.append(try Stopwatch.time { try body(&list) })
      try BenchFailure.require(list.count == size, "the list has \(list.count) elements")
    }
    return .median("list/100k/\(name)", seconds)
  }

  private static func push(_ list: inout MovableList) throws {
    for number in 0..<size { try list.append(.integer(Int64(number)), stamp: stamp(0)) }
  }

  private static func write(_ list: inout MovableList) throws {
    var draw = Draw(seed: 1)
    for number in 0..<size {
      try list.set(.integer(Int64(number)), at: draw.below(size), stamp: stamp(1))
    }
  }

  private static func move(_ list: inout MovableList) throws {
    var draw = Draw(seed: 2)
    for _ in 0..<size / 2 {
      try list.move(from: draw.below(size), to: draw.below(size), stamp: stamp(2))
    }
  }
}

// MARK: Concurrent moves

extension ListSuite {
  /// Ten replicas move 2,000 times each in a list of 1,000, without knowing of each other.
  private static func concurrentMoves(runs: Int) throws -> [Result] {
    var base = MovableList(replica: replica)
    for number in 0..<1_000 { try base.append(.integer(Int64(number)), stamp: stamp(0)) }
    var deltas: [[UInt8]] = []
    for number in 0..<10 {
      var list = MovableList(replica: ReplicaID(rawValue: reader.rawValue &+ UInt64(number)))
      try list.merge(base.log)
      var draw = Draw(seed: UInt64(number))
      for _ in 0..<2_000 {
        try list.move(from: draw.below(1_000), to: draw.below(1_000), stamp: stamp(1))
      }
      deltas.append(PackedList.pack(list.log.since(base.vector)))
    }
    let history = PackedList.pack(base.log)
    let name = "list/concurrent-moves-10x2000"
    let seconds = try Stopwatch.seconds(
      runs: runs,
      given: { () throws -> ListBox in
        var list = MovableList(replica: replica)
        try list.merge(PackedList.unpack(history))
        return ListBox(list)
      },
      { box in
        for delta in deltas { try box.list.merge(PackedList.unpack(delta)) }
        return box.list.values
      },
      check: { try BenchFailure.require($0.count == 1_000, "the list has \($0.count) elements") })
    return [
      .median("\(name)/merge", seconds),
      Result(
        name: "\(name)/deltas-raw", metric: "bytes",
        value: Double(deltas.reduce(0) { $0 + $1.count })),
    ]
  }

  /// Keeps one list, so that no copy of it is left behind when it changes.
  private final class ListBox {
    var list: MovableList

    init(_ list: MovableList) {
      self.list = list
    }
  }
}
