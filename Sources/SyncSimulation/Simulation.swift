import ClientCore
package import QueueModel
import QueueOracle
import SequenceCRDT
import ServerCore
import WireProtocol

/// The simulated world: devices, network and server under virtual time, on one thread.
///
/// The cores are the production ones; this drives them as SyncClient and SyncServer do. The same
/// options and events give the same run, down to the bytes.
package final class Simulation {
  /// What the world does on its own.
  enum Happening {
    case arrival(Pipe, Pipe.Direction)
    case opening(Pipe)
    case lingerEnd(Pipe)
    case storeDone(life: Int)
    case tick(life: Int)
    case serverStart(life: Int)
    case timer(device: Int, life: Int)
    case wake(device: Int, until: Int64)
    case connectionEnd(device: Int, life: Int, TransportID)
    case agentEnd(device: Int, life: Int, StartOrder)
    case ask(device: Int, life: Int, StartOrder)
    case answer(device: Int, life: Int, AnswerRequest)
    case look(device: Int, life: Int, SessionID, RequestID)
    case push(life: Int)
    /// An acknowledgement that the server never gave, where that bug is planted.
    case bogusAck(device: Int, life: Int, TransportID, batch: UInt64)
  }

  /// 2026-01-01T00:00:00Z, the true time at the start.
  package static let startOfTime: Int64 = 1_767_225_600_000

  package let options: SimulationOptions
  /// Virtual milliseconds since the start.
  package internal(set) var now: Int64 = 0
  package private(set) var violations: [Violation] = []
  /// A line for each thing that happened, where the options ask for it.
  package private(set) var trace: [String] = []
  /// Events applied so far.
  package internal(set) var stepsDone = 0
  package internal(set) var operationsMade = 0
  package internal(set) var commandsTaken = 0
  package internal(set) var commandsRefused = 0
  package internal(set) var faults = 0
  /// How long the slowest draining took after healing.
  package internal(set) var drainMilliseconds: Int64 = 0
  package internal(set) var execution = ExecutionReport()
  /// Nothing happened since everything came to rest.
  var isJustSettled = false
  /// What agents asked so far.
  var requestsRaised = 0
  /// Agents ask nothing that they wait for for ever.
  var isWindingUp = false
  /// The store of the server or of a device failed.
  var hasStoreFailed = false
  /// Every fault is over, that of the push provider too, until all was checked.
  var isSettling = false

  var devices: [SimulatedDevice] = []
  let server: SimulatedServer
  var queue = EventQueue<Happening>()
  var pipesMade = 0
  /// The pipes that may still carry something, in the order of making.
  var pipes: [Pipe] = []
  var hash = TraceHash()
  private let checkers: [any SimulationChecker]

  package init(_ options: SimulationOptions, checkers: [any SimulationChecker]? = nil) {
    self.options = options
    self.checkers = checkers ?? Simulation.standardCheckers(for: options)
    var configuration = ServerConfiguration()
    configuration.log.catchUpEntriesMax = options.server.catchUpEntriesMax
    configuration.log.snapshotEntries = options.server.snapshotEntries
    configuration.log.partBytesMax = options.server.partBytesMax
    if options.planted.contains(.pushNeverDue) {
      configuration.notifications.patienceMilliseconds = .max / 4
    }
    if options.planted.contains(.stampClampOff) {
      configuration.devices.stampAheadMillisecondsMax = .max / 4
    }
    server = SimulatedServer(
      configuration: configuration,
      generator: Simulation.generator(options.seed, .server, 0))
    startServer()
    for _ in 0..<options.devices { addDevice() }
  }

  /// What a generator is for; each has its own numbers, so that leaving a step out changes little.
  enum Stream: UInt64 {
    case server = 1
    case device
    case store
    case pipe
    case plan
    case workload
  }

  static func generator(_ seed: UInt64, _ stream: Stream, _ index: Int) -> SeededGenerator {
    var mixer = SeededGenerator(
      seed: seed ^ (stream.rawValue << 56) ^ (UInt64(index) << 32) &* 0x9E37_79B9_7F4A_7C15)
    return SeededGenerator(seed: mixer.next())
  }

  // MARK: - What is there

  package var deviceCount: Int { devices.count }
  package func isRunning(_ device: Int) -> Bool { devices[device].process != nil }
  package func isAsleep(_ device: Int) -> Bool { devices[device].isAsleep }
  /// Whether the device has a network and nothing is held back.
  package func isOnline(_ device: Int) -> Bool {
    let network = devices[device].network
    return network.isUp && !network.blocksToServer && !network.blocksFromServer
  }
  package var isServerRunning: Bool { server.process != nil }

  /// What the device shows; what its files hold, where no process runs.
  package func workspace(of device: Int) throws -> Workspace { try devices[device].workspace() }

  /// What the server has stored, as a start would read it.
  package func serverWorkspace() throws -> Workspace { try server.storedWorkspace() }

  /// Operations that the server is not known to have; nil while the device is off.
  package func outboxCount(of device: Int) -> Int? {
    devices[device].process?.core.replica.record.outbox.count
  }

  package func isSynced(_ device: Int) -> Bool {
    devices[device].process?.core.isSynced ?? false
  }

  /// The latest problem a device had with the server, in words.
  package func problem(of device: Int) -> String? {
    devices[device].process?.core.problem?.message
  }

  package var traceHash: UInt64 { hash.value }

  // MARK: - Time

  /// True time, milliseconds since 1970.
  var wall: Int64 { Simulation.startOfTime + now }

  var serverTime: ServerTime {
    ServerTime(uptimeMilliseconds: now, wallMilliseconds: wall + server.clockOffset)
  }

  /// Lets virtual time pass.
  package func advance(milliseconds: Int64) {
    let end = now + max(0, milliseconds)
    while let next = queue.nextAt, next <= end, let (at, happening) = queue.popFirst() {
      now = max(now, at)
      handle(happening)
    }
    now = end
  }

  private func handle(_ happening: Happening) {
    switch happening {
    case .arrival(let pipe, let direction): arrive(pipe, direction)
    case .opening(let pipe): open(pipe)
    case .lingerEnd(let pipe): serverLetsGo(of: pipe)
    case .storeDone(let life): finishStoreTask(life: life)
    case .tick(let life): tick(life: life)
    case .serverStart(let life):
      if life == server.life, server.process == nil { startServer() }
    case .timer(let index, let life): timerFired(devices[index], life: life)
    case .wake(let index, let until):
      if devices[index].sleepsUntil == until { wake(devices[index]) }
    case .connectionEnd(let index, let life, let id):
      connectionEnds(devices[index], life: life, id)
    case .agentEnd(let index, let life, let order):
      agentEnds(devices[index], life: life, order)
    case .ask(let index, let life, let order): agentAsks(devices[index], life: life, order)
    case .answer(let index, let life, let given): answer(given, on: devices[index], life: life)
    case .look(let index, let life, let session, let request):
      lookForMissed(request, in: session, on: devices[index], life: life)
    case .push(let life): push(life: life)
    case .bogusAck(let index, let life, let id, let batch):
      guard devices[index].life == life else { return }
      tell(devices[index]) { core, context, store in
        core.frameReceived(
          .ack(Ack(batch: batch, prefix: .empty)), on: id, at: context, store: store)
      }
    }
  }

  // MARK: - Watching

  func note(_ observation: Observation) {
    for checker in checkers {
      for message in checker.noted(observation, in: self) { add(checker.name, message) }
    }
  }

  /// Asks every checker, as after everything came to rest.
  package func check() {
    for checker in checkers {
      for message in checker.settled(in: self) { add(checker.name, message) }
    }
  }

  func add(_ checker: String, _ message: String) {
    log("violation: \(checker): \(message)")
    // One fault shows in many places; the first few say enough.
    guard violations.count < 20 else { return }
    violations.append(
      Violation(checker: checker, message: message, step: stepsDone, at: now))
  }

  func log(_ line: @autoclosure () -> String) {
    guard options.keepsTrace else { return }
    trace.append("\(now) \(line())")
  }
}

extension Simulation {
  /// A fresh one of every checker. Others join by
  /// `run(seed:profile:planted:keepsTrace:joining:)` or by the initializer.
  package static func standardCheckers(
    for options: SimulationOptions
  ) -> [any SimulationChecker] {
    [
      ProtocolChecker(), DurabilityChecker(), LogChecker(), CommandChecker(), InvariantChecker(),
      ConvergenceChecker(), MarkLedger(), OrderChecker(), EventChecker(), OracleChecker(),
      BoundednessChecker(), ImmutabilityChecker(),
    ] + (options.runsAgents ? [ExecutionChecker()] : [])
      + (options.asksOutcomes ? [OutcomeChecker()] : [])
      + (options.raisesRequests ? [RequestChecker(), NotificationChecker(), PushChecker()] : [])
  }
}
