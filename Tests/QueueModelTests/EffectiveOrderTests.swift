import SyncTestSupport
import Testing

@testable import QueueModel
@testable import SequenceCRDT

/// Trees with counts find the places in a queue. The reference here examines the whole queue, and
/// `checkInvariants` compares the trees with the order of all slots.
struct EffectiveOrderTests {
  @Test(arguments: TestSeeds.list(standard: 8, from: 4_501))
  func rankedSlotsAreAnArray(seed: UInt64) throws {
    var generator = SeededGenerator(seed: seed)
    var list = RunSequence()
    var ids: [OperationID] = []
    for seq in UInt32(1)...3_000 {
      let left = generator.chance(70) ? ids.last : generator.pick(ids)
      let origins = try #require(list.origins(behind: left))
      ids.append(OperationID(replica: ReplicaID(rawValue: 1), seq: seq))
      try list.integrate(
        id: ids[ids.count - 1], length: 1, left: origins.left, right: origins.right)
    }
    let order = list.runs.flatMap { run in
      (0..<run.length).map { UInt32(run.contentStart + $0) }
    }
    var there = Set<UInt32>()
    var ranked = RankedSlots()
    var copy: (ranked: RankedSlots, slots: [UInt32])?
    func check(_ message: String) {
      let slots = order.filter(there.contains)
      var found: [UInt32] = []
      ranked.forEach(in: 0..<Int.max) { found.append($0) }
      #expect(found == slots && ranked.count == slots.count, "seed \(seed) \(message)")
      for (rank, slot) in slots.enumerated()
      where ranked[rank] != slot || ranked.rank(of: slot, in: list) != rank {
        Issue.record("seed \(seed) \(message): slot \(slot) is not found at \(rank)")
      }
      let start = generator.below(slots.count + 1)
      let window = start..<start + generator.below(slots.count - start + 1)
      found = []
      ranked.forEach(in: window) { found.append($0) }
      #expect(found == Array(slots[window]), "seed \(seed) \(message) \(window)")
    }
    // It grows, shrinks to nothing, and grows again.
    for step in 0..<9_000 {
      let slot = UInt32(generator.below(order.count))
      let isGrowing = step < 3_000 || step >= 7_000
      if generator.chance(isGrowing ? 80 : 10) {
        if there.insert(slot).inserted { ranked.insert(slot, in: list) }
      } else {
        let slot = isGrowing ? slot : order.first(where: there.contains) ?? slot
        if generator.chance(3) {
          #expect(ranked.rank(of: slot, in: list) != nil || !there.contains(slot))
        }
        if there.remove(slot) != nil { ranked.remove(slot, in: list) }
      }
      if step % 1_000 == 0 {
        check("step \(step)")
        copy = (ranked, order.filter(there.contains))
      } else if step % 1_000 == 999, let copy {
        var found: [UInt32] = []
        copy.ranked.forEach(in: 0..<Int.max) { found.append($0) }
        #expect(found == copy.slots, "seed \(seed) step \(step): a copy changed")
      }
    }
    let built = RankedSlots(inOrder: order)
    var found: [UInt32] = []
    built.forEach(in: 0..<Int.max) { found.append($0) }
    #expect(found == order, "seed \(seed)")
  }

  /// Sends, moves, cancels, priorities, runs and decisions by two devices, now and then merged, opened
  /// or packed.
  @Test(arguments: TestSeeds.list(standard: 6, from: 4_601))
  func placesAreThoseOfTheWholeQueue(seed: UInt64) throws {
    var generator = SeededGenerator(seed: seed)
    var devices = [TestDevice(1, queueSizeMax: 1_000), TestDevice(2, queueSizeMax: 1_000)]
    var sent: UInt64 = 0
    for step in 0..<500 {
      let turn = generator.below(2)
      let command = command(&generator, devices[turn].workspace, &sent)
      try perform(command, on: &devices[turn], "seed \(seed) step \(step)")
      if generator.chance(10) {
        try devices[0].merge(devices[1].made)
        try devices[1].merge(devices[0].made)
      }
      if generator.chance(2) { try devices[turn].restoreFromSnapshot() }
      if generator.chance(2) { devices[turn].packSessions() }
      guard step % 5 == 0 else { continue }
      try checkWindows(of: devices[turn].workspace, &generator, "seed \(seed) step \(step)")
      if step % 25 == 0 { try devices[turn].workspace.checkInvariants() }
    }
  }

  private static let sessions = ["s", "t"]

  private func command(
    _ generator: inout SeededGenerator, _ workspace: Workspace, _ sent: inout UInt64
  ) -> Command {
    func message() -> MessageID {
      // Usually a waiting message.
      let waiting = workspace.effectiveOrder(
        of: .named(generator.pick(EffectiveOrderTests.sessions) ?? "s"))
      if generator.chance(85), let id = generator.pick(waiting) { return id }
      return .numbered(1 + UInt64(generator.below(Int(sent) + 1)))
    }
    let roll = generator.below(100)
    switch roll {
    case ..<30:
      sent += 1
      return .send(
        "text", as: sent, in: generator.chance(80) ? "s" : "t",
        generator.chance(25) ? .urgent : .normal, requeues: false)
    case ..<70:
      var moved: [MessageID] = []
      for _ in 0...generator.below(4) {
        let id = message()
        if !moved.contains(id) { moved.append(id) }
      }
      let neighbour = message()
      let count = workspace.effectiveOrder(of: .named("s")).count
      let target =
        generator.pick([
          .position(generator.below(count + 2)), .position(1 + generator.below(max(count, 1))),
          .before(neighbour), .after(neighbour),
        ]) ?? MoveTarget.position(1)
      return .move(moved, to: target)
    case ..<76: return .cancel([message()])
    case ..<80: return .restore(message())
    case ..<88: return .setPriority(message(), generator.chance(50) ? .urgent : .normal)
    case ..<96:
      let id = message()
      let attempt = UInt16(clamping: 1 + ((try? workspace.message(id).attempts) ?? 0))
      return .reportRun(
        id,
        Run(
          token: 1, attempt: attempt, phase: generator.pick(RunPhase.allCases) ?? .running,
          milliseconds: 1, note: ""))
    case ..<98: return generator.chance(50) ? .retry(message()) : .skip(message())
    default: return .undo
    }
  }

