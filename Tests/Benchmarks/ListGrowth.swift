import SequenceCRDT

/// How the time grows with the size of a list: twice the work should take about twice as long.
enum ListGrowth {
  private static let sizes = [6_000, 12_000, 24_000, 48_000]
  private static let authors = 100
  private static let stamp = Stamp(milliseconds: 1_790_000_000_000)

  /// The greatest ratio of two neighbouring sizes, of the best times of the runs.
  static func measure(runs: Int) throws -> [Result] {
    let random = try ratios(runs: runs, random)
    let oneGap = try ratios(runs: runs, oneGap)
    return [
      Result(name: "list/growth/random", metric: "ratio", value: random),
      Result(name: "list/growth/one-gap", metric: "ratio", value: oneGap),
      Result(name: "list/growth", metric: "ratio", value: max(random, oneGap)),
    ]
  }

  private static func ratios(runs: Int, _ body: (Int) throws -> MovableList) throws -> Double {
    var times: [Double] = []
    for size in sizes {
      var best = Double.infinity
      for _ in 0..<runs {
        var list = MovableList(replica: ReplicaID(rawValue: 1))
        best = min(best, try Stopwatch.time { list = try body(size) })
        try BenchFailure.require(list.count > size / 8, "the list has \(list.count) elements")
      }
      times.append(best)
    }
    return zip(times.dropFirst(), times).map { $0 / $1 }.max() ?? 0
  }

  /// Inserts, moves and removes anywhere.
  private static func random(_ count: Int) throws -> MovableList {
    var list = MovableList(replica: ReplicaID(rawValue: 7))
    var draw = ListSuite.Draw(seed: 3)
    for number in 0..<count {
      switch draw.below(4) {
      case 2 where list.count > 0:
        try list.move(from: draw.below(list.count), to: draw.below(list.count), stamp: stamp)
      case 3 where list.count > 0:
        let index = draw.below(list.count)
        try list.remove(index..<index + 1)
      default:
        try list.insert([.integer(Int64(number))], at: draw.below(list.count + 1), stamp: stamp)
      }
    }
    return list
  }

  /// A hundred authors insert, move and remove at one place of a list without knowing of each
  /// other; their operations arrive in turns.
  private static func oneGap(_ count: Int) throws -> MovableList {
    let base = ReplicaID(rawValue: 1)
    var list = MovableList(replica: base)
    try list.insert((0..<100).map { .integer($0) }, at: 0, stamp: stamp)
    let left = OperationID(replica: base, seq: 50)
    let right = OperationID(replica: base, seq: 51)
    var sequences = [UInt32](repeating: 0, count: authors)
    for number in 0..<count {
      let author = number % authors
      let id = OperationID(
        replica: ReplicaID(rawValue: UInt64(1_000 + author * 37 % authors)),
        seq: sequences[author] + 1)
      sequences[author] += 1
      switch sequences[author] % 4 {
      case 2:
        let element = OperationID(replica: base, seq: UInt32(1 + number / 7 % 100))
        try list.merge(.move(id: id, element: element, left: left, right: right, stamp: stamp))
      case 3 where id.seq % 8 == 3:
        let element = OperationID(replica: id.replica, seq: id.seq - 2)
        try list.merge(.remove(id: id, element: element))
      default:
        try list.merge(
          .insert(id: id, left: left, right: right, stamp: stamp, values: [.integer(1)]))
      }
    }
    return list
  }
}
