/// Future events by virtual time; events at the same time are in the order of their addition.
struct EventQueue<Element> {
  private struct Entry {
    var at: Int64
    var order: UInt64
    var element: Element

    func comes(before other: Entry) -> Bool {
      (at, order) < (other.at, other.order)
    }
  }

  /// A binary heap.
  private var entries: [Entry] = []
  private var added: UInt64 = 0

  var nextAt: Int64? { entries.first?.at }
  var count: Int { entries.count }

  mutating func add(_ element: Element, at: Int64) {
    added += 1
    entries.append(Entry(at: at, order: added, element: element))
    var child = entries.count - 1
    while child > 0 {
      let parent = (child - 1) / 2
      guard entries[child].comes(before: entries[parent]) else { return }
      entries.swapAt(child, parent)
      child = parent
    }
  }

  mutating func popFirst() -> (at: Int64, element: Element)? {
    guard let first = entries.first, let last = entries.popLast() else { return nil }
    if !entries.isEmpty {
      entries[0] = last
      sinkFirst()
    }
    return (first.at, first.element)
  }

  private mutating func sinkFirst() {
    var parent = 0
    while true {
      var least = parent
      for child in [2 * parent + 1, 2 * parent + 2] where child < entries.count {
        if entries[child].comes(before: entries[least]) { least = child }
      }
      guard least != parent else { return }
      entries.swapAt(parent, least)
      parent = least
    }
  }
}
