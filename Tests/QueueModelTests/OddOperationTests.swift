import QueueModel
import SequenceCRDT
import SyncTestSupport
import Testing

/// Operations that are well-formed but that no command makes. Whatever a merge accepts must leave a
/// sound state, which survives a snapshot, agrees with the oracle and accepts local commands.
struct OddOperationTests {
  @Test(arguments: TestSeeds.list(standard: 25, from: 2_000))
  func everythingAcceptedLeavesASoundState(seed: UInt64) throws {
    var run = try OddRun(seed: seed)
    for _ in 0..<60 { try run.step() }
    #expect(run.taken > 20 && run.refused > 0, "seed \(seed)")
  }

  @Test func aThreadQueuedWithoutAPlaceGoesThroughASnapshot() throws {
    var device = TestDevice(1)
    try device.perform(.addSession(.named("s"), name: nil, project: nil))
    let session = try #require(device.made.last)
    try device.merge([
      Operation(
        id: OperationID(replica: ReplicaID(rawValue: 2), seq: 1),
        body: .addTag(element: session.id, field: .queued, clears: [], note: ""))
    ])
    #expect(device.workspace.threadNames == [])
    try device.restoreFromImage()
    try device.perform(.send("text", as: 1, in: "s"))
    #expect(device.workspace.threadNames == ["s"])
    try device.restoreFromImage()
  }

  /// More tags than one operation may clear: a local command must refuse or cope, never trap.
  @Test func moreTagsThanOneOperationClearsDoNotStopLocalCommands() async throws {
    await #expect(processExitsWith: .success) {
      var device = TestDevice(1)
      let replica = ReplicaID(rawValue: 2)
      let openings = (0...Limits.clearedTagsMax).map { index in
        Operation(
          id: OperationID(replica: replica, seq: UInt32(index + 1)),
          body: .openSession(session: .named("s"), clears: []))
      }
      try device.merge(openings)
      try device.perform(.send("text", as: 1, in: "s"))
      try device.perform(.deleteSession(.named("s")))
    }
  }
}

/// Draws valid and invalid operations on existing elements, and checks the state after each.
private struct OddRun {
  private(set) var taken = 0
  private(set) var refused = 0
  private var generator: SeededGenerator
  private var workspace: Workspace
  private var known: [Operation]
  private var seqs: [UInt32] = [0, 0, 0]
  private let seed: UInt64

  init(seed: UInt64) throws {
    self.seed = seed
    generator = SeededGenerator(seed: seed)
    var device = TestDevice(1)
    try device.perform(.send("abc", as: 1, in: "s"))
    try device.perform(.send("def", as: 2, in: "t"))
    try device.perform(.edit(.numbered(1), content: "axc", base: nil))
    workspace = device.workspace
    known = device.made
  }

