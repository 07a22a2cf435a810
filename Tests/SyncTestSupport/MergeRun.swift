import DeltaCodec
import QueueModel
import SequenceCRDT

/// A seeded run of several devices over a faulty network, compared with the oracle at every step.
package struct MergeRun {
  /// A fault, with the seed and the step to find it again.
  package struct Failure: Error, CustomStringConvertible {
    package var seed: UInt64
    package var step: Int
    package var device: Int
    package var action: String
    package var details: [String]

    package var description: String {
      "seed \(seed) (set COSPOOL_SEED=\(seed)), step \(step), device \(device), \(action):\n  "
        + details.prefix(12).joined(separator: "\n  ")
    }
  }

  private struct Participant {
    var device: TestDevice
    var oracle: SlowWorkspace
    var editors: CommandGenerator.OpenEditors = [:]
    var mirror: QueueMirror
    /// The number of operations of `device.made` that were sent.
    var sent = 0
  }

  package private(set) var commandsDone = 0
  package private(set) var commandsRefused = 0
  package private(set) var operationsMade = 0
  package private(set) var largestPending = 0
  private var participants: [Participant]
  private var commands = CommandGenerator()
  private var network: OperationNetwork
  private var generator: SeededGenerator
  private var step = 0
  private let seed: UInt64
  /// Images are compared at every n-th step; views at every step.
  private let imageInterval: Int

  package init(
    seed: UInt64, devices: Int? = nil, faults: OperationNetwork.Faults = .init(),
    imageInterval: Int = 4
  ) {
    self.seed = seed
    self.imageInterval = imageInterval
    var generator = SeededGenerator(seed: seed)
    network = OperationNetwork(faults: faults)
    let count = devices ?? 3 + generator.below(3)
    participants = (0..<count).map { index in
      // Wrong clocks: some devices are minutes off.
      let skew = Int64(generator.below(240_000)) - 120_000
      let device = TestDevice(
        UInt64(index + 1), now: TestDevice.startOfTime + (index == 0 ? 0 : skew), queueSizeMax: 6)
      return Participant(
        device: device, oracle: SlowWorkspace(device.made),
        mirror: QueueMirror(workspace: device.workspace))
    }
    self.generator = generator
  }

  /// Performs a number of steps, then delivers everything everywhere and compares all states.
  package mutating func run(steps: Int) throws {
    for _ in 0..<steps { try takeStep() }
    try settle()
  }

  private mutating func takeStep() throws {
    step += 1
    let index = generator.below(participants.count)
    switch generator.below(100) {
    case ..<45: try command(on: index)
    case ..<60: send(from: index)
    case ..<92:
      guard let batch = network.deliver(using: &generator) else { return try command(on: index) }
      try deliver(batch)
    case ..<94: network.repeatLost()
    case ..<97: try pack(index)
    default: try restore(index)
    }
  }

  private mutating func command(on index: Int) throws {
    let command = commands.command(
      for: participants[index].device.workspace, editors: &participants[index].editors,
      using: &generator)
    participants[index].device.now += Int64(generator.below(5_000))
    let before = participants[index].device
    let vector = before.workspace.vector
    let action = "\(command)"
    do {
      let outcome = try participants[index].device.perform(command)
      commandsDone += 1
      operationsMade += outcome.operations.count
      participants[index].oracle.add(outcome.operations)
      var details: [String] = []
      if command.isUndoable {
        details = UndoCheck.differences(
          of: outcome, from: before, to: participants[index].device)
      }
      // Skipping a change ends an open stretch of typing.
      let mayWrite = command.isSend || command == .undo(change: nil, skip: true)
      if outcome.operations.isEmpty != (outcome.notice == .unchanged), !mayWrite {
        details.append("notice \(outcome.notice) with \(outcome.operations.count) operations")
      }
      if outcome.operations.first.map({ $0.id.seq != vector[$0.id.replica] + 1 }) ?? false {
        details.append("operations do not follow the vector: \(outcome.operations)")
      }
      try fail(index, action, details)
      try check(index, action, touched: outcome.touched)
    } catch let error as QueueError {
      commandsRefused += 1
      if participants[index].device.workspace.vector != vector {
        try fail(index, action, ["refused (\(error)), yet operations were made"])
      }
      try check(index, action + " refused: \(error)", touched: TouchedQueues())
    }
  }

  private mutating func send(from index: Int) {
    let made = participants[index].device.made
    let unsent = Array(made[participants[index].sent...])
    participants[index].sent = made.count
    for receiver in participants.indices where receiver != index {
      network.send(unsent, to: receiver, using: &generator)
    }
  }

  private mutating func deliver(_ batch: OperationNetwork.Batch) throws {
    let index = batch.receiver
    let action = "merging \(batch.operations.map(\.id))"
    do {
      let outcome = try participants[index].device.merge(batch.operations)
      participants[index].oracle.add(batch.operations)
      largestPending = max(largestPending, outcome.waiting)
      try check(index, action, touched: outcome.touched)
    } catch let error as MergeError {
      try fail(index, action, ["refused: \(error)"])
    }
  }

  /// Packing must change neither what is visible nor what waits.
  private mutating func pack(_ index: Int) throws {
    let before = participants[index].device.workspace
    participants[index].device.packSessions()
    let after = participants[index].device.workspace
    var details: [String] = []
    if after.hasUnpackedSessions { details.append("a session is still unpacked") }
    if !after.image().isExactlyEqual(to: before.image()) { details.append("the image differs") }
    if after.dump() != before.dump() { details.append("the dump differs") }
    if after.latestStamp != before.latestStamp || after.vector != before.vector
      || after.pendingOperations != before.pendingOperations
    {
      details.append("what is known, or waits, differs")
    }
    try fail(index, "packing", details)
    try check(index, "packing", touched: TouchedQueues())
  }

  private mutating func restore(_ index: Int) throws {
    let before = participants[index].device.workspace.image()
    let bytes = SnapshotCodec.encode(before)
    do {
      if generator.chance(75) {
        // If it is restored a second time, untouched parts are copied unchanged.
        try participants[index].device.restoreFromSnapshot()
        let again = SnapshotCodec.encodeParts(participants[index].device.workspace).bytes
        if again != bytes { try fail(index, "restoring", ["packed again it has other bytes"]) }
      } else {
        try participants[index].device.restoreFromImage()
      }
    } catch let error where !(error is Failure) {
      try fail(index, "restoring", ["refused: \(error)"])
    }
    if !participants[index].device.workspace.image().isExactlyEqual(to: before) {
      try fail(index, "restoring", ["the restored workspace has another image"])
    }
    try check(index, "restoring", touched: TouchedQueues())
  }

  /// Sends and delivers everything; then all devices must agree.
  private mutating func settle() throws {
    for index in participants.indices { send(from: index) }
    while !network.isIdle {
      network.repeatLost()
      while let batch = network.deliver(using: &generator) { try deliver(batch) }
    }
    let first = participants[0].device.workspace.image()
    let dump = participants[0].device.workspace.dump()
    for index in participants.indices {
      let workspace = participants[index].device.workspace
      var details: [String] = []
      if !workspace.image().isExactlyEqual(to: first) { details.append("images differ") }
      if workspace.dump() != dump { details.append("dumps differ") }
      if !workspace.pendingOperations.isEmpty || !workspace.missingRanges.isEmpty {
        details.append("waiting: \(workspace.pendingOperations), \(workspace.missingRanges)")
      }
      details += participants[index].oracle.state().imageDifferences(from: workspace)
      try fail(index, "settling", details)
    }
  }

  private mutating func check(_ index: Int, _ action: String, touched: TouchedQueues) throws {
    let workspace = participants[index].device.workspace
    var details: [String] = []
    do {
      try workspace.checkInvariants()
    } catch {
      details.append("invariant: \(error)")
    }
    let oracle = participants[index].oracle
    let state = oracle.state()
    details += state.differences(from: workspace)
    if step % imageInterval == 0 { details += state.imageDifferences(from: workspace) }
    let missing = oracle.missingRanges()
    if workspace.missingRanges != missing {
      details.append("missing: engine \(workspace.missingRanges), oracle \(missing)")
    }
    if workspace.pendingOperations.isEmpty != oracle.pendingOperations().isEmpty {
      details.append(
        "waiting: engine \(workspace.pendingOperations), oracle \(oracle.pendingOperations())")
    }
    participants[index].mirror.follow(workspace, touched: touched)
    details += participants[index].mirror.differences(from: workspace)
    try fail(index, action, details)
  }

  private func fail(_ index: Int, _ action: String, _ details: [String]) throws {
    guard !details.isEmpty else { return }
    throw Failure(
      seed: seed, step: step, device: index + 1, action: action, details: details)
  }
}

extension Command {
  /// Sending the same again reports the place of the message and changes nothing.
  fileprivate var isSend: Bool {
    if case .send = self { true } else { false }
  }

  /// Whether it can be undone: reports of the host, and users' decisions about them, cannot.
  fileprivate var isUndoable: Bool { undoLabel != nil }
}
