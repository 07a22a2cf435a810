import DeltaCodec
package import QueueModel
import SequenceCRDT

/// A delta as it is stored and sent: in an envelope, compressed where that makes it shorter.
package enum PackedDelta {
  package static func pack(_ operations: [Operation]) -> [UInt8] {
    Envelope.delta.wrap(DeltaCodec.encodeParts(operations))
  }

  /// Packs operations in their order into parts of at most `bytesMax` bytes, within the limits of
  /// rows, units and inflated bytes.
  ///
  /// Parts end between operations; an insertion or deletion that does not fit a part is cut. A
  /// single operation that cannot be cut is a part of its own, however long.
  /// - Complexity: O(*n* log *n*).
  package static func pack(_ operations: [Operation], bytesMax: Int) -> [[UInt8]] {
    guard !operations.isEmpty else { return [] }
    if isWithinLimits(operations) {
      let body = DeltaCodec.encodeParts(operations)
      if body.bytes.count <= WireLimits.inflateBytesMax {
        let part = Envelope.delta.wrap(body)
        if part.count <= bytesMax { return [part] }
      }
    }
    guard let (first, second) = halves(of: operations) else { return [pack(operations)] }
    return pack(first, bytesMax: bytesMax) + pack(second, bytesMax: bytesMax)
  }

  /// Reads what a peer sent.
  package static func unpack(_ bytes: [UInt8]) throws(WireError) -> [Operation] {
    try unpack(bytes, budget: .wire)
  }

  /// Reads what this device or server stored itself, maybe by an earlier version with other limits.
  package static func unpackStored(_ bytes: [UInt8]) throws(WireError) -> [Operation] {
    try unpack(bytes, budget: .standard)
  }

  private static func unpack(
    _ bytes: [UInt8], budget: DecodingBudget
  ) throws(WireError) -> [Operation] {
    let body = try Envelope.delta.unwrap(bytes)
    do {
      return try DeltaCodec.decode(body, budget: budget)
    } catch {
      throw WireError(error)
    }
  }

  /// Whether the limits of one delta hold; an operation takes at most a row.
  private static func isWithinLimits(_ operations: [Operation]) -> Bool {
    var (items, others) = (0, 0)
    for operation in operations {
      let count = operation.itemCount
      items += count
      if !operation.isOfText { others += count }
    }
    return items <= WireLimits.deltaItemsMax && others <= WireLimits.deltaOperationsMax
      && operations.count <= WireLimits.deltaRowsMax
  }

  /// Two parts of about equal weight, neither empty; nil where there is nothing to cut.
  private static func halves(
    of operations: [Operation]
  ) -> (first: [Operation], second: [Operation])? {
    if operations.count == 1 {
      guard let (first, second) = operations[0].halves else { return nil }
      return ([first], [second])
    }
    let weights = operations.map(\.itemCount)
    let half = weights.reduce(0, +) / 2
    var sum = 0
    var cut = 0
    while cut < operations.count, sum + weights[cut] <= half {
      sum += weights[cut]
      cut += 1
    }
    cut = min(max(cut, 1), operations.count - 1)
    return (Array(operations[..<cut]), Array(operations[cut...]))
  }
}

extension DecodingBudget {
  /// For one delta from the wire.
  static let wire = DecodingBudget(
    rowsMax: WireLimits.deltaRowsMax, itemsMax: WireLimits.deltaItemsMax,
    operationsMax: WireLimits.deltaOperationsMax, replicasMax: 65_536)
}

extension Operation {
  /// What a decoder's budget counts.
  fileprivate var itemCount: Int {
    switch body {
    case .openSession(_, let clears), .addTag(_, _, let clears, _), .clearTags(_, _, let clears):
      1 + clears.count
    case .addMessage(let addition):
      1 + addition.clears.count
    case .enqueueThread(let enqueue):
      1 + enqueue.clearsQueued.count + enqueue.clearsLocked.count
    default:
      length
    }
  }

  /// Whether it inserts or deletes text.
  fileprivate var isOfText: Bool {
    switch body {
    case .insertText, .deleteText: true
    default: false
    }
  }

  /// The operation cut in the middle; nil where it has one unit.
  fileprivate var halves: (Operation, Operation)? {
    let cut = length / 2
    guard let first = keepingFirst(cut), let second = droppingFirst(cut), cut > 0 else {
      return nil
    }
    return (first, second)
  }
}
