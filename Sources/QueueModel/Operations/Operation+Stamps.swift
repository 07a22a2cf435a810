package import SequenceCRDT

extension Operation {
  /// The operation with another stamp, if it has one.
  func withStamp(_ change: (Stamp) -> Stamp) -> Operation {
    var changed = self
    switch body {
    case .addMessage(var addition):
      addition.stamp = change(addition.stamp)
      changed.body = .addMessage(addition)
    case .placeMessage(let message, let session, let origins, let stamp):
      changed.body = .placeMessage(
        message: message, session: session, origins: origins, stamp: change(stamp))
    case .placeThread(let session, let origins, let stamp):
      changed.body = .placeThread(session: session, origins: origins, stamp: change(stamp))
    case .enqueueThread(var enqueue):
      enqueue.stamp = change(enqueue.stamp)
      changed.body = .enqueueThread(enqueue)
    case .setRegister(let element, let field, let value, let stamp):
      changed.body = .setRegister(
        element: element, field: field, value: value,
        // A fence is not a time: it orders by lease and attempt, and no clock moves it.
        stamp: field.isFenced ? stamp : change(stamp))
    case .announceDevice, .openSession, .insertText, .deleteText, .addTag, .clearTags:
      break
    }
    return changed
  }
}

extension [Operation] {
  /// The operations in their order. Stamps of milliseconds after a limit are lowered to it, and
  /// follow the other stamps of that millisecond.
  ///
  /// The limit is never before the latest stamp so far: if the clock of the limit was set back, new
  /// writes still count as later than earlier ones.
  ///
  /// - Parameter latest: the latest stamp so far.
  /// - Returns: nil if none is later than the limit.
  /// - Complexity: O(operations + stamps moved · log).
  package func lowered(to milliseconds: Int64, behind latest: Stamp) -> [Operation]? {
    let stamps = Set(compactMap(\.stamp))
    let start = Stamp(milliseconds: Swift.max(milliseconds, latest.milliseconds))
    let limit = Stamp(milliseconds: start.milliseconds, counter: .max)
    let ahead = stamps.filter { $0 > limit }
    guard !ahead.isEmpty else { return nil }
    let others = stamps.union([latest]).filter { start <= $0 && $0 <= limit }
    let first = others.max().map { $0.rawValue + 1 } ?? start.rawValue
    var lowered: [Stamp: Stamp] = [:]
    for (index, stamp) in ahead.sorted().enumerated() {
      lowered[stamp] = Stamp(rawValue: first + UInt64(index))
    }
    return map { operation in operation.withStamp { lowered[$0] ?? $0 } }
  }

  /// The operations in their order, with the tokens of fences lowered to the greatest token that
  /// can have been granted.
  ///
  /// - Returns: nil if none is greater.
  /// - Complexity: O(operations + tokens moved · log).
  package func lowered(toToken tokenMax: UInt64) -> [Operation]? {
    func fence(_ operation: Operation) -> Stamp? {
      guard case .setRegister(_, let field, _, let stamp) = operation.body,
        // A decision's fence begins with the attempt.
        field.isFenced, field != .decision, stamp.rawValue >> 24 > tokenMax
      else { return nil }
      return stamp
    }
    let ahead = Set(compactMap(fence).map { $0.rawValue >> 24 }).sorted()
    guard !ahead.isEmpty else { return nil }
    var lowered: [UInt64: UInt64] = [:]
    for (index, token) in ahead.reversed().enumerated() {
      lowered[token] = tokenMax - Swift.min(UInt64(index), tokenMax)
    }
    return map { operation in
      guard let stamp = fence(operation), let token = lowered[stamp.rawValue >> 24],
        case .setRegister(let element, let field, let value, _) = operation.body
      else { return operation }
      var changed = operation
      changed.body = .setRegister(
        element: element, field: field, value: value,
        stamp: Stamp(rawValue: token << 24 | stamp.rawValue & 0xFF_FFFF))
      return changed
    }
  }
}
