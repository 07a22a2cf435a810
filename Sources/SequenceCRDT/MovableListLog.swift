/// An operation id with its replica as an index into a table, in eight bytes; `none` is no id.
package struct ListID: Hashable, Sendable {
  /// The replica's index in the upper half, the sequence number in the lower; 0 is no id.
  package let rawValue: UInt64

  package init(replica: Int, seq: UInt32) {
    rawValue = UInt64(truncatingIfNeeded: replica) << 32 | UInt64(seq)
  }

  private init() { rawValue = 0 }

  package static let none = ListID()

  package var replica: Int { Int(truncatingIfNeeded: rawValue >> 32) }
  package var seq: UInt32 { UInt32(truncatingIfNeeded: rawValue) }
  package var isNone: Bool { rawValue == 0 }

  /// The id `distance` places later; the caller knows that it exists.
  package func advanced(by distance: Int) -> ListID {
    ListID(replica: replica, seq: seq &+ UInt32(truncatingIfNeeded: distance))
  }
}

/// Operations of a list in the order in which they were applied, kept in runs.
///
/// A run is what one author did with consecutive ids, one stamp and one kind: 50,000 moves are
/// one run. What differs from unit to unit stands in arrays beside the runs.
package struct ListLog: Sendable {
  /// The kinds of operations.
  package enum Kind: UInt8, Sendable {
    case insert, set, move, remove
  }

  /// Operations of one kind with consecutive ids and the same stamp.
  package struct Run: Hashable, Sendable {
    package var kind: Kind
    /// The id of the first unit.
    package var id: ListID
    /// Units, at least 1.
    package var count: Int
    /// Not of removals.
    package var stamp: Stamp
    /// Where an insertion stands: `none` is the start or the end.
    package var left = ListID.none
    package var right = ListID.none
    /// Where the elements that the units speak of begin in `elements`; not of insertions.
    package var elementStart = 0
    /// Where the slots that moves go between begin in `lefts` and `rights`.
    package var originStart = 0
    /// Where the values of insertions and sets begin in `values`.
    package var valueStart = 0
  }

  /// What the upper halves of all ids here stand for.
  package private(set) var replicas: [ReplicaID] = []
  package private(set) var runs: [Run] = []
  package private(set) var elements: [ListID] = []
  package private(set) var lefts: [ListID] = []
  package private(set) var rights: [ListID] = []
  package private(set) var values: [ListValue] = []
  private var indexes: [ReplicaID: Int] = [:]
  private var tail = Tail()

  /// What would make the next unit part of the last run; beside the runs, since looking at a run
  /// costs more than writing to it.
  private struct Tail {
    var kind = Kind.insert
    /// `none` while there is no run.
    var nextID = ListID.none
    var stamp = Stamp.zero
  }

  package init() {}

  /// Takes a replica into the table.
  ///
  /// - Returns: its index.
  package mutating func note(_ replica: ReplicaID) -> Int {
    if replicas.first == replica { return 0 }
    if let index = indexes[replica] { return index }
    indexes[replica] = replicas.count
    replicas.append(replica)
    return replicas.count - 1
  }

  /// The index of a replica, or nil.
  package func index(of replica: ReplicaID) -> Int? {
    replicas.first == replica ? 0 : indexes[replica]
  }

  package func global(_ id: ListID) -> OperationID? {
    id.isNone ? nil : OperationID(replica: replicas[id.replica], seq: id.seq)
  }

  /// How many ids the operations take.
  package var unitCount: Int { runs.reduce(0) { $0 + $1.count } }
}

// Appending: a unit becomes part of the last run where it continues it.
extension ListLog {
  package mutating func insert(
    id: ListID, left: ListID, right: ListID, stamp: Stamp, values: ArraySlice<ListValue>
  ) {
    if left == id.advanced(by: -1), continues(.insert, id, stamp),
      runs[runs.count - 1].right == right
    {
      extend(by: values.count)
      self.values.append(contentsOf: values)
      return
    }
    begin(.insert, id: id, count: values.count, stamp: stamp)
    runs[runs.count - 1].left = left
    runs[runs.count - 1].right = right
    self.values.append(contentsOf: values)
  }

  /// The same for a single element.
  package mutating func insert(
    id: ListID, left: ListID, right: ListID, stamp: Stamp, value: ListValue
  ) {
    if left == id.advanced(by: -1), continues(.insert, id, stamp),
      runs[runs.count - 1].right == right
    {
      extend(by: 1)
      values.append(value)
      return
    }
    begin(.insert, id: id, count: 1, stamp: stamp)
    runs[runs.count - 1].left = left
    runs[runs.count - 1].right = right
    values.append(value)
  }

  package mutating func set(id: ListID, element: ListID, stamp: Stamp, value: ListValue) {
    note(.set, id, stamp)
    elements.append(element)
    values.append(value)
  }

  package mutating func move(
    id: ListID, element: ListID, left: ListID, right: ListID, stamp: Stamp
  ) {
    note(.move, id, stamp)
    elements.append(element)
    lefts.append(left)
    rights.append(right)
  }