  private func perform(
    _ command: Command, on device: inout TestDevice, _ place: String
  ) throws {
    let before = device.workspace
    let outcome: CommandOutcome
    do throws(QueueError) {
      outcome = try device.perform(command)
    } catch {
      if case .move(let ids, let target) = command, case .invalidPosition(_, let count) = error {
        #expect(ListedMove(ids, to: target, in: before)?.total == count, "\(place) \(command)")
      }
      return
    }
    let after = device.workspace
    switch command {
    case .move(let ids, let target):
      let listed = try #require(ListedMove(ids, to: target, in: before), "\(place) \(command)")
      #expect(after.listedOrder(of: listed.queue) == listed.wanted, "\(place) \(command)")
      #expect(outcome.notice == listed.notice, "\(place) \(command)")
    case .setPriority(let id, _) where outcome.notice != .unchanged:
      let session = try after.message(id).session
      let index = after.listedOrder(of: session).firstIndex(of: id)
      #expect(outcome.notice == .moved(position: index.map { $0 + 1 } ?? 0), "\(place) \(command)")
    case .send(let send):
      guard case .queued(_, let position, let count, _) = outcome.notice else { return }
      let order = after.listedOrder(of: send.session)
      #expect(order.firstIndex(of: send.id) == position - 1, "\(place) \(command)")
      #expect(order.count == count, "\(place) \(command)")
    default: break
    }
  }

  /// Windows are parts of the whole queue, and each message has its right place.
  private func checkWindows(
    of workspace: Workspace, _ generator: inout SeededGenerator, _ place: String
  ) throws {
    for name in EffectiveOrderTests.sessions {
      let session = SessionID.named(name)
      guard let whole = try? workspace.messageQueue(session).messages else { continue }
      #expect(whole.map(\.id) == workspace.listedOrder(of: session), "\(place) \(name)")
      #expect(whole.map(\.position) == Array(1..<whole.count + 1), "\(place) \(name)")
      let start = generator.below(whole.count + 3)
      let places = start..<start + generator.below(20)
      let window = try workspace.messages(in: places, of: session)
      #expect(window.total == whole.count, "\(place) \(name)")
      #expect(
        window.messages == Array(whole[places.clamped(to: whole.indices)]),
        "\(place) \(name) \(places)")
      #expect(workspace.firstMessage(of: session) == whole.first?.id, "\(place) \(name)")
      if let message = generator.pick(whole) {
        #expect(try workspace.message(message.id) == message, "\(place) \(name)")
      }
    }
  }

  @Test func aWindowOfNoQueueIsRefused() throws {
    let error = #expect(throws: QueueError.self) {
      try Workspace().messages(in: 0..<20, of: .named("s"))
    }
    #expect(error?.code == "sessionNotFound")
  }
}

extension Workspace {
  /// The effective order, from every slot.
  fileprivate func listedOrder(of session: SessionID) -> [MessageID] {
    guard let state = sessionStates[session], state.exists else { return [] }
    let standing = messagesInPlace(of: state).filter(\.stands)
    return QueueBlock.allCases.flatMap { block in standing.filter { $0.block == block } }.map(\.id)
  }
}

/// The result of a move, from lists of the whole queue.
private struct ListedMove {
  var queue: SessionID
  /// How many messages wait before it.
  var total: Int
  var wanted: [MessageID]
  var notice: CommandOutcome.Notice

  /// - Returns: nil for a move that names messages that do not wait.
  init?(_ ids: [MessageID], to target: MoveTarget, in workspace: Workspace) {
    let neighbour: MessageID? =
      switch target {
      case .position: nil
      case .before(let id), .after(let id): id
      }
    guard let first = ids.first,
      let queue = workspace.messageStates[neighbour ?? first]?.session
    else { return nil }
    self.queue = queue
    let order = workspace.listedOrder(of: queue)
    total = order.count
    let others = order.filter { !ids.contains($0) }
    let index: Int
    switch target {
    case .position(let position): index = min(max(position - 1, 0), others.count)
    case .before(let id): index = others.firstIndex(of: id) ?? others.count
    case .after(let id): index = others.firstIndex(of: id).map { $0 + 1 } ?? others.count
    }
    func block(_ id: MessageID) -> QueueBlock { workspace.messageStates[id]?.block ?? .normal }
    wanted = []
    for current in QueueBlock.allCases {
      let standing = others.filter { block($0) == current }
      let start = others.firstIndex { block($0).rawValue >= current.rawValue } ?? others.count
      let place = min(max(index - start, 0), standing.count)
      wanted += standing[..<place] + ids.filter { block($0) == current } + standing[place...]
    }
    let isThere = ids.allSatisfy { workspace.messageStates[$0]?.session == queue }
    notice =
      isThere && wanted == order
      ? .unchanged : .moved(position: (wanted.firstIndex(of: first) ?? -1) + 1)
  }
}
