import QueueModel
import SequenceCRDT

/// A seeded history of several devices, whose states are joined with each other in every order, and
/// compared with the state after the operations of all of them, and with the oracle.
///
/// At first, all devices reach each other, with every fault of the network. Then, in two seeds of
/// three, they are separated as by two or three servers from one backup: devices with their own
/// replicas continue from the common state, and reach only those on their side.
package struct JoinRun {
  /// A fault, with the seed to find it again.
  package struct Failure: Error, CustomStringConvertible {
    package var seed: UInt64
    package var action: String
    package var details: [String]

    package var description: String {
      "seed \(seed) (set COSPOOL_SEED=\(seed)), \(action):\n  "
        + details.prefix(12).joined(separator: "\n  ")
    }
  }

  /// A state and the operations that made it.
  private struct State {
    var name: String
    var image: WorkspaceImage
    var operations: [Operation]

    /// Whether neither contains all of the other.
    func hasDiverged(from other: State) -> Bool {
      !image.vector.includes(other.image.vector) && !other.image.vector.includes(image.vector)
    }
  }

  private struct Participant {
    var device: TestDevice
    var side: Int
    var editors: CommandGenerator.OpenEditors = [:]
    /// The operations that its workspace applied.
    var applied: [Operation]
    /// The number of operations of `device.made` that were sent.
    var sent = 0

    var state: State {
      State(
        name: "device \(device.replica.rawValue) at \(applied.count)",
        image: device.workspace.image(), operations: applied)
    }
  }

  package private(set) var pairs = 0
  package private(set) var triples = 0
  /// Pairs of states of which neither includes the other.
  package private(set) var divergedPairs = 0
  private var participants: [Participant] = []
  private var states: [State] = []
  private var commands: CommandGenerator
  private var network: OperationNetwork
  private var generator: SeededGenerator
  private let seed: UInt64

  package init(seed: UInt64) {
    self.seed = seed
    generator = SeededGenerator(seed: seed)
    // Few sessions, so that devices meet in them.
    commands = CommandGenerator(
      sessionCount: 1 + generator.below(3), executes: generator.chance(60))
    network = OperationNetwork()
    for number in 1...UInt64(2 + generator.below(3)) { addDevice(number, side: 0, knowing: []) }
  }

  /// Lets the devices work, then joins these numbers of pairs and triples of their states.
  package mutating func run(pairs: Int, triples: Int) throws {
    try work(steps: 30 + generator.below(60))
    if generator.chance(67) {
      try part(sides: 2 + generator.below(2))
      try work(steps: 40 + generator.below(100))
    }
    states += participants.map(\.state)
    for _ in 0..<pairs { try joinPair() }
    for _ in 0..<triples { try joinTriple() }
  }

  // MARK: - History

  private mutating func addDevice(_ number: UInt64, side: Int, knowing operations: [Operation]) {
    // Clocks are minutes off, or agree, so that stamps are sometimes equal.
    let skew = generator.chance(50) ? 0 : Int64(generator.below(240_000)) - 120_000
    let device = TestDevice(number, now: TestDevice.startOfTime + skew, queueSizeMax: 6)
    participants.append(
      Participant(device: device, side: side, applied: device.made + operations))
  }

  /// Delivers everything everywhere; from then on, the devices are separated.
  private mutating func part(sides: Int) throws {
    for index in participants.indices { send(from: index) }
    while !network.isIdle {
      network.repeatLost()
      while let batch = network.deliver(using: &generator) { try deliver(batch) }
    }
    let backup = participants[0]
    states.append(backup.state)
    participants = []
    // Ids below and above the existing ones, so that ties are decided either way.
    for side in 0..<sides {
      for device in 0..<UInt64(1 + generator.below(3)) {
        let number = UInt64(100 * (1 + generator.below(8)) + 10 * side) + device
        addDevice(number, side: side, knowing: backup.applied)
        try participants[participants.count - 1].device.merge(backup.applied)
      }
    }
  }

  private mutating func work(steps: Int) throws {
    for _ in 0..<steps {
      let index = generator.below(participants.count)
      switch generator.below(100) {
      case ..<40: command(on: index)
      case ..<60: send(from: index)
      case ..<92: if let batch = network.deliver(using: &generator) { try deliver(batch) }
      case ..<95: network.repeatLost()
      default: states.append(participants[index].state)
      }
    }
  }

  private mutating func command(on index: Int) {
    let command = commands.command(
      for: participants[index].device.workspace, editors: &participants[index].editors,
      using: &generator)
    participants[index].device.now += Int64(generator.below(3))
    // A refused command has no effect here.
    guard let outcome = try? participants[index].device.perform(command) else { return }
    participants[index].applied += outcome.operations
  }

  private mutating func send(from index: Int) {
    let made = participants[index].device.made
    let unsent = Array(made[participants[index].sent...])
    participants[index].sent = made.count
    for receiver in participants.indices
    where receiver != index && participants[receiver].side == participants[index].side {
      network.send(unsent, to: receiver, using: &generator)
    }
  }

  private mutating func deliver(_ batch: OperationNetwork.Batch) throws {
    let outcome = try participants[batch.receiver].device.merge(batch.operations)
    participants[batch.receiver].applied += outcome.applied
  }

  // MARK: - Joining

  private mutating func joinPair() throws {
    guard let one = generator.pick(states), let other = counterpart(of: [one]) else { return }
    let action = "\(one.name) with \(other.name)"
    let joined = try join(one.image, other.image, action)
    try expect(joined, action, "is not commutative", try join(other.image, one.image, action))
    try expect(joined, action, "is not idempotent", try join(joined, joined, action))
    try expect(joined, action, "is changed by what it holds", try join(joined, one.image, action))
    try expect(joined, action, "is changed by what it holds", try join(other.image, joined, action))
    try compare(joined, one.operations + other.operations, action)
    // A state and operations that it may partly contain must give the same.
    var grown = try Workspace(image: one.image)
    _ = try grown.merge(other.operations)
    try expect(joined, action, "is not what merging gives", grown.image())
    pairs += 1
    if one.hasDiverged(from: other) { divergedPairs += 1 }
  }

  private mutating func joinTriple() throws {
    guard let first = generator.pick(states), let second = counterpart(of: [first]),
      let third = counterpart(of: [first, second])
    else { return }
    let chosen = [first, second, third]
    let action = chosen.map(\.name).joined(separator: " with ")
    let images = chosen.map(\.image)
    let joined = try join(try join(images[0], images[1], action), images[2], action)
    for order in [[0, 2, 1], [1, 0, 2], [1, 2, 0], [2, 0, 1], [2, 1, 0]] {
      let (first, second, third) = (images[order[0]], images[order[1]], images[order[2]])
      let left = try join(try join(first, second, action), third, action)
      let right = try join(first, try join(second, third, action), action)
      try expect(joined, action, "is not associative in the order \(order)", left)
      try expect(joined, action, "is not associative in the order \(order)", right)
    }
    try compare(joined, chosen.flatMap(\.operations), action)
    // A joined state is used like any other.
    var grown = try Workspace(image: try join(images[0], images[1], action))
    _ = try grown.merge(chosen[2].operations)
    try expect(joined, action, "is not what merging gives", grown.image())
    triples += 1
  }

  /// A state to join with others: usually one that none of them contains, and that contains none of
  /// them.
  private mutating func counterpart(of others: [State]) -> State? {
    let diverged = states.filter { state in others.allSatisfy(state.hasDiverged) }
    return generator.pick(diverged.isEmpty || generator.chance(20) ? states : diverged)
  }

  private func join(
    _ one: WorkspaceImage, _ other: WorkspaceImage, _ action: String
  ) throws -> WorkspaceImage {
    do {
      return try one.joined(with: other)
    } catch {
      throw Failure(seed: seed, action: action, details: ["refused: \(error)"])
    }
  }

  /// Compares a state with those of the engine and the oracle after the same operations.
  private func compare(
    _ image: WorkspaceImage, _ operations: [Operation], _ action: String
  ) throws {
    var merged = Workspace()
    _ = try merged.merge(operations)
    try expect(image, action, "is not what merging gives", merged.image())
    let workspace: Workspace
    do {
      workspace = try Workspace(image: image)
      try workspace.checkInvariants()
    } catch {
      throw Failure(seed: seed, action: action, details: ["unsound: \(error)"])
    }
    let oracle = SlowWorkspace(operations).state()
    let details = oracle.differences(from: workspace) + oracle.imageDifferences(from: workspace)
    if !details.isEmpty { throw Failure(seed: seed, action: action, details: details) }
  }

  private func expect(
    _ image: WorkspaceImage, _ action: String, _ fault: String, _ other: WorkspaceImage
  ) throws {
    if image.isExactlyEqual(to: other) { return }
    throw Failure(seed: seed, action: action, details: ["the joined state \(fault)"])
  }
}
