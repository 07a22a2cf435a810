import QueueModel
import SequenceCRDT
import SyncTestSupport

/// Draws operations that are well-formed, even if they make little sense together: codecs must keep
/// them all.
struct RandomOperations {
  private var generator: SeededGenerator
  private let replicas: [ReplicaID]
  private var nextSequences: [ReplicaID: UInt32]
  private var made: [OperationID] = []

  init(seed: UInt64, replicaCount: Int) {
    var generator = SeededGenerator(seed: seed)
    replicas = (0..<replicaCount).map { _ in ReplicaID(rawValue: generator.next() | 1) }
    nextSequences = Dictionary(
      replicas.map { ($0, UInt32(1 + generator.below(70_000))) }, uniquingKeysWith: { $1 })
    self.generator = generator
  }

  mutating func operations(_ count: Int) -> [Operation] {
    var operations: [Operation] = []
    while operations.count < count {
      if generator.chance(30), let last = operations.last, let next = continuation(of: last) {
        append(next, to: &operations)
      } else {
        append(fresh(), to: &operations)
      }
    }
    return operations
  }

  private mutating func append(_ operation: Operation, to operations: inout [Operation]) {
    operations.append(operation)
    made.append(operation.id)
    let last = UInt32(Int(operation.id.seq) + operation.length)
    nextSequences[operation.id.replica] = last + (generator.chance(5) ? 3 : 0)
  }

  /// An operation that continues the run of the last one.
  private mutating func continuation(of last: Operation) -> Operation? {
    guard let lastID = last.id.advanced(by: last.length - 1), let id = lastID.advanced(by: 1),
      nextSequences[id.replica] == id.seq
    else { return nil }
    switch last.body {
    case .insertText(var insertion):
      insertion.origins.left = lastID
      insertion.text = text()
      return Operation(id: id, body: .insertText(insertion))
    case .deleteText(var deletion):
      deletion.count = 1 + generator.below(3)
      let forwards = generator.chance(50)
      let first =
        forwards
        ? deletion.first.advanced(by: last.length)
        : deletion.first.advanced(by: -deletion.count)
      guard let first else { return nil }
      deletion.first = first
      deletion.backwards = !forwards
      return Operation(id: id, body: .deleteText(deletion))
    case .placeMessage(_, let session, var origins, let stamp):
      origins.left = lastID
      if generator.chance(20) { origins.time = time(of: stamp) }
      return Operation(
        id: id,
        body: .placeMessage(message: some(), session: session, origins: origins, stamp: stamp))
    case .placeThread(_, var origins, let stamp):
      origins.left = lastID
      if generator.chance(20) { origins.time = time(of: stamp) }
      return Operation(
        id: id, body: .placeThread(session: some(), origins: origins, stamp: stamp))
    default:
      return nil
    }
  }

  private mutating func fresh() -> Operation {
    let replica = replicas[generator.chance(70) ? 0 : generator.below(replicas.count)]
    let id = OperationID(replica: replica, seq: nextSequences[replica] ?? 1)
    let operation = Operation(id: id, body: body())
    guard operation.origins != nil, let stamp = operation.stamp else { return operation }
    return Operation(id: id, body: operation.body.made(at: time(of: stamp)))
  }

  /// The time of a slot: usually that of its stamp.
  private mutating func time(of stamp: Stamp) -> Int64 {
    switch generator.below(10) {
    case 0: 0
    case 1: Stamp.millisecondsMax
    case 2: max(0, stamp.milliseconds - Int64(generator.below(100_000)))
    case 3: min(Stamp.millisecondsMax, stamp.milliseconds + Int64(generator.below(100_000)))
    default: stamp.milliseconds
    }
  }

