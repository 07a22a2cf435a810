import DeltaCodec
package import QueueModel
import SequenceCRDT

/// A delta as it is stored and sent: in an envelope, compressed if that makes it shorter.
package enum PackedDelta {
  package static func pack(_ operations: [Operation]) -> [UInt8] {
    Envelope.delta.wrap(DeltaCodec.encodeParts(operations))
  }

  /// Packs operations in their order into parts of at most `bytesMax` bytes, within the limits of
  /// rows, units and inflated bytes.
  ///
  /// Parts end between commands. If that is impossible, they end between operations that do not
  /// belong to the same change to a message; otherwise between any operations. An insertion or
  /// deletion that does not fit in a part is split. A single operation that cannot be split is a
  /// part of its own, whatever its length.
  ///
  /// - Parameter commands: the operations of one command each.
  /// - Complexity: O(*n* log *n*).
  package static func pack(commands: [[Operation]], bytesMax: Int) -> [[UInt8]] {
    guard commands.count > 1 else {
      return commands.first.map { pack($0, bytesMax: bytesMax) } ?? []
    }
    if let part = part(of: commands.flatMap { $0 }, bytesMax: bytesMax) { return [part] }
    let half = cut(commands.map { $0.reduce(0) { $0 + $1.itemCount } })
    return pack(commands: Array(commands[..<half]), bytesMax: bytesMax)
      + pack(commands: Array(commands[half...]), bytesMax: bytesMax)
  }

  /// The same for operations whose commands are unknown.
  package static func pack(_ operations: [Operation], bytesMax: Int) -> [[UInt8]] {
    guard !operations.isEmpty else { return [] }
    if let part = part(of: operations, bytesMax: bytesMax) { return [part] }
    guard let (first, second) = halves(of: operations) else { return [pack(operations)] }
    return pack(first, bytesMax: bytesMax) + pack(second, bytesMax: bytesMax)
  }

  /// The operations as one part; nil if they do not fit.
  private static func part(of operations: [Operation], bytesMax: Int) -> [UInt8]? {
    guard isWithinLimits(operations) else { return nil }
    let body = DeltaCodec.encodeParts(operations)
    guard body.bytes.count <= WireLimits.inflateBytesMax else { return nil }
    let part = Envelope.delta.wrap(body)
    return part.count <= bytesMax ? part : nil
  }

  /// Reads a delta that a peer sent.
  package static func unpack(_ bytes: [UInt8]) throws(WireError) -> [Operation] {
    try unpack(bytes, budget: .wire)
  }

  /// Reads a delta that this device or server stored itself: a whole command, which may be longer
  /// than one delta on the wire.
  package static func unpackStored(_ bytes: [UInt8]) throws(WireError) -> [Operation] {
    try unpack(bytes, .storedDelta, budget: .stored)
  }

  private static func unpack(
    _ bytes: [UInt8], _ envelope: Envelope = .delta, budget: DecodingBudget
  ) throws(WireError) -> [Operation] {
    let body = try envelope.unwrap(bytes)
    do {
      return try DeltaCodec.decode(body, budget: budget)
    } catch {
      throw WireError(error)
    }
  }

  /// Whether the operations are within the limits of one delta; each takes at most one row.
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

  /// Two parts of about equal weight, neither empty; nil if there is nothing to cut.
  private static func halves(
    of operations: [Operation]
  ) -> (first: [Operation], second: [Operation])? {
    if operations.count == 1 {
      guard let (first, second) = operations[0].halves else { return nil }
      return ([first], [second])
    }
    let places = operations.indices.dropFirst()
    let between = places.filter { !operations[$0].continues(operations[$0 - 1]) }
    let cut = cut(
      operations.map(\.itemCount),
      at: between.isEmpty ? places.filter { !operations[$0].marks } : Array(between))
    return (Array(operations[..<cut]), Array(operations[cut...]))
  }

  /// The place with about equal weight before and after it.
  ///
  /// - Parameter places: the candidates, in order; all if there are none.
  private static func cut(_ weights: [Int], at places: [Int] = []) -> Int {
    let half = weights.reduce(0, +) / 2
    var sum = 0
    var sums: [Int] = []
    for weight in weights {
      sums.append(sum)
      sum += weight
    }
    let places = places.isEmpty ? Array(weights.indices.dropFirst()) : places
    return places.min { abs(sums[$0] - half) < abs(sums[$1] - half) } ?? 1
  }
}

extension DecodingBudget {
  /// For one delta from the wire.
  static let wire = DecodingBudget(
    rowsMax: WireLimits.deltaRowsMax, itemsMax: WireLimits.deltaItemsMax,
    operationsMax: WireLimits.deltaOperationsMax, replicasMax: 65_536)
}

extension Operation {
  /// The approximate work to unpack and pack it, in scalars of text.
  package var packingWork: Int { isOfText ? 16 + length : 16 * itemCount }

  /// The counts of a decoder's budget.
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

  /// The message that it changes, or introduces.
  private var message: OperationID? {
    switch body {
    case .addMessage: id
    case .insertText(let insertion): insertion.message
    case .deleteText(let deletion): deletion.message
    case .addTag(let element, _, _, _), .clearTags(let element, _, _),
      .setRegister(let element, _, _, _):
      element
    default: nil
    }
  }

  /// Whether it may belong to the same change to a message as the previous operation.
  fileprivate func continues(_ last: Operation) -> Bool {
    guard let message, message == last.message, let end = last.lastID else { return false }
    return end.replica == id.replica && end.seq &+ 1 == id.seq
  }

  /// Whether it marks the beginning of a change to a message, so that a part must not end directly
  /// after it.
  fileprivate var marks: Bool {
    if case .addTag(_, .incomplete, _, _) = body { true } else { false }
  }

  /// Whether it inserts or deletes text.
  fileprivate var isOfText: Bool {
    switch body {
    case .insertText, .deleteText: true
    default: false
    }
  }

  /// The operation cut in the middle; nil if it has one unit.
  fileprivate var halves: (Operation, Operation)? {
    let cut = length / 2
    guard let first = keepingFirst(cut), let second = droppingFirst(cut), cut > 0 else {
      return nil
    }
    return (first, second)
  }
}