  package mutating func remove(id: ListID, element: ListID) {
    note(.remove, id, .zero)
    elements.append(element)
  }

  /// One more unit that is no insertion.
  @inline(__always)
  private mutating func note(_ kind: Kind, _ id: ListID, _ stamp: Stamp) {
    if continues(kind, id, stamp) {
      extend(by: 1)
    } else {
      begin(kind, id: id, count: 1, stamp: stamp)
    }
  }

  @inline(__always)
  private func continues(_ kind: Kind, _ id: ListID, _ stamp: Stamp) -> Bool {
    id == tail.nextID && kind == tail.kind && stamp == tail.stamp
  }

  @inline(__always)
  private mutating func extend(by count: Int) {
    runs[runs.count - 1].count += count
    tail.nextID = tail.nextID.advanced(by: count)
  }

  private mutating func begin(_ kind: Kind, id: ListID, count: Int, stamp: Stamp) {
    runs.append(
      Run(
        kind: kind, id: id, count: count, stamp: stamp, elementStart: elements.count,
        originStart: lefts.count, valueStart: values.count))
    tail = Tail(kind: kind, nextID: id.advanced(by: count), stamp: stamp)
  }
}

extension ListLog {
  /// What `vector` does not know, in the same order.
  ///
  /// - Complexity: O(runs + units of what comes out).
  package func since(_ vector: VersionVector) -> ListLog {
    var rest = ListLog()
    let known = replicas.map { vector[$0] }
    for replica in replicas { _ = rest.note(replica) }
    for run in runs {
      let skipped = max(0, Int(known[run.id.replica]) - Int(run.id.seq) + 1)
      guard skipped < run.count else { continue }
      rest.append(run, of: self, units: skipped..<run.count)
    }
    return rest
  }

  /// Appends a part of a run of another log with the same table of replicas.
  private mutating func append(_ run: Run, of other: ListLog, units: Range<Int>) {
    let first = units.lowerBound
    let id = run.id.advanced(by: first)
    switch run.kind {
    case .insert:
      insert(
        id: id, left: first == 0 ? run.left : id.advanced(by: -1), right: run.right,
        stamp: run.stamp,
        values: other.values[run.valueStart + first..<run.valueStart + units.upperBound])
    case .set:
      for unit in units {
        set(
          id: run.id.advanced(by: unit), element: other.elements[run.elementStart + unit],
          stamp: run.stamp, value: other.values[run.valueStart + unit])
      }
    case .move:
      for unit in units {
        move(
          id: run.id.advanced(by: unit), element: other.elements[run.elementStart + unit],
          left: other.lefts[run.originStart + unit],
          right: other.rights[run.originStart + unit], stamp: run.stamp)
      }
    case .remove:
      for unit in units {
        remove(id: run.id.advanced(by: unit), element: other.elements[run.elementStart + unit])
      }
    }
  }

  /// The operations one by one, insertions as long as the log has them.
  package var operations: [ListOperation] {
    runs.flatMap(operations)
  }

  private func operations(of run: Run) -> [ListOperation] {
    func id(_ unit: Int) -> OperationID {
      OperationID(
        replica: replicas[run.id.replica], seq: run.id.advanced(by: unit).seq)
    }
    func element(_ unit: Int) -> OperationID {
      let element = elements[run.elementStart + unit]
      return OperationID(replica: replicas[element.replica], seq: element.seq)
    }
    switch run.kind {
    case .insert:
      return [
        .insert(
          id: id(0), left: global(run.left), right: global(run.right), stamp: run.stamp,
          values: Array(values[run.valueStart..<run.valueStart + run.count]))
      ]
    case .set:
      return (0..<run.count).map {
        .set(
          id: id($0), element: element($0), stamp: run.stamp, value: values[run.valueStart + $0])
      }
    case .move:
      return (0..<run.count).map {
        .move(
          id: id($0), element: element($0), left: global(lefts[run.originStart + $0]),
          right: global(rights[run.originStart + $0]), stamp: run.stamp)
      }
    case .remove:
      return (0..<run.count).map { .remove(id: id($0), element: element($0)) }
    }
  }

  /// The log of operations given one by one.
  package init(_ operations: [ListOperation]) {
    for operation in operations { append(operation) }
  }

  package mutating func append(_ operation: ListOperation) {
    switch operation {
    case .insert(let id, let left, let right, let stamp, let values):
      insert(
        id: local(id), left: local(left), right: local(right), stamp: stamp, values: values[...])
    case .set(let id, let element, let stamp, let value):
      set(id: local(id), element: local(element), stamp: stamp, value: value)
    case .move(let id, let element, let left, let right, let stamp):
      move(
        id: local(id), element: local(element), left: local(left), right: local(right),
        stamp: stamp)
    case .remove(let id, let element):
      remove(id: local(id), element: local(element))
    }
  }

  private mutating func local(_ id: OperationID?) -> ListID {
    guard let id else { return .none }
    return ListID(replica: note(id.replica), seq: id.seq)
  }
}

extension ListLog: Equatable {
  /// Whether both hold the same operations in the same order.
  package static func == (left: ListLog, right: ListLog) -> Bool {
    left.operations == right.operations
  }
}