  private mutating func body() -> Operation.Body {
    switch generator.below(12) {
    case 0:
      .announceDevice(
        device: DeviceID(high: generator.next(), low: generator.next()), name: text())
    case 1:
      .openSession(session: .named("s\(generator.below(50))"), clears: ids())
    case 2:
      .addMessage(
        Operation.AddMessage(
          message: MessageID(high: generator.next(), low: generator.next()), session: some(),
          origins: origins(), stamp: stamp(), priority: generator.chance(30) ? .urgent : .normal,
          clears: ids()))
    case 3, 4:
      .insertText(Operation.InsertText(message: some(), origins: origins(), text: text()))
    case 5, 6:
      .deleteText(
        Operation.DeleteText(
          message: some(), first: some(), count: 1 + generator.below(generator.chance(50) ? 1 : 90),
          backwards: generator.chance(50)))
    case 7:
      .placeMessage(message: some(), session: some(), origins: origins(), stamp: stamp())
    case 8:
      .placeThread(session: some(), origins: origins(), stamp: stamp())
    case 9:
      .enqueueThread(
        Operation.EnqueueThread(
          session: some(), origins: origins(), stamp: stamp(), clearsQueued: ids(),
          locks: generator.chance(50), clearsLocked: ids()))
    case 10:
      generator.chance(50)
        ? .addTag(element: some(), field: tagField(), clears: ids(), note: note())
        : .clearTags(element: some(), field: tagField(), clears: ids())
    default:
      .setRegister(
        element: some(), field: RegisterField(rawValue: UInt8(generator.below(20))),
        value: generator.chance(50) ? .text(note()) : .number(generator.next() >> 20),
        stamp: stamp())
    }
  }

  private mutating func some() -> OperationID {
    if generator.chance(60), let last = made.last { return last }
    if generator.chance(80), let known = generator.pick(made) { return known }
    let replica = replicas[generator.below(replicas.count)]
    return OperationID(replica: replica, seq: UInt32(1 + generator.below(1 << 30)))
  }

  private mutating func ids() -> [OperationID] {
    (0..<(generator.chance(50) ? 0 : generator.below(4))).map { _ in some() }
  }

  private mutating func origins() -> Operation.Origins {
    let left = generator.chance(80) ? some() : nil
    if generator.chance(30) { return Operation.Origins(left: left, right: left?.advanced(by: 1)) }
    return Operation.Origins(left: left, right: generator.chance(60) ? some() : nil)
  }

  private mutating func stamp() -> Stamp {
    switch generator.below(6) {
    case 0: Stamp(rawValue: generator.next())
    case 1: Stamp(rawValue: generator.chance(50) ? 0 : .max)
    default:
      Stamp(
        milliseconds: TestDevice.startOfTime + Int64(generator.below(90_000)),
        counter: generator.chance(30) ? UInt16(generator.below(65_536)) : 0)
    }
  }

  private mutating func tagField() -> TagField { TagField(rawValue: UInt8(generator.below(20))) }

  private mutating func note() -> String { generator.chance(40) ? "" : text() }

  private mutating func text() -> String {
    let pieces = ["a", "the cause", "é", "e\u{301}", "👩‍👩‍👧", "\u{0}", "\r\n", "漢字", "\u{10FFFF}", " "]
    return (0...generator.below(4)).map { _ in generator.pick(pieces) ?? "" }.joined()
  }
}

/// One unit of an operation, with its scalar as a number, so that equality is exact.
struct Unit: Hashable {
  var operation: Operation
  var scalar: UInt32?

  /// The units of operations, however they are cut into runs.
  static func units(of operations: [Operation]) -> [Unit] {
    operations.flatMap { operation -> [Unit] in
      switch operation.body {
      case .insertText(let insertion):
        insertion.text.unicodeScalars.enumerated().compactMap { offset, scalar in
          guard var unit = offset == 0 ? operation : operation.droppingFirst(offset),
            case .insertText(var single) = unit.body
          else { return nil }
          single.text = ""
          unit.body = .insertText(single)
          return Unit(operation: unit, scalar: scalar.value)
        }
      case .deleteText(var single):
        (0..<single.count).compactMap { offset in
          guard let id = operation.id.advanced(by: offset),
            case .deleteText(let run) = operation.body,
            let first = run.first.advanced(by: run.backwards ? run.count - 1 - offset : offset)
          else { return nil }
          single.first = first
          single.count = 1
          single.backwards = false
          return Unit(operation: Operation(id: id, body: .deleteText(single)))
        }
      default:
        [Unit(operation: operation)]
      }
    }
  }
}
