/// An insert-only sequence in FugueMax order, kept as runs of units with consecutive ids.
///
/// A *unit* is a slot of a queue or a scalar of a text. Units never move; hiding one leaves it in
/// place, because others may name it as an origin. The order depends on the set of insertions
/// alone, so replicas that know the same insertions agree, whatever the order of arrival, and
/// whatever origins a faulty author names.
///
/// The order is that of a tree. A unit is a left child of its right origin if that descends from
/// its left origin, else a right child of its left origin; a missing left origin is the root.
/// Left children stand in the order of their ids; right children by their right origins, the
/// later first, equal ones by id. The sequence is the tree read from left to right.
///
/// Source: Weidner and Kleppmann, "The Art of the Fugue: Minimizing Interleaving in Collaborative
/// Text Editing", arXiv:2305.00583 (FugueMax). The tree is not kept; only what lies between the
/// two origins of an insertion is climbed, which is nothing unless others inserted there too.
/// Lookup of an id is a scan over the runs from the end, where almost all edits happen.
package struct RunSequence: Sendable {
  /// Units with consecutive ids that stand side by side: unit *k* > 0 has the left origin
  /// `id + k − 1` and the run's right origin.
  package struct Run: Hashable, Sendable {
    /// The id of the first unit.
    package var id: OperationID
    /// How many units, at least 1.
    package var length: Int
    /// The left origin of the first unit; nil is the start.
    package var left: OperationID?
    /// The right origin of every unit; nil is the end.
    package var right: OperationID?
    /// Whether the units count as content.
    package var isVisible: Bool
    /// Where the owner keeps the content of the first unit; later units follow.
    package var contentStart: Int
    /// Where the chain of left children that the first unit belongs to begins: the first right
    /// child met on the way to the root, itself where it is one. It never changes.
    var top: OperationID

    /// Puts a run together whose first unit is a right child.
    package init(
      id: OperationID, length: Int, left: OperationID?, right: OperationID?, isVisible: Bool,
      contentStart: Int
    ) {
      top = id
      self.id = id
      self.length = length
      self.left = left
      self.right = right
      self.isVisible = isVisible
      self.contentStart = contentStart
    }

    /// The id of the unit at an offset below `length`.
    package func unitID(at offset: Int) -> OperationID {
      OperationID(replica: id.replica, seq: id.seq &+ UInt32(truncatingIfNeeded: offset))
    }

    var lastID: OperationID { unitID(at: length - 1) }

    /// The offset of `other` in this run, or nil.
    func offset(of other: OperationID) -> Int? {
      guard other.replica == id.replica, other.seq >= id.seq else { return nil }
      let offset = Int(other.seq - id.seq)
      return offset < length ? offset : nil
    }

    /// Whether `next`, standing right behind, can become part of this run.
    func canAbsorb(_ next: Run) -> Bool {
      next.top == next.id && next.left == lastID && next.id == id.advanced(by: length)
        && next.right == right
        && next.isVisible == isVisible && next.contentStart == contentStart + length
    }
  }

  /// Where a unit stands: a run and an offset in it. The start is before (0, 0); the end is
  /// (number of runs, 0).
  struct Place: Comparable {
    var run: Int
    var offset: Int

    static let start = Place(run: -1, offset: 0)

    static func < (left: Place, right: Place) -> Bool {
      (left.run, left.offset) < (right.run, right.offset)
    }
  }

  /// The runs in order, hidden ones too.
  package internal(set) var runs: [Run] = []
  /// How many units are visible.
  package private(set) var visibleCount = 0
  /// How many units there are.
  package private(set) var unitCount = 0

  package init() {}

  /// Restores a sequence from its runs in order.
  ///
  /// - Throws: `SequenceFault` where two runs hold the same id.
  package init(runs: [Run]) throws(SequenceFault) {
    self.runs = runs
    for run in runs {
      guard run.length >= 1, run.id.seq >= 1, run.id.advanced(by: run.length - 1) != nil else {
        throw .invalidRun(run.id)
      }
      unitCount += run.length
      visibleCount += run.isVisible ? run.length : 0
    }
    try findTops(UnitIndex(self))
  }

  /// Whether the sequence holds the unit.
  ///
  /// - Complexity: O(runs), from the end.
  package func contains(_ id: OperationID) -> Bool {
    place(of: id) != nil
  }

  /// Whether the unit is here and visible.
  package func isVisible(_ id: OperationID) -> Bool {
    place(of: id).map { runs[$0.run].isVisible } ?? false
  }

  /// The index of the unit's content, or nil.
  package func contentIndex(of id: OperationID) -> Int? {
    place(of: id).map { runs[$0.run].contentStart + $0.offset }
  }

  func place(of id: OperationID) -> Place? {
    for index in runs.indices.reversed() {
      if let offset = runs[index].offset(of: id) { return Place(run: index, offset: offset) }
    }
    return nil
  }

  func leftPlace(of origin: OperationID?) throws(SequenceFault) -> Place {
    guard let origin else { return .start }
    guard let place = place(of: origin) else { throw .unknownOrigin(origin) }
    return place
  }

  func rightPlace(of origin: OperationID?) throws(SequenceFault) -> Place {
    guard let origin else { return Place(run: runs.count, offset: 0) }
    guard let place = place(of: origin) else { throw .unknownOrigin(origin) }
    return place
  }

  /// Puts units with consecutive ids where FugueMax order says; the whole run stays together.
  ///
  /// - Precondition: the ids are new to the sequence.
  /// - Throws: `SequenceFault`; the sequence is unchanged then.
  /// - Complexity: O(runs) to find the origins; where *k* runs stand between them, O(*k*²) more.
  package mutating func integrate(
    id: OperationID, length: Int, left: OperationID?, right: OperationID?, contentStart: Int
  ) throws(SequenceFault) {
    let leftPlace = try leftPlace(of: left)
    let rightPlace = try rightPlace(of: right)
    guard leftPlace < rightPlace else { throw .originsOutOfOrder }

    var run = Run(
      id: id, length: length, left: left, right: right, isVisible: true,
      contentStart: contentStart)
    let destination: Place
    if right != nil, descends(rightPlace, from: leftPlace) {
      run.top = top(of: rightPlace)
      destination = placeAmongLeftChildren(of: rightPlace, behind: leftPlace, id: id)
    } else {
      destination = try placeAmongRightChildren(of: leftPlace, before: rightPlace, run: run)
    }
    insert(run, at: destination)
    visibleCount += length
    unitCount += length
  }

  func place(behind place: Place) -> Place {
    guard place.run >= 0 else { return Place(run: 0, offset: 0) }
    return place.offset + 1 < runs[place.run].length
      ? Place(run: place.run, offset: place.offset + 1) : Place(run: place.run + 1, offset: 0)
  }

  func place(before place: Place) -> Place {
    if place.offset > 0 { return Place(run: place.run, offset: place.offset - 1) }
    return place.run > 0
      ? Place(run: place.run - 1, offset: runs[place.run - 1].length - 1) : .start
  }

  private mutating func insert(_ run: Run, at place: Place) {
    var index = place.run
    if place.offset > 0 {
      split(run: place.run, at: place.offset)
      index += 1
    }
    if index > 0, runs[index - 1].canAbsorb(run) {
      runs[index - 1].length += run.length
    } else {
      runs.insert(run, at: index)
    }
  }

  /// Cuts a run in two before the unit at `offset`.
  private mutating func split(run index: Int, at offset: Int) {
    let whole = runs[index]
    runs[index].length = offset
    runs.insert(
      Run(
        id: whole.unitID(at: offset), length: whole.length - offset,
        left: whole.unitID(at: offset - 1), right: whole.right, isVisible: whole.isVisible,
        contentStart: whole.contentStart + offset),
      at: index + 1)
  }

  /// Hides the units `first … first + count − 1`; those hidden already stay so.
  ///
  /// - Throws: `SequenceFault.unknownOrigin` where one of them is not here; nothing is hidden then.
  package mutating func hide(first: OperationID, count: Int) throws(SequenceFault) {
    try check(first: first, count: count)
    var hidden = 0
    while hidden < count {
      guard let id = first.advanced(by: hidden), let place = place(of: id) else { return }
      hidden += hidePart(of: place, atMost: count - hidden)
    }
  }

  /// Checks that the units `first … first + count − 1` are all here.
  ///
  /// - Throws: `SequenceFault.unknownOrigin` naming the first that is not.
  package func check(first: OperationID, count: Int) throws(SequenceFault) {
    var checked = 0
    while checked < count {
      guard let id = first.advanced(by: checked), let place = place(of: id) else {
        throw .unknownOrigin(first.advanced(by: checked) ?? first)
      }
      checked += runs[place.run].length - place.offset
    }
  }

  private mutating func hidePart(of place: Place, atMost count: Int) -> Int {
    let length = min(runs[place.run].length - place.offset, count)
    guard runs[place.run].isVisible else { return length }
    var index = place.run
    if place.offset > 0 {
      split(run: index, at: place.offset)
      index += 1
    }
    if length < runs[index].length { split(run: index, at: length) }
    runs[index].isVisible = false
    visibleCount -= length
    if index + 1 < runs.count, runs[index].canAbsorb(runs[index + 1]) {
      runs[index].length += runs[index + 1].length
      runs.remove(at: index + 1)
    }
    if index > 0, runs[index - 1].canAbsorb(runs[index]) {
      runs[index - 1].length += runs[index].length
      runs.remove(at: index)
    }
    return length
  }
}

