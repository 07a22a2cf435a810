import SequenceCRDT

/// Joins lists of slots and texts of two states. The units are those of both; their order is that
/// of the tree, which depends only on the units.
extension KnownStates {
  func joined(
    _ one: [WorkspaceImage.SlotRun], _ other: [WorkspaceImage.SlotRun]
  ) throws(MergeError) -> [WorkspaceImage.SlotRun] {
    if one == other { return one }
    let difference = try ListDifference(
      try RunSequence.Run.sorted(one.map { ($0, true) }),
      try RunSequence.Run.sorted(other.map { ($0, true) }), in: self)
    if difference.there.isNothing { return one }
    if difference.here.isNothing { return other }
    let isMineKept = difference.there.count <= difference.here.count
    var slots = try RunSequence.restored(from: isMineKept ? one : other)
    try slots.add(isMineKept ? difference.there : difference.here)
    return slots.canonicalRuns.map(WorkspaceImage.SlotRun.init)
  }

  /// A text that both states have.
  func joined(
    _ one: WorkspaceImage.Addition, _ other: WorkspaceImage.Addition
  ) throws(MergeError) -> WorkspaceImage.Addition {
    var one = one
    var other = other
    // A server may have lowered it twice.
    one.stamp = max(one.stamp, other.stamp)
    other.stamp = one.stamp
    if one.runs == other.runs, one.text.utf8.elementsEqual(other.text.utf8) { return one }
    let difference = try ListDifference(
      try RunSequence.Run.sorted(one.runs.map { ($0.slots, $0.isVisible) }),
      try RunSequence.Run.sorted(other.runs.map { ($0.slots, $0.isVisible) }), in: self)
    let mine = try TextContent(restoring: one.runs, text: one.text)
    let theirs = try TextContent(restoring: other.runs, text: other.text)
    for shown in difference.shown {
      let (here, there) = (mine.utf8(of: shown.here), theirs.utf8(of: shown.there))
      guard here.elementsEqual(there) else { throw .contradiction(in: one.id) }
    }
    if difference.there.isNothing { return one }
    if difference.here.isNothing { return other }
    let isMineKept = difference.there.count <= difference.here.count
    var text = JoinedText(content: isMineKept ? mine : theirs, source: isMineKept ? theirs : mine)
    try text.add(isMineKept ? difference.there : difference.here)
    var addition = one
    addition.runs = text.content.sequence.canonicalRuns.map {
      WorkspaceImage.TextRun(slots: WorkspaceImage.SlotRun($0), isVisible: $0.isVisible)
    }
    addition.text = text.content.text
    return addition
  }
}

/// The differences between two lists with units of the same tree.
private struct ListDifference {
  /// The units that one list has and the other lacks.
  struct Part {
    /// Units in a causal order, numbered as in the list that has them.
    var units: [RunSequence.Run] = []
    /// Units of both lists that are hidden in this list and visible in the other.
    var hidden: [RunSequence.Run] = []

    var isNothing: Bool { units.isEmpty && hidden.isEmpty }
    var count: Int { units.count + hidden.count }
  }

  var here = Part()
  var there = Part()
  /// The numbers of units that are visible in both.
  var shown: [(here: Range<Int>, there: Range<Int>)] = []

  /// Compares two lists, whose runs are sorted by id.
  ///
  /// - Throws: `MergeError.invalidImage` if they contradict each other: an origin differs, a list
  ///   lacks a unit that its state knows, or units wait for each other.
  /// - Complexity: O(runs · log runs).
  init(
    _ one: [RunSequence.Run], _ other: [RunSequence.Run], in states: KnownStates
  ) throws(MergeError) {
    var (mine, theirs) = (one[...], other[...])
    while let run = mine.first ?? theirs.first {
      let (left, right) = (mine.first?.id ?? run.id, theirs.first?.id ?? run.id)
      if theirs.isEmpty || !mine.isEmpty && left < right {
        let part = mine.takeFirst(before: theirs.first?.id)
        try states.check(part.id, isUnknownTo: states.there)
        here.units.append(part)
      } else if mine.isEmpty || right < left {
        let part = theirs.takeFirst(before: mine.first?.id)
        try states.check(part.id, isUnknownTo: states.here)
        there.units.append(part)
      } else {
        try compare(&mine, &theirs)
      }
    }
    here.units = try here.units.inCausalOrder()
    there.units = try there.units.inCausalOrder()
  }

  /// Compares the units that both lists have, from one id on.
  private mutating func compare(
    _ mine: inout ArraySlice<RunSequence.Run>, _ theirs: inout ArraySlice<RunSequence.Run>
  ) throws(MergeError) {
    let length = min(mine.first?.length ?? 0, theirs.first?.length ?? 0)
    let (own, other) = (mine.takeFirst(length), theirs.takeFirst(length))
    guard own.left == other.left, own.right == other.right, own.time == other.time else {
      throw .contradiction(in: own.id)
    }
    switch (own.isVisible, other.isVisible) {
    case (true, true): shown.append((own.numbers, other.numbers))
    case (true, false): there.hidden.append(other)
    case (false, true): here.hidden.append(own)
    case (false, false): break
    }
  }
}

extension RunSequence.Run {
  fileprivate var numbers: Range<Int> { contentStart..<contentStart + length }

