package import QueueModel

/// Carries operations between devices with faults: reorders, duplicates, delays, cuts runs apart,
/// and loses batches until the sender repeats them.
package struct OperationNetwork {
  package struct Batch {
    package var receiver: Int
    package var operations: [Operation]
  }

  /// How often each fault happens, in percent.
  package struct Faults {
    package var drop = 10
    package var duplicate = 10
    package var shuffle = 15
    package var split = 20
    package var cut = 20
    package init() {}
    package static let none: Faults = {
      var faults = Faults()
      faults.drop = 0
      faults.duplicate = 0
      faults.shuffle = 0
      faults.split = 0
      faults.cut = 0
      return faults
    }()
  }

  package private(set) var inFlight: [Batch] = []
  private var lost: [Batch] = []
  private let faults: Faults

  package init(faults: Faults = Faults()) {
    self.faults = faults
  }

  /// Whether nothing is in transit or waits to be repeated.
  package var isIdle: Bool { inFlight.isEmpty && lost.isEmpty }

  /// Sends operations to one device.
  package mutating func send(
    _ operations: [Operation], to receiver: Int, using generator: inout SeededGenerator
  ) {
    guard !operations.isEmpty else { return }
    var pieces = operations.flatMap { cut($0, using: &generator) }
    if generator.chance(faults.shuffle) { pieces.shuffle(using: &generator) }
    let batches =
      generator.chance(faults.split)
      ? pieces.map { Batch(receiver: receiver, operations: [$0]) }
      : [Batch(receiver: receiver, operations: pieces)]
    for batch in batches {
      if generator.chance(faults.drop) {
        lost.append(batch)
      } else {
        inFlight.append(batch)
        if generator.chance(faults.duplicate) { inFlight.append(batch) }
      }
    }
  }

  /// The next batch to arrive: any of those in transit.
  package mutating func deliver(using generator: inout SeededGenerator) -> Batch? {
    guard !inFlight.isEmpty else { return nil }
    return inFlight.remove(at: generator.below(inFlight.count))
  }

  /// Sends everything again that was lost.
  package mutating func repeatLost() {
    inFlight.append(contentsOf: lost)
    lost.removeAll()
  }

  /// A run may arrive whole, in two pieces, or whole with an additional piece of it.
  private func cut(
    _ operation: Operation, using generator: inout SeededGenerator
  ) -> [Operation] {
    guard operation.length > 1, generator.chance(faults.cut) else { return [operation] }
    let place = 1 + generator.below(operation.length - 1)
    guard let front = operation.keepingFirst(place), let back = operation.droppingFirst(place)
    else { return [operation] }
    return switch generator.below(4) {
    case 0: [operation, front]
    case 1: [front, operation]
    case 2: [back, operation]
    default: [front, back]
    }
  }
}
