/// A sequence in FugueMax order, kept as runs of units with consecutive ids.
///
/// A *unit* is a slot of a queue or a scalar of a text. Units never move. Hiding a unit leaves it
/// in place, because others may name it as an origin. The order depends only on the set of
/// insertions. So replicas that know the same insertions agree, whatever the order of arrival, and
/// even if a faulty author names wrong origins.
///
/// The order is that of a tree. A unit is a left child of its right origin if that descends from
/// its left origin; otherwise it is a right child of its left origin. A missing left origin is the
/// root. Left children are sorted by time, then id. Right children are sorted by their right
/// origins, the later first, then by time, then id. The sequence is the tree read from left to
/// right. Texts have no times: their units are sorted by id.
///
/// Each unit also has a *number*, counted from 0 without gaps in the order of arrival at this copy.
/// Owners use it for data beside the sequence: the text of scalars, the element of a slot. In a
/// restored sequence the units are numbered in the order of the list.
///
/// A value: copies share memory until one of them changes, and then copies the whole sequence.
///
/// Source: Weidner and Kleppmann, "The Art of the Fugue: Minimizing Interleaving in Collaborative
/// Text Editing", arXiv:2305.00583 (FugueMax).
package struct RunSequence: Sendable {
  /// Adjacent units with consecutive ids: unit *k* > 0 has the left origin `id + k − 1`, and the
  /// run's right origin and time.
  package struct Run: Hashable, Sendable {
    /// The id of the first unit.
    package var id: OperationID
    /// The number of units, at least 1.
    package var length: Int
    /// The left origin of the first unit; nil is the start.
    package var left: OperationID?
    /// The right origin of every unit; nil is the end.
    package var right: OperationID?
    /// Sorts units made at one place, before their ids do; 0 in a text.
    package var time: Int64
    /// Whether the units count as content.
    package var isVisible: Bool
    /// The number of the first unit; those of later units follow.
    package var contentStart: Int

    /// Creates a run.
    ///
    /// - Parameter contentStart: ignored when a sequence is restored.
    package init(
      id: OperationID, length: Int, left: OperationID?, right: OperationID?, time: Int64 = 0,
      isVisible: Bool, contentStart: Int = 0
    ) {
      self.id = id
      self.length = length
      self.left = left
      self.right = right
      self.time = time
      self.isVisible = isVisible
      self.contentStart = contentStart
    }

    /// The id of the unit at an offset below `length`.
    package func unitID(at offset: Int) -> OperationID {
      OperationID(replica: id.replica, seq: id.seq &+ UInt32(truncatingIfNeeded: offset))
    }
  }

  /// The maximum number of units in a sequence.
  package static let unitsMax = Int(SequenceCore.unitsMax)

  private(set) var box: SequenceStorage?

  package init() {}

  /// Restores a sequence from its runs in order.
  ///
  /// - Throws: `SequenceFault` if the runs contradict themselves or each other.
  /// - Complexity: O(runs · log runs).
  package init(runs: [Run]) throws(SequenceFault) {
    if !runs.isEmpty { box = SequenceStorage(try SequenceCore(restoring: runs)) }
  }

  #if DEBUG
    /// Reads the core; an empty sequence has none.
    ///
    /// In debug builds, which the tests use, the compiler rejects a body that changes the core,
    /// because others may read it at the same time.
    func read<Result>(
      _ body: (borrowing SequenceCore) -> Result, orEmpty empty: @autoclosure () -> Result
    ) -> Result {
      guard let box else { return empty() }
      return withExtendedLifetime(box) { unsafe body(box.core.pointee) }
    }
  #else
    /// The same with `inout`: the compiler would copy the 400 bytes of a borrowed core to the
    /// stack.
    @inline(__always)
    func read<Result>(
      _ body: (inout SequenceCore) -> Result, orEmpty empty: @autoclosure () -> Result
    ) -> Result {
      guard let box else { return empty() }
      return withExtendedLifetime(box) { unsafe body(&box.core.pointee) }
    }
  #endif

  /// Changes the core; makes or copies it first if needed.
  @inline(__always)
  mutating func change<Result>(
    _ body: (inout SequenceCore) throws(SequenceFault) -> Result
  ) throws(SequenceFault) -> Result {
    if !isKnownUniquelyReferenced(&box) { box = box?.copy() ?? SequenceStorage(SequenceCore()) }
    // Safe: the box lives as long as this value holds it, and has no other owner.
    return try unsafe body(&box.unsafelyUnwrapped.core.pointee)
  }
}

// MARK: Reading

extension RunSequence {
  /// The number of visible units.
  package var visibleCount: Int { read({ Int($0.visibleCount) }, orEmpty: 0) }