  mutating func step() throws {
    let author = generator.below(seqs.count)
    let operation = Operation(
      id: OperationID(
        replica: ReplicaID(rawValue: UInt64(10 + author)), seq: seqs[author] + 1),
      body: body())
    let before = workspace
    do {
      // A deletion may go beyond the known scalars; it would wait, and block its author's later
      // operations.
      if try workspace.merge([operation]).waiting > 0 {
        workspace = before
        return
      }
    } catch {
      refused += 1
      #expect(
        workspace.image().isExactlyEqual(to: before.image()), "seed \(seed): \(operation)")
      return
    }
    known.append(operation)
    seqs[author] += UInt32(operation.length)
    taken += 1
    let state = SlowWorkspace(known).state()
    let details = state.differences(from: workspace) + state.imageDifferences(from: workspace)
    #expect(details == [], "seed \(seed): \(operation)")
    try workspace.checkInvariants()
    let copy = try Workspace(image: workspace.image())
    #expect(copy.image().isExactlyEqual(to: workspace.image()), "seed \(seed): \(operation)")
  }

  private mutating func body() -> Operation.Body {
    let stamp = Stamp(
      milliseconds: TestDevice.startOfTime + Int64(generator.below(100)),
      counter: UInt16(generator.below(2)))
    let field = generator.pick([TagField.exists, .queued, .locked, .paused, .live]) ?? .exists
    switch generator.below(10) {
    case 0:
      return .openSession(session: .named("u\(generator.below(3))"), clears: someIDs())
    case 1:
      let session = anyReference(\.introducesSession)
      return .addMessage(
        .init(
          message: .numbered(UInt64(generator.below(5))), session: session,
          origins: slotOrigins(of: session), stamp: stamp, priority: .urgent, clears: someIDs()))
    case 2:
      let message = anyReference(\.introducesMessage)
      return .insertText(
        .init(message: message, origins: textOrigins(of: message), text: "é👩‍👩‍👧"))
    case 3:
      return .deleteText(
        .init(
          message: anyReference(\.introducesMessage), first: anyID(),
          count: 1 + generator.below(3), backwards: generator.chance(50)))
    case 4:
      let session = anyReference(\.introducesSession)
      return .placeMessage(
        message: anyReference(\.introducesMessage), session: session,
        origins: slotOrigins(of: session), stamp: stamp)
    case 5:
      return .placeThread(
        session: anyReference(\.introducesSession), origins: threadOrigins(), stamp: stamp)
    case 6:
      return .enqueueThread(
        .init(
          session: anyReference(\.introducesSession), origins: threadOrigins(), stamp: stamp,
          clearsQueued: someIDs(), locks: generator.chance(50), clearsLocked: someIDs()))
    case 7: return .addTag(element: anyElement(), field: field, clears: someIDs(), note: "n")
    case 8: return .clearTags(element: anyElement(), field: field, clears: someIDs())
    default:
      return .setRegister(
        element: anyElement(),
        field: generator.pick([RegisterField.name, .project, .priority]) ?? .name,
        value: generator.chance(50) ? .text("text") : .number(UInt64(generator.below(4))),
        stamp: stamp)
    }
  }

  /// Usually an id of the requested kind, sometimes any id.
  private mutating func anyReference(_ kind: (Operation) -> Bool) -> OperationID {
    guard generator.chance(90) else { return anyID() }
    return generator.pick(known.filter(kind))?.id ?? anyID()
  }

  private mutating func anyElement() -> OperationID {
    anyReference { $0.introducesSession || $0.introducesMessage }
  }

  private mutating func anyID() -> OperationID {
    guard let operation = generator.pick(known) else { preconditionFailure("nothing is known") }
    return operation.id.advanced(by: generator.below(operation.length)) ?? operation.id
  }

  private mutating func someIDs() -> [OperationID] {
    (0..<generator.below(4)).map { _ in anyID() }
  }

  /// Origins are neighbours; the sequence's own tests cover others.
  private mutating func origins(in order: [OperationID]) -> Operation.Origins {
    if generator.chance(5) { return Operation.Origins(left: anyID(), right: nil) }
    let place = generator.below(order.count + 1)
    return Operation.Origins(
      left: place > 0 ? order[place - 1] : nil, right: place < order.count ? order[place] : nil)
  }

  private mutating func slotOrigins(of session: OperationID) -> Operation.Origins {
    let state = SlowWorkspace(known).state()
    let sessions = state.sessions.values
    let order = sessions.first { $0.references.contains(session) }?.slots.order()
    return origins(in: order ?? [])
  }

  private mutating func textOrigins(of message: OperationID) -> Operation.Origins {
    let state = SlowWorkspace(known).state()
    let additions = state.messages.values.flatMap { $0.additions }
    return origins(in: additions.first { $0.key == message }?.value.scalars.order() ?? [])
  }

  private mutating func threadOrigins() -> Operation.Origins {
    origins(in: SlowWorkspace(known).state().threadSlots.order())
  }
}

extension Operation {
  fileprivate var introducesSession: Bool {
    if case .openSession = body { true } else { false }
  }

  fileprivate var introducesMessage: Bool {
    if case .addMessage = body { true } else { false }
  }
}
