import QueueModel
import QueueOracle
import SequenceCRDT

/// Several replicas of one text that edit, receive in any order, restore a snapshot and are copied,
/// as the decisions say. Each is compared with the explicit tree.
package struct SequenceProgram {
  /// A fault, and its step.
  package struct Failure: Error, CustomStringConvertible {
    package var step: Int
    package var action: String
    package var reason: String

    package var description: String { "step \(step), \(action): \(reason)" }
  }

  /// The limits of a program.
  package struct Bounds {
    package var replicas = 3
    /// From here on, a replica makes no insertions itself.
    package var unitsMax = 240
    package var longLength = 40
    /// The number of steps between comparisons of a replica; the counts are compared at every step.
    package var interval = 1

    package init(
      replicas: Int = 3, unitsMax: Int = 240, longLength: Int = 40, interval: Int = 1
    ) {
      self.replicas = replicas
      self.unitsMax = unitsMax
      self.longLength = longLength
      self.interval = interval
    }
  }

  enum Edit {
    case insertion(id: OperationID, text: String, origins: Operation.Origins)
    case deletion(first: OperationID, count: Int)
  }

  struct Replica {
    let id: ReplicaID
    var text = TextContent()
    /// The same units without text; its own edits are made by index.
    var list = RunSequence()
    var model = SlowText()
    var nextSeq: UInt32 = 1
    /// By index into `edits`.
    var isKnown: [Bool] = []
  }

  /// A copied value that must not change.
  struct Copy {
    var text: TextContent
    var order: [OperationID]
    var content: String
  }

  private static let numbers: [UInt64] = [500, 7, 90_000, 31, 2, 600]

  private var choices: Choices
  let bounds: Bounds
  var replicas: [Replica]
  var edits: [Edit] = []
  var copy: Copy?
  private var step = 0
  var action = "start"
  /// The number of edits, and of insertions and deletions that were correctly refused.
  package private(set) var editCount = 0
  package private(set) var refusedCount = 0

  package init(_ choices: Choices, bounds: Bounds = Bounds()) {
    self.choices = choices
    self.bounds = bounds
    replicas = SequenceProgram.numbers.prefix(bounds.replicas).map {
      Replica(id: ReplicaID(rawValue: $0))
    }
  }

  /// Performs steps while there are decisions; then all replicas get everything and must agree.
  package mutating func run() throws(Failure) {
    while let index = choices.choose(below: replicas.count),
      let kind = choices.choose(below: 16)
    {
      step += 1
      try takeStep(kind, on: index)
      try check(index, isFull: step % bounds.interval == 0)
    }
    try settle()
  }

  private mutating func takeStep(_ kind: Int, on index: Int) throws(Failure) {
    switch kind {
    case 0...2: try insert(on: index, length: 1 + next(3), near: next(4) > 0)
    case 3: try insert(on: index, length: 1 + next(bounds.longLength), near: false)
    case 4: try insertAnywhere(on: index)
    case 5: try delete(on: index)
    case 6...9: try deliver(to: index)
    case 10: try deliverAll(to: index)
    case 11: try restore(index)
    case 12: try takeCopy(of: index)
    case 13: try typeBackwards(on: index)
    case 14: try insertByIndex(on: index)
    default: try deleteByIndex(on: index)
    }
  }

  /// A decision; 0 if none is left.
  mutating func next(_ bound: Int) -> Int { choices.choose(below: bound) ?? 0 }

  func fail(_ reason: String) -> Failure {
    Failure(step: step, action: action, reason: reason)
  }
}

// Steps of replicas
extension SequenceProgram {
  func order(of index: Int) -> [OperationID] {
    replicas[index].text.sequence.runs.flatMap { run in (0..<run.length).map(run.unitID(at:)) }
  }

  /// An insertion between neighbours, usually near the start, so that insertions meet.
  private mutating func insert(on index: Int, length: Int, near: Bool) throws(Failure) {
    let order = order(of: index)
    guard order.count + length <= bounds.unitsMax else { return }
    let place = near ? min(order.count, next(4)) : next(order.count + 1)
    try insert(on: index, length: length, between: place - 1, place, order)
  }

  /// Inserts three times into the same gap from the right: each one before the last one.
  private mutating func typeBackwards(on index: Int) throws(Failure) {
    let place = next(order(of: index).count + 1)
    for _ in 0..<3 where replicas[index].model.count < bounds.unitsMax {
      try insert(on: index, length: 1, between: place - 1, place, order(of: index))
    }
  }

  /// An insertion between units that were never neighbours, maybe in the wrong order.
  private mutating func insertAnywhere(on index: Int) throws(Failure) {
    let order = order(of: index)
    guard order.count < bounds.unitsMax else { return }
    let left = next(order.count + 1) - 1
    let right = next(order.count + 1)
    try insert(on: index, length: 1 + next(2), between: left, right, order)
  }

  private mutating func insert(
    on index: Int, length: Int, between left: Int, _ right: Int, _ order: [OperationID]
  ) throws(Failure) {
    let id = OperationID(replica: replicas[index].id, seq: replicas[index].nextSeq)
    let origins = Operation.Origins(
      left: left >= 0 ? order[left] : nil, right: right < order.count ? order[right] : nil)
    let edit = Edit.insertion(id: id, text: text(length), origins: origins)
    action = "replica \(index) makes \(edit)"
    guard left < right else { return try expectRefusal(of: edit, on: index) }
    try apply(edit, to: index)
    replicas[index].nextSeq += UInt32(length)
    publish(pieces(of: edit), by: index)
  }

