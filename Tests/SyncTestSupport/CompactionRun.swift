import DeltaCodec
import QueueModel
import QueueOracle
import SequenceCRDT

/// A seeded run of several devices around a server that compacts now and then, compared with the
/// oracle at every step. Connections are in order and break; what was under way is lost then.
package struct CompactionRun {
  private enum Message {
    case operations([Operation])
    /// So many of the device's own operations are stored.
    case stored(Int)
    case compact(epoch: Int, cut: VersionVector, base: WorkspaceImage)
    case snapshot(epoch: Int, WorkspaceImage)
  }

  private struct Participant {
    var device: TestDevice
    var editors: CommandGenerator.OpenEditors = [:]
    var epoch = 0
    var base = Workspace()
    /// What is known beyond the base, in the order it was applied.
    var log: [Operation] = []
    /// Own operations that the server is not known to have.
    var unstored: [Operation] = []
    var sent = 0
    var isConnected = true
    var down: [Message] = []
    var up: [(epoch: Int, operations: [Operation])] = []
  }

  /// How often each thing happened.
  package private(set) var compactions = 0
  package private(set) var basesMade = 0
  package private(set) var basesSent = 0
  package private(set) var batchesRefused = 0
  package private(set) var operationsReanchored = 0
  package private(set) var commandsDone = 0
  private var participants: [Participant]
  private var commands = CommandGenerator()
  private var server = Workspace()
  private var serverLog: [Operation] = []
  private var serverBase = Workspace().image()
  private var floor = VersionVector()
  private var epoch = 0
  private var oracle = SlowWorkspace()
  private var generator: SeededGenerator
  private var step = 0
  private let seed: UInt64

  package init(seed: UInt64) {
    self.seed = seed
    var generator = SeededGenerator(seed: seed)
    participants = (0..<(3 + generator.below(2))).map { index in
      let skew = index == 0 ? 0 : Int64(generator.below(240_000)) - 120_000
      let device = TestDevice(
        UInt64(index + 1), now: TestDevice.startOfTime + skew, queueSizeMax: 6)
      var participant = Participant(device: device)
      participant.log = device.made
      participant.unstored = device.made
      return participant
    }
    self.generator = generator
  }

  package mutating func run(steps: Int) throws {
    for _ in 0..<steps { try takeStep() }
    try settle()
  }

  private mutating func takeStep() throws {
    step += 1
    let index = generator.below(participants.count)
    switch generator.below(100) {
    case ..<36: try command(on: index)
    case ..<50: send(from: index)
    case ..<64: try serverReceives(from: index)
    case ..<86: try receive(on: index)
    case ..<91: toggle(index)
    case ..<94: try compact()
    default: try restore(index)
    }
  }

  // MARK: - Devices

  private mutating func command(on index: Int) throws {
    let command = commands.command(
      for: participants[index].device.workspace, editors: &participants[index].editors,
      using: &generator)
    participants[index].device.now += Int64(generator.below(5_000))
    // A refused command is as good as none here.
    guard let outcome = try? participants[index].device.perform(command) else { return }
    commandsDone += 1
    participants[index].log += outcome.operations
    participants[index].unstored += outcome.operations
    try checkInvariants(index, "\(command)")
  }

  private mutating func send(from index: Int) {
    guard participants[index].isConnected else { return }
    let fresh = Array(participants[index].unstored.dropFirst(participants[index].sent))
    guard !fresh.isEmpty else { return }
    participants[index].sent = participants[index].unstored.count
    participants[index].up.append((participants[index].epoch, fresh))
  }

  private mutating func receive(on index: Int) throws {
    guard !participants[index].down.isEmpty else { return }
    switch participants[index].down.removeFirst() {
    case .operations(let operations):
      let outcome = try participants[index].device.merge(operations)
      participants[index].log += outcome.applied
      try check(index, "merging", outcome.waiting == 0 ? [] : ["operations wait"])
    case .stored(let count):
      participants[index].unstored.removeFirst(count)
      participants[index].sent -= count
    case .compact(let epoch, let cut, let base):
      try makeBase(on: index, epoch: epoch, cut: cut, expected: base)
    case .snapshot(let epoch, let image):
      basesSent += 1
      try install(image, epoch: epoch, on: index)
    }
    try checkInvariants(index, "receiving")
  }

  private mutating func makeBase(
    on index: Int, epoch: Int, cut: VersionVector, expected: WorkspaceImage
  ) throws {
    let participant = participants[index]
    var state = participant.base
    let covered = participant.log.compactMap { operation in
      operation.keepingFirst(
        Int(cut[operation.id.replica]) - Int(operation.id.seq) + 1)
    }
    _ = try state.merge(covered)
    let image = state.compacted().image()
    try check(
      index, "making the base",
      image.isExactlyEqual(to: expected) ? [] : ["the base differs from the server's"])
    basesMade += 1
    let before = participant.device.workspace.dump()
    try install(image, epoch: epoch, on: index)
    // It knew all that the base holds: nothing may look different.
    let after = participants[index].device.workspace.dump()
    // Digests are over the operations as they are now.
    let isEqual = after.threads == before.threads && after.sessions == before.sessions
    try check(index, "making the base", isEqual ? [] : ["the views changed"])
  }

  private mutating func install(
    _ image: WorkspaceImage, epoch: Int, on index: Int
  ) throws {
    var participant = participants[index]
    let base = try Workspace(image: image)
    let held = participant.log.compactMap { $0.droppingKnown(to: base.vector) }
    let fitting =
      epoch == participant.epoch
      ? held : participant.device.workspace.reanchored(held, onto: base)
    if fitting != held { operationsReanchored += 1 }
    participant.base = base
    participant.epoch = epoch
    participant.log = fitting
    participant.unstored = fitting.filter { $0.id.replica == participant.device.replica }
    participant.sent = 0
    participant.device.workspace = base
    let outcome = try participant.device.merge(fitting)
    participants[index] = participant
    try check(index, "taking a base over", outcome.waiting == 0 ? [] : ["operations wait"])
  }

  /// The process starts again, with what is stored.
  private mutating func restore(_ index: Int) throws {
    var workspace = try Workspace(image: participants[index].base.image())
    _ = try workspace.merge(participants[index].log)
    let before = participants[index].device.workspace.image()
    participants[index].device.workspace = workspace
    let isEqual = workspace.image().isExactlyEqual(to: before)
    try check(index, "starting again", isEqual ? [] : ["base and log give another state"])
  }

  // MARK: - Server

  private mutating func serverReceives(from index: Int) throws {
    guard !participants[index].up.isEmpty else { return }
    let batch = participants[index].up.removeFirst()
    guard batch.epoch == epoch else {
      batchesRefused += 1
      return
    }
    let outcome = try server.merge(batch.operations)
    serverLog += outcome.applied
    oracle.add(batch.operations)
    participants[index].down.append(.stored(batch.operations.count))
    for other in participants.indices where other != index && participants[other].isConnected {
      participants[other].down.append(.operations(batch.operations))
    }
    var details = outcome.waiting == 0 ? [] : ["operations wait"]
    details += oracle.state().differences(from: server)
    try check(-1, "storing", details)
  }

  /// Breaks a connection, or makes one.
  private mutating func toggle(_ index: Int) {
    participants[index].up = []
    participants[index].down = []
    participants[index].sent = 0
    participants[index].isConnected.toggle()
    guard participants[index].isConnected else { return }
    // `hello` tells what the device knows; what the server has of it is stored.
    let known = participants[index].device.workspace.vector
    let own = participants[index].device.replica
    let isSame = participants[index].epoch == epoch
    let isNext = participants[index].epoch + 1 == epoch
    if isSame || isNext, known.includes(floor) {
      participants[index].unstored = participants[index].unstored.compactMap {
        $0.droppingKnown(to: server.vector)
      }
      if isNext {
        participants[index].down.append(.compact(epoch: epoch, cut: floor, base: serverBase))
      }
      let missing = serverLog.compactMap { $0.droppingKnown(to: known) }
        .filter { $0.id.replica != own }
      participants[index].down.append(.operations(missing))
    } else {
      participants[index].down.append(.snapshot(epoch: epoch, server.image()))
    }
  }

  private mutating func compact() throws {
    let before = server.dump()
    let state = oracle.state()
    server = server.compacted()
    var details = server.dump() == before ? [] : ["the views changed"]
    details += state.differences(from: server)
    if server.deadWeight.dead != 0 { details.append("something dead is left") }
    let again = server.compacted().image()
    serverBase = server.image()
    if !again.isExactlyEqual(to: serverBase) { details.append("compacting twice differs") }
    let restored = try Workspace(image: serverBase).image()
    if !restored.isExactlyEqual(to: serverBase) { details.append("the base does not survive") }
    oracle = SlowWorkspace(base: serverBase)
    details += oracle.state().imageDifferences(from: server)
    try check(-1, "compacting", details)
    compactions += 1
    epoch += 1
    floor = server.vector
    serverLog = []
    for index in participants.indices where participants[index].isConnected {
      participants[index].down.append(.compact(epoch: epoch, cut: floor, base: serverBase))
    }
  }

  // MARK: - Checks

  /// Everything arrives everywhere; then all must agree, and nothing may be missing.
  private mutating func settle() throws {
    for index in participants.indices {
      if participants[index].isConnected { toggle(index) }
      toggle(index)
    }
    var isBusy = true
    while isBusy {
      isBusy = false
      for index in participants.indices {
        while !participants[index].down.isEmpty { try receive(on: index) }
        send(from: index)
        while !participants[index].up.isEmpty {
          try serverReceives(from: index)
          isBusy = true
        }
      }
    }
    let bytes = SnapshotCodec.encode(server.image())
    try check(-1, "settling", oracle.state().imageDifferences(from: server))
    for index in participants.indices {
      let participant = participants[index]
      var details: [String] = []
      if SnapshotCodec.encode(participant.device.workspace.image()) != bytes {
        details.append("the snapshot differs from the server's")
      }
      if participant.device.workspace.dump() != server.dump() { details.append("dumps differ") }
      let made = participant.device.made.last?.lastID?.seq ?? 0
      if server.vector[participant.device.replica] != made || !participant.unstored.isEmpty {
        details.append("the server has not exactly what the device made")
      }
      try check(index, "settling", details)
    }
  }

  private func checkInvariants(_ index: Int, _ action: String) throws {
    do {
      try participants[index].device.workspace.checkInvariants()
    } catch {
      try check(index, action, ["invariant: \(error)"])
    }
  }

  /// - Parameter index: −1 for the server.
  private func check(_ index: Int, _ action: String, _ details: [String]) throws {
    guard !details.isEmpty else { return }
    throw MergeRun.Failure(
      seed: seed, step: step, device: index + 1, action: action, details: details)
  }
}