  /// The number of units, hidden ones included.
  package var unitCount: Int { read({ Int($0.unitCount) }, orEmpty: 0) }

  /// The runs in order, hidden ones included. Neighbours may continue each other if their units
  /// arrived separately.
  ///
  /// - Complexity: O(runs · log runs).
  package var runs: [Run] {
    var runs: [Run] = []
    forEachRun { runs.append($0) }
    return runs
  }

  /// Visits the runs in order.
  package func forEachRun(_ body: (Run) -> Void) {
    read(
      { core in
        var place = core.firstPlace
        while let current = place {
          let index = core.run(at: current)
          let run = core.runs[index]
          body(
            Run(
              id: core.ids.id(of: run.unit), length: Int(run.length),
              left: core.ids.optionalID(of: run.left), right: core.ids.optionalID(of: run.right),
              time: core.time(ofRun: index), isVisible: run.isVisible,
              contentStart: Int(run.unit)))
          place = core.place(behind: current)
        }
      }, orEmpty: ())
  }

  /// Visits the numbers of the visible units in order, as ranges.
  package func forEachVisible(_ body: (Range<Int>) -> Void) {
    read(
      { core in
        var place = core.firstPlace
        while let current = place {
          let run = core.runs[core.run(at: current)]
          if run.isVisible { body(Int(run.unit)..<Int(run.end)) }
          place = core.place(behind: current)
        }
      }, orEmpty: ())
  }

  /// The runs in order, as long as possible: equal for equal sets of insertions and hidden units,
  /// whatever the order of arrival.
  package var canonicalRuns: [Run] {
    var runs: [Run] = []
    forEachRun { run in
      if let last = runs.last, last.id.advanced(by: last.length) == run.id,
        run.left == last.unitID(at: last.length - 1), run.right == last.right,
        run.time == last.time, run.isVisible == last.isVisible
      {
        runs[runs.count - 1].length += run.length
      } else {
        runs.append(run)
      }
    }
    return runs
  }

  /// Whether the sequence holds the unit.
  ///
  /// - Complexity: O(replicas + log runs), as for every function that takes an id.
  package func contains(_ id: OperationID) -> Bool {
    contentIndex(of: id) != nil
  }

  /// The number of the unit, or nil.
  package func contentIndex(of id: OperationID) -> Int? {
    read(
      { core in
        let unit = core.ids.unit(of: id)
        return unit == SequenceCore.none ? nil : Int(unit)
      }, orEmpty: nil)
  }

  /// The id of the unit with a number.
  ///
  /// - Precondition: the number is from 0 and below `unitCount`.
  package func id(ofContent number: Int) -> OperationID {
    read(
      { $0.ids.id(of: UInt32(number)) }, orEmpty: OperationID(replica: .init(rawValue: 0), seq: 0))
  }

  /// Whether the unit is known and visible.
  package func isVisible(_ id: OperationID) -> Bool {
    read(
      { core in
        let unit = core.ids.unit(of: id)
        return unit != SequenceCore.none && core.runs[core.runOfUnit[unit]].isVisible
      }, orEmpty: false)
  }

  /// Checks that the units `first … first + count − 1` are known.
  ///
  /// - Throws: `SequenceFault.unknownOrigin` with the first unknown one.
  package func check(first: OperationID, count: Int) throws(SequenceFault) {
    guard let box else {
      guard count <= 0 else { throw .unknownOrigin(first) }
      return
    }
    try unsafe RunSequence.check(first: first, count: count, in: box.core.pointee)
  }

  private static func check(
    first: OperationID, count: Int, in core: borrowing SequenceCore
  ) throws(SequenceFault) {
    var checked = 0
    while checked < count {
      let id = first.advanced(by: checked)
      let length = id.map { Int(core.ids.stretch(from: $0).length) } ?? 0
      guard length > 0 else { throw .unknownOrigin(id ?? first) }
      checked += length
    }
  }

  /// Checks the structure.
  ///
  /// - Throws: `SequenceFault` with the first fault found.
  /// - Complexity: O(units + runs · log runs).
  package func checkInvariants() throws(SequenceFault) {
    if let box { try unsafe box.core.pointee.checkInvariants() }
  }
}

// MARK: Changing

