import SequenceCRDT

/// The runs of a text in a few bytes each, and its visible part.
///
/// Deleted scalars keep their names and places; their values are not needed.
struct PackedText: Sendable {
  /// The visible text.
  let text: String
  private let replicas: [ReplicaID]
  private let columns: NumberColumn

  /// The origin of a run on one side.
  private enum Origin: UInt64 {
    /// No origin: the start on the left, the end on the right.
    case none
    /// On the left, the last unit of the previous run; on the right, the first unit of the next
    /// run.
    case neighbour
    /// The same as that of the previous run.
    case previous
    case explicit
  }

  /// - Precondition: the runs are those of a sequence, in its order.
  init(runs: [RunSequence.Run], text: String) {
    var replicas: [ReplicaID] = []
    var columns = NumberColumn()
    func append(_ id: OperationID, from expected: UInt32) {
      let known = replicas.lastIndex(of: id.replica)
      if known == nil { replicas.append(id.replica) }
      columns.append(UInt64(known ?? replicas.count - 1))
      columns.append(signed: Int64(id.seq) - Int64(expected))
    }
    for (place, run) in runs.enumerated() {
      let before = place > 0 ? runs[place - 1] : nil
      let behind = place + 1 < runs.count ? runs[place + 1] : nil
      let left: Origin =
        run.left == nil ? .none : run.left == before?.lastID ? .neighbour : .explicit
      let right: Origin =
        run.right == nil
        ? .none
        : run.right == behind?.id ? .neighbour : run.right == before?.right ? .previous : .explicit
      columns.append(left.rawValue << 3 | right.rawValue << 1 | (run.isVisible ? 1 : 0))
      append(run.id, from: before?.lastID.seq ?? 0)
      columns.append(UInt64(run.length))
      if left == .explicit, let origin = run.left { append(origin, from: run.id.seq) }
      if right == .explicit, let origin = run.right { append(origin, from: run.id.seq) }
    }
    columns.shrink()
    self.text = text
    self.replicas = replicas
    self.columns = columns
  }

  /// The runs in their order; their units are numbered in it.
  var runs: [RunSequence.Run] {
    var runs: [RunSequence.Run] = []
    var reader = NumberColumnReader(columns)
    func id(from expected: UInt32) -> OperationID {
      let replica = replicas[Int(reader.next())]
      return OperationID(replica: replica, seq: UInt32(Int64(expected) + reader.nextSigned()))
    }
    var awaitsNext = false
    var count = 0
    while !reader.isAtEnd {
      let head = reader.next()
      let before = runs.last
      let first = id(from: before?.lastID.seq ?? 0)
      if awaitsNext { runs[runs.count - 1].right = first }
      var run = RunSequence.Run(
        id: first, length: Int(reader.next()), left: nil, right: nil, isVisible: head & 1 != 0,
        contentStart: count)
      count += run.length
      switch Origin(rawValue: head >> 3 & 3) {
      case .neighbour: run.left = before?.lastID
      case .explicit: run.left = id(from: first.seq)
      default: break
      }
      let right = Origin(rawValue: head >> 1 & 3)
      switch right {
      case .previous: run.right = runs.last?.right
      case .explicit: run.right = id(from: first.seq)
      default: break
      }
      awaitsNext = right == .neighbour
      runs.append(run)
    }
    return runs
  }
}

extension RunSequence.Run {
  fileprivate var lastID: OperationID { unitID(at: length - 1) }
}
