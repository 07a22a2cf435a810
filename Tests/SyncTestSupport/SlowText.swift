package import QueueModel
package import QueueOracle
package import SequenceCRDT

/// A text as the explicit tree with one character in each node, to compare `TextContent` with.
package struct SlowText {
  package private(set) var tree = SlowSequence()
  private var characters: [OperationID: Unicode.Scalar] = [:]
  private var hidden: Set<OperationID> = []

  package init() {}

  package var count: Int { characters.count }
  package var visibleCount: Int { characters.count - hidden.count }

  package func contains(_ id: OperationID) -> Bool { characters[id] != nil }

  package func isVisible(_ id: OperationID) -> Bool { contains(id) && !hidden.contains(id) }

  /// Whether all these ids are here.
  package func contains(first: OperationID, count: Int) -> Bool {
    (0..<count).allSatisfy { first.advanced(by: $0).map(contains) ?? false }
  }

  /// - Precondition: the ids are new, the origins are not.
  package mutating func insert(_ id: OperationID, text: String, origins: Operation.Origins) {
    var origins = origins
    for (distance, scalar) in text.unicodeScalars.enumerated() {
      guard let unit = id.advanced(by: distance) else { continue }
      tree.insert(unit, origins: origins)
      characters[unit] = scalar
      origins.left = unit
    }
  }

  package mutating func delete(first: OperationID, count: Int) {
    for distance in 0..<count {
      guard let unit = first.advanced(by: distance) else { continue }
      hidden.insert(unit)
    }
  }

  /// The visible text, if `order` is the order of the tree.
  package func text(in order: [OperationID]) -> String {
    var view = String.UnicodeScalarView()
    for id in order where !hidden.contains(id) {
      if let scalar = characters[id] { view.append(scalar) }
    }
    return String(view)
  }
}