extension RunSequence {
  /// The neighbours for an insertion right behind a unit (nil: at the start).
  ///
  /// - Returns: nil where the unit is not here.
  package func origins(
    behind unit: OperationID?
  ) -> (left: OperationID?, right: OperationID?)? {
    guard let unit else { return (left: nil, right: runs.first?.id) }
    guard let place = place(of: unit) else { return nil }
    let next = self.place(behind: place)
    return (
      left: unit, right: next.run < runs.count ? runs[next.run].unitID(at: next.offset) : nil
    )
  }

  /// The neighbours for an insertion right before a unit, or nil where it is not here.
  package func origins(
    before unit: OperationID
  ) -> (left: OperationID?, right: OperationID?)? {
    guard let place = place(of: unit) else { return nil }
    if place.offset > 0 {
      return (left: runs[place.run].unitID(at: place.offset - 1), right: unit)
    }
    return (left: place.run > 0 ? runs[place.run - 1].lastID : nil, right: unit)
  }

  /// The neighbours for an insertion at the end.
  package var originsAtEnd: (left: OperationID?, right: OperationID?) {
    (left: runs.last?.lastID, right: nil)
  }

  /// Checks the structure: counts, maximal runs, unique ids, origins that exist and enclose.
  ///
  /// - Returns: the index of the units that the check made.
  /// - Throws: `SequenceFault` naming the first run that is wrong.
  /// - Complexity: O(runs · log runs).
  @discardableResult
  package func checkInvariants() throws(SequenceFault) -> UnitIndex {
    let copy = try RunSequence(runs: runs)
    guard copy.visibleCount == visibleCount, copy.unitCount == unitCount else {
      throw .wrongCount
    }
    for (run, restored) in zip(runs, copy.runs) where run.top != restored.top {
      throw .invalidRun(run.id)
    }
    let index = try UnitIndex(self)
    for (number, run) in runs.enumerated() {
      let place = Place(run: number, offset: 0)
      if let left = run.left {
        guard let leftPlace = index.place(of: left) else { throw .unknownOrigin(left) }
        guard leftPlace < place else { throw .originsOutOfOrder }
      }
      if let right = run.right {
        guard let rightPlace = index.place(of: right) else { throw .unknownOrigin(right) }
        guard rightPlace.run > number else { throw .originsOutOfOrder }
      }
      if number > 0, runs[number - 1].canAbsorb(run) { throw .invalidRun(run.id) }
    }
    return index
  }
}

/// Why a sequence refuses an insertion or a list of runs.
package enum SequenceFault: Error, Hashable, Sendable {
  /// An origin or target is no unit of this sequence.
  case unknownOrigin(OperationID)
  /// The right origin does not stand behind the left one.
  case originsOutOfOrder
  /// A run is empty, overflows, repeats an id, or should be one with its neighbour.
  case invalidRun(OperationID)
  /// The cached counts are wrong.
  case wrongCount
}
