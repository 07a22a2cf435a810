/// Finding places in the tree by climbing from the runs between two origins.
extension RunSequence {
  private func unitID(at place: Place) -> OperationID {
    runs[place.run].unitID(at: place.offset)
  }

  /// The first right child on the way from a unit to the root, itself included: all units of a
  /// run but the first are right children of the one before.
  func top(of place: Place) -> OperationID {
    place.offset > 0 ? unitID(at: place) : runs[place.run].top
  }

  /// The left origin of a unit: inside a run, the unit before it.
  private func leftOrigin(of place: Place) -> OperationID? {
    place.offset > 0
      ? runs[place.run].unitID(at: place.offset - 1) : runs[place.run].left
  }

  /// Finds a unit that stands behind `low` and before `high`.
  private func place(of id: OperationID, behind low: Place, before high: Place) -> Place? {
    var index = min(high.run, runs.count - 1)
    while index >= max(low.run, 0) {
      if let offset = runs[index].offset(of: id) {
        let place = Place(run: index, offset: offset)
        return place > low && place < high ? place : nil
      }
      index -= 1
    }
    return nil
  }

  /// Whether the unit descends from the one at `ancestor`, which stands before it.
  ///
  /// Left origins of right children lead to the left only, so the way ends at the ancestor or
  /// passes it.
  func descends(_ place: Place, from ancestor: Place) -> Bool {
    guard ancestor != .start else { return true }
    var place = place
    while true {
      guard place.run != ancestor.run else { return true }
      guard let topPlace = self.place(ofTopOf: place),
        let anchor = leftOrigin(of: topPlace)
      else { return false }
      if anchor == unitID(at: ancestor) { return true }
      guard let next = self.place(of: anchor, behind: ancestor, before: place) else { return false }
      place = next
    }
  }

  /// Where the top of a run's first unit stands; it may be further right.
  private func place(ofTopOf place: Place) -> Place? {
    let top = runs[place.run].top
    return top == runs[place.run].id ? Place(run: place.run, offset: 0) : self.place(of: top)
  }

  /// Walks back over the left children of the unit at `parent` that go behind `id`, each with
  /// all that descends from it.
  func placeAmongLeftChildren(
    of parent: Place, behind low: Place, id: OperationID
  ) -> Place {
    var boundary = parent
    while true {
      let previous = place(before: boundary)
      guard previous > low,
        let child = leftChild(of: parent, above: previous, behind: low), id < child
      else { return boundary }
      boundary = Place(run: previous.run, offset: 0)
    }
  }

  /// The left child of `parent` that a unit before it descends from, or nil.
  private func leftChild(
    of parent: Place, above place: Place, behind low: Place
  ) -> OperationID? {
    let parentID = unitID(at: parent)
    var place = place
    while true {
      // The first unit of a run that begins before the gap hangs outside of it.
      guard place.run != low.run else { return nil }
      let run = runs[place.run]
      let isLeftChild = run.top != run.id
      if isLeftChild, run.right == parentID { return run.id }
      guard let next = isLeftChild ? run.right : run.left,
        let nextPlace = self.place(of: next, behind: low, before: parent)
      else { return nil }
      place = nextPlace
    }
  }

  /// Walks on over the right children of the unit at `parent` that go before the new run, each
  /// with all that descends from it.
  func placeAmongRightChildren(
    of parent: Place, before high: Place, run: Run
  ) throws(SequenceFault) -> Place {
    var boundary = place(behind: parent)
    while boundary < high, boundary.run < runs.count,
      let child = rightChild(of: parent, above: boundary, before: high),
      try goesBefore(child, run, rightPlace: high)
    {
      boundary = Place(run: boundary.run + 1, offset: 0)
    }
    return boundary
  }

  /// The right child of `parent` that a unit behind it descends from: its id and right origin.
  private func rightChild(
    of parent: Place, above place: Place, before high: Place
  ) -> (id: OperationID, right: OperationID?)? {
    var place = place
    while true {
      if place.run == parent.run {
        return (unitID(at: Place(run: place.run, offset: parent.offset + 1)), runs[place.run].right)
      }
      guard let topPlace = self.place(ofTopOf: place) else { return nil }
      let anchor = leftOrigin(of: topPlace)
      if anchor == (parent == .start ? nil : unitID(at: parent)) {
        return (unitID(at: topPlace), runs[topPlace.run].right)
      }
      guard let anchor, let next = self.place(of: anchor, behind: parent, before: high) else {
        return nil
      }
      place = next
    }
  }

  private func goesBefore(
    _ child: (id: OperationID, right: OperationID?), _ run: Run, rightPlace: Place
  ) throws(SequenceFault) -> Bool {
    if child.right == run.right { return child.id < run.id }
    return try self.rightPlace(of: child.right) > rightPlace
  }
}

/// Finding the tops again in a sequence restored from its runs.
extension RunSequence {
  private enum TopSearch {
    case found(OperationID)
    /// The top of this run has to be known first.
    case needs(Int)
  }

  /// Sets the top of every run from the origins alone.
  ///
  /// - Throws: `SequenceFault` where origins are unknown, out of order, or go round in circles.
  mutating func findTops(_ index: UnitIndex) throws(SequenceFault) {
    var isKnown = [Bool](repeating: false, count: runs.count)
    for start in runs.indices where !isKnown[start] {
      var waiting = [start]
      while let current = waiting.last {
        switch try searchTop(ofRun: current, index, isKnown) {
        case .found(let top):
          runs[current].top = top
          isKnown[current] = true
          waiting.removeLast()
        case .needs(let other):
          guard waiting.count <= runs.count else { throw .invalidRun(runs[current].id) }
          waiting.append(other)
        }
      }
    }
  }

  private func searchTop(
    ofRun number: Int, _ index: UnitIndex, _ isKnown: [Bool]
  ) throws(SequenceFault) -> TopSearch {
    let run = runs[number]
    guard let right = run.right else { return .found(run.id) }
    guard let rightPlace = index.place(of: right) else { throw .unknownOrigin(right) }
    let parentTop: TopSearch =
      rightPlace.offset > 0
      ? .found(right)
      : isKnown[rightPlace.run] ? .found(runs[rightPlace.run].top) : .needs(rightPlace.run)
    guard let left = run.left else { return parentTop }
    guard let leftPlace = index.place(of: left) else { throw .unknownOrigin(left) }
    guard leftPlace < rightPlace else { throw .originsOutOfOrder }
    var place = rightPlace
    while place.run != leftPlace.run {
      guard isKnown[place.run] else { return .needs(place.run) }
      let top = runs[place.run].top
      guard let topPlace = index.place(of: top) else { throw .unknownOrigin(top) }
      guard let anchor = leftOrigin(of: topPlace) else { return .found(run.id) }
      if anchor == left { return parentTop }
      guard let next = index.place(of: anchor) else { throw .unknownOrigin(anchor) }
      guard next > leftPlace else { return .found(run.id) }
      guard next < place else { throw .originsOutOfOrder }
      place = next
    }
    return parentTop
  }
}