extension RunSequence {
  /// Inserts units with consecutive ids at their place in FugueMax order; the whole run stays
  /// together.
  ///
  /// - Parameter time: sorts units made at one place, before their ids do.
  /// - Throws: `SequenceFault`, and leaves the sequence unchanged. A replica's ids must arrive in
  ///   order.
  /// - Complexity: O(log runs) if there are no other insertions between the origins, else
  ///   usually O(log² runs).
  package mutating func integrate(
    id: OperationID, length: Int, left: OperationID?, right: OperationID?, time: Int64 = 0
  ) throws(SequenceFault) {
    try change { core throws(SequenceFault) in
      guard length >= 1, id.seq >= 1, UInt64(id.seq) + UInt64(length) <= 1 << 32,
        length <= Int(SequenceCore.unitsMax - core.unitCount)
      else { throw .invalidRun(id) }
      let leftUnit = try RunSequence.unit(of: left, in: core)
      let rightUnit = try RunSequence.unit(of: right, in: core)
      try core.integrate(
        id: id, length: UInt32(length), left: leftUnit, right: rightUnit, time: time)
    }
  }

  private static func unit(
    of origin: OperationID?, in core: borrowing SequenceCore
  ) throws(SequenceFault) -> UInt32 {
    guard let origin else { return SequenceCore.none }
    let unit = core.ids.unit(of: origin)
    guard unit != SequenceCore.none else { throw .unknownOrigin(origin) }
    return unit
  }

  /// Hides the units `first … first + count − 1`; hidden ones stay hidden.
  ///
  /// - Throws: `SequenceFault.unknownOrigin` if one of them is unknown, and hides nothing.
  package mutating func hide(first: OperationID, count: Int) throws(SequenceFault) {
    guard count > 0 else { return }
    try change { core throws(SequenceFault) in
      let stretch = core.ids.stretch(from: first)
      guard Int(stretch.length) < count else {
        core.hide(units: stretch.unit..<stretch.unit + UInt32(count))
        return
      }
      try RunSequence.check(first: first, count: count, in: core)
      var hidden = 0
      while hidden < count, let id = first.advanced(by: hidden) {
        let stretch = core.ids.stretch(from: id)
        let length = min(Int(stretch.length), count - hidden)
        core.hide(units: stretch.unit..<stretch.unit + UInt32(length))
        hidden += length
      }
    }
  }

  /// Removes the units that were integrated since `unitCount` was `count`; units hidden since then
  /// stay hidden.
  ///
  /// - Complexity: O(units).
  package mutating func truncate(toUnitCount count: Int) {
    guard count < unitCount else { return }
    if count <= 0 {
      self = RunSequence()
    } else if (try? change { core throws(SequenceFault) in core.truncate(to: UInt32(count)) })
      == nil
    {
      preconditionFailure("taking back units cannot fail")
    }
  }
}

extension SequenceCore {
  /// Hides units with consecutive numbers, in whichever runs.
  mutating func hide(units: Range<UInt32>) {
    var unit = units.lowerBound
    while unit < units.upperBound {
      let index = runOfUnit[unit]
      let run = runs[index]
      let end = min(run.end, units.upperBound)
      if run.isVisible { hide(unit..<end, at: place(ofRun: index)) }
      unit = end
    }
  }
}

// MARK: Neighbours

extension RunSequence {
  /// The neighbours for an insertion right after a unit; nil for the start.
  ///
  /// - Returns: nil if the unit is unknown.
  package func origins(
    behind unit: OperationID?
  ) -> (left: OperationID?, right: OperationID?)? {
    guard let unit else {
      return (
        left: nil,
        right: read({ $0.ids.optionalID(of: $0.unit(behind: SequenceCore.none)) }, orEmpty: nil)
      )
    }
    return read(
      { core in
        let number = core.ids.unit(of: unit)
        guard number != SequenceCore.none else { return nil }
        return (left: unit, right: core.ids.optionalID(of: core.unit(behind: number)))
      }, orEmpty: nil)
  }

  /// The neighbours for an insertion right before a unit; nil if it is unknown.
  package func origins(
    before unit: OperationID
  ) -> (left: OperationID?, right: OperationID?)? {
    read(
      { core in
        let number = core.ids.unit(of: unit)
        guard number != SequenceCore.none else { return nil }
        return (left: core.ids.optionalID(of: core.unit(before: number)), right: unit)
      }, orEmpty: nil)
  }

  /// The neighbours for an insertion at the end.
  package var originsAtEnd: (left: OperationID?, right: OperationID?) {
    (left: read({ $0.ids.optionalID(of: $0.lastUnit) }, orEmpty: nil), right: nil)
  }
}

/// Why a sequence refuses an insertion or a list of runs.
package enum SequenceFault: Error, Hashable, Sendable {
  /// An origin or target is not a unit of this sequence.
  case unknownOrigin(OperationID)
  /// The right origin does not come after the left one.
  case originsOutOfOrder
  /// A run is empty, overflows, repeats an id, or is in a cycle of origins.
  case invalidRun(OperationID)
  /// The cached counts are wrong.
  case wrongCount
}