  /// Scalars of one to four bytes, all different if they are few.
  mutating func text(_ length: Int) -> String {
    let first = next(4)
    var view = String.UnicodeScalarView()
    for offset in 0..<length {
      let base: UInt32 = [0x61, 0xE0, 0x4E00, 0x1F600][(first + offset / 7) % 4]
      view.append(Unicode.Scalar(base + UInt32((editCount + offset) % 20)) ?? "?")
    }
    return String(view)
  }

  /// Insertions may travel whole or in two pieces.
  private mutating func pieces(of edit: Edit) -> [Edit] {
    guard case .insertion(let id, let text, let origins) = edit, next(4) == 0 else { return [edit] }
    let scalars = Array(text.unicodeScalars)
    let cut = 1 + next(max(scalars.count - 1, 1))
    guard cut < scalars.count, let second = id.advanced(by: cut) else { return [edit] }
    var back = origins
    back.left = id.advanced(by: cut - 1)
    return [
      .insertion(id: id, text: String(String.UnicodeScalarView(scalars[..<cut])), origins: origins),
      .insertion(
        id: second, text: String(String.UnicodeScalarView(scalars[cut...])), origins: back),
    ]
  }

  private mutating func delete(on index: Int) throws(Failure) {
    let order = order(of: index)
    guard !order.isEmpty else { return }
    let first = order[next(order.count)]
    let edit = Edit.deletion(first: first, count: 1 + next(6))
    action = "replica \(index) makes \(edit)"
    guard isReady(edit, for: index) else { return try expectRefusal(of: edit, on: index) }
    try apply(edit, to: index)
    replicas[index].nextSeq += 1
    publish([edit], by: index)
  }

  mutating func publish(_ made: [Edit], by author: Int) {
    editCount += made.count
    edits += made
    for index in replicas.indices {
      replicas[index].isKnown += Array(repeating: index == author, count: made.count)
    }
  }

  private mutating func deliver(to index: Int) throws(Failure) {
    let unknown = edits.indices.filter { !replicas[index].isKnown[$0] }
    guard !unknown.isEmpty else { return }
    let chosen = unknown[next(unknown.count)]
    action = "replica \(index) receives \(edits[chosen])"
    guard isReady(edits[chosen], for: index) else {
      return try expectRefusal(of: edits[chosen], on: index)
    }
    try apply(edits[chosen], to: index)
    replicas[index].isKnown[chosen] = true
  }

  mutating func deliverAll(to index: Int) throws(Failure) {
    var isMoving = true
    while isMoving {
      isMoving = false
      for edit in edits.indices.reversed()
      where !replicas[index].isKnown[edit] && isReady(edits[edit], for: index) {
        action = "replica \(index) receives \(edits[edit])"
        try apply(edits[edit], to: index)
        replicas[index].isKnown[edit] = true
        isMoving = true
      }
    }
  }

  private func isReady(_ edit: Edit, for index: Int) -> Bool {
    let model = replicas[index].model
    switch edit {
    case .insertion(_, _, let origins):
      return [origins.left, origins.right].compactMap { $0 }.allSatisfy(model.contains)
    case .deletion(let first, let count):
      return model.contains(first: first, count: count)
    }
  }

  mutating func apply(_ edit: Edit, to index: Int) throws(Failure) {
    do {
      try change(&replicas[index].text, by: edit)
      try change(&replicas[index].list, by: edit)
    } catch {
      throw fail("refused with \(error)")
    }
    note(edit, on: index)
  }

  private mutating func note(_ edit: Edit, on index: Int) {
    switch edit {
    case .insertion(let id, let text, let origins):
      replicas[index].model.insert(id, text: text, origins: origins)
    case .deletion(let first, let count):
      replicas[index].model.delete(first: first, count: count)
    }
  }

  private func change(_ text: inout TextContent, by edit: Edit) throws(SequenceFault) {
    switch edit {
    case .insertion(let id, let inserted, let origins):
      try text.insert(id: id, text: inserted, left: origins.left, right: origins.right)
    case .deletion(let first, let count):
      try text.delete(first: first, count: count)
    }
  }

  private func change(_ list: inout RunSequence, by edit: Edit) throws(SequenceFault) {
    switch edit {
    case .insertion(let id, let inserted, let origins):
      try list.integrate(
        id: id, length: inserted.unicodeScalars.count, left: origins.left, right: origins.right)
    case .deletion(let first, let count):
      try list.hide(first: first, count: count)
    }
  }

  /// An impossible edit must be refused, and must change nothing.
  private mutating func expectRefusal(of edit: Edit, on index: Int) throws(Failure) {
    refusedCount += 1
    let before = replicas[index].text.sequence.runs
    do {
      try change(&replicas[index].text, by: edit)
    } catch {
      guard replicas[index].text.sequence.runs == before else {
        throw fail("refused with \(error), yet something changed")
      }
      return
    }
    throw fail("taken, though it names what is not there or out of order")
  }

  private mutating func restore(_ index: Int) throws(Failure) {
    action = "replica \(index) is restored"
    let text = replicas[index].text
    do {
      replicas[index].text = try TextContent(runs: text.sequence.runs, text: text.text)
      replicas[index].list = try RunSequence(runs: replicas[index].list.canonicalRuns)
    } catch {
      throw fail("refused with \(error)")
    }
  }

  private mutating func takeCopy(of index: Int) throws(Failure) {
    action = "the copy is checked"
    if let copy { try check(copy) }
    let text = replicas[index].text
    copy = Copy(text: text, order: order(of: index), content: text.text)
  }
}