  /// The runs of a list by id, their units numbered in the order of the list.
  ///
  /// - Precondition: the lengths were checked.
  /// - Throws: `MergeError.invalidImage` if a unit occurs twice.
  static func sorted(
    _ list: [(run: WorkspaceImage.SlotRun, isVisible: Bool)]
  ) throws(MergeError) -> [RunSequence.Run] {
    var number = 0
    var runs = list.map { entry in
      var run = RunSequence.Run(entry.run, isVisible: entry.isVisible)
      run.contentStart = number
      number += run.length
      return run
    }
    runs.sort { $0.id < $1.id }
    for (run, next) in zip(runs, runs.dropFirst())
    where next.id <= run.unitID(at: run.length - 1) {
      throw .invalidImage(reason: "a unit occurs twice")
    }
    return runs
  }
}

extension [RunSequence.Run] {
  /// The run that holds a unit, among runs by id.
  fileprivate func runIndex(of id: OperationID) -> Int? {
    let index = indices.partitioningIndex { self[$0].id > id } - 1
    guard index >= 0, self[index].id.replica == id.replica,
      Int(id.seq - self[index].id.seq) < self[index].length
    else { return nil }
    return index
  }

  /// The number of a unit of runs by id; nil if it is not among them.
  func number(of id: OperationID) -> Int? {
    runIndex(of: id).map { self[$0].contentStart + Int(id.seq - self[$0].id.seq) }
  }
}

extension ArraySlice<RunSequence.Run> {
  /// Removes the first units: at most `length`, and only from the first run.
  ///
  /// - Precondition: there is a run, and `length` is from 1 to its length.
  fileprivate mutating func takeFirst(_ length: Int) -> RunSequence.Run {
    var taken = self[startIndex]
    guard length < taken.length else {
      removeFirst()
      return taken
    }
    self[startIndex].id = taken.unitID(at: length)
    self[startIndex].left = taken.unitID(at: length - 1)
    self[startIndex].length -= length
    self[startIndex].contentStart += length
    taken.length = length
    return taken
  }

  /// Removes the units of the first run that are before an id.
  ///
  /// - Precondition: the first unit is before it.
  fileprivate mutating func takeFirst(before id: OperationID?) -> RunSequence.Run {
    let run = self[startIndex]
    guard let id, id.replica == run.id.replica else { return takeFirst(run.length) }
    return takeFirst(Swift.min(run.length, Int(id.seq - run.id.seq)))
  }
}

extension [RunSequence.Run] {
  /// Sorts runs by id, each after those with its origins and after earlier ones of its replica.
  ///
  /// - Throws: `MergeError.invalidImage` if they wait for each other.
  /// - Complexity: O(runs · log runs).
  fileprivate func inCausalOrder() throws(MergeError) -> [RunSequence.Run] {
    var ordered: [RunSequence.Run] = []
    ordered.reserveCapacity(count)
    var isOrdered = [Bool](repeating: false, count: count)
    var isWaiting = isOrdered
    var waiting: [Int] = []
    for start in indices where !isOrdered[start] {
      waiting.append(start)
      while let current = waiting.last {
        if let needed = runsBefore(current).first(where: { !isOrdered[$0] }) {
          isWaiting[current] = true
          guard !isWaiting[needed] else {
            throw .invalidImage(reason: "units of a list wait for each other")
          }
          waiting.append(needed)
        } else {
          ordered.append(self[current])
          isOrdered[current] = true
          isWaiting[current] = false
          waiting.removeLast()
        }
      }
    }
    return ordered
  }

  /// The runs that precede one of them in every causal order.
  private func runsBefore(_ index: Int) -> [Int] {
    let run = self[index]
    let earlier = index > 0 && self[index - 1].id.replica == run.id.replica ? index - 1 : nil
    return [earlier, run.left.flatMap(runIndex), run.right.flatMap(runIndex)].compactMap { $0 }
  }
}

// MARK: Adding

/// A list to which the units of another one are added.
private protocol UnitList {
  /// Inserts units at the places of their origins, visible or hidden.
  mutating func insert(_ run: RunSequence.Run) throws(SequenceFault)
  mutating func hide(_ run: RunSequence.Run) throws(SequenceFault)
}

extension UnitList {
  /// Adds the units of another list.
  ///
  /// - Throws: `MergeError.invalidImage` if an origin is missing.
  /// - Complexity: O(runs · log runs) as a rule.
  fileprivate mutating func add(_ part: ListDifference.Part) throws(MergeError) {
    do {
      for run in part.units { try insert(run) }
      for run in part.hidden { try hide(run) }
    } catch {
      throw .invalidImage(reason: "two lists do not fit together: \(error)")
    }
  }
}

extension RunSequence: UnitList {
  fileprivate mutating func insert(_ run: Run) throws(SequenceFault) {
    try integrate(
      id: run.id, length: run.length, left: run.left, right: run.right, time: run.time)
  }

  fileprivate mutating func hide(_ run: Run) throws(SequenceFault) {
    try hide(first: run.id, count: run.length)
  }
}

private struct JoinedText: UnitList {
  var content: TextContent
  /// The text that contains the added units.
  let source: TextContent

  mutating func insert(_ run: RunSequence.Run) throws(SequenceFault) {
    try content.insert(
      id: run.id, text: String(decoding: source.utf8(of: run.numbers), as: UTF8.self),
      left: run.left, right: run.right)
    if !run.isVisible { try hide(run) }
  }

  mutating func hide(_ run: RunSequence.Run) throws(SequenceFault) {
    try content.delete(first: run.id, count: run.length)
  }
}
