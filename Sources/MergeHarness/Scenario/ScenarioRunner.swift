import Basics
import QueueModel
import SyncSimulation

/// The result of a scenario.
struct ScenarioReport: Hashable, Sendable {
  /// A difference from the scenario's expectation.
  struct Failure: Hashable, Sendable {
    var position: TextPosition
    var what: String
    /// nil if no text describes the expectation.
    var expected: String?
    var actual: String
  }

  var name: String
  var failures: [Failure] = []
  var steps = 0
  var expectations = 0
  var operations = 0
  var virtualMilliseconds: Int64 = 0
  var violations: [Violation] = []
  var traceHash: UInt64 = 0
  /// A line for each event, if requested.
  var trace: [String] = []
}

/// Runs a scenario in the simulated world, with the production cores.
///
/// Without a `world` in the scenario, nothing is random: latency is a millisecond, and only the
/// steps split or lose anything. The simulation's checkers watch every scenario; their findings are
/// failures like unmet expectations.
struct ScenarioRunner {
  typealias Label = Scenario.Label

  /// The limit of virtual time for `sync`; reconnecting after a long absence takes up to a minute.
  static let syncMillisecondsMax: Int64 = 600_000

  let simulation: Simulation
  private let isStrict: Bool
  private var indexes: [String: Int] = [:]
  private var names: [String] = []
  private(set) var labels = LabelTable()
  private var report: ScenarioReport
  /// The code of the latest refusal on each device.
  private var lastError: [String: String] = [:]
  /// A refusal that no expectation has mentioned yet.
  private var unexpected: [String: (position: TextPosition, error: String)] = [:]
  private var violationsSeen = 0

  private init(_ scenario: Scenario, keepsTrace: Bool) {
    report = ScenarioReport(name: scenario.name)
    isStrict = scenario.world == nil
    var options = SimulationOptions(scenario)
    options.keepsTrace = keepsTrace
    simulation = Simulation(options)
    for label in scenario.devices { add(label) }
  }

  static func run(_ scenario: Scenario, keepsTrace: Bool = false) -> ScenarioReport {
    var runner = ScenarioRunner(scenario, keepsTrace: keepsTrace)
    for step in scenario.steps { runner.take(step) }
    runner.reportRefusals()
    runner.report.operations = runner.simulation.results.operationsMade
    runner.report.virtualMilliseconds = runner.simulation.clock.now
    runner.report.violations = runner.simulation.results.violations
    runner.report.traceHash = runner.simulation.results.traceHash
    runner.report.trace = runner.simulation.results.trace
    return runner.report
  }

  private mutating func add(_ label: Label) {
    indexes[label.name] = names.count
    names.append(label.name)
  }

  /// The device's number; `ScenarioCheck` made sure that it exists.
  private func index(_ label: Label) -> Int { indexes[label.name] ?? -1 }

  private mutating func take(_ step: Scenario.Step) {
    if step.wait > 0 { simulation.advance(milliseconds: step.wait) }
    switch step.action {
    case .onDevice(let device, let verb): perform(verb, on: device, step)
    case .inWorld(let verb): change(verb, step)
    case .expect(let expectation): check(expectation, step)
    }
    report.steps += 1
    let violations = simulation.results.violations
    for violation in violations.dropFirst(violationsSeen) {
      fail(step, "checker \(violation.checker)", violation.message)
    }
    violationsSeen = violations.count
  }

  private mutating func fail(
    _ step: Scenario.Step, _ what: String, expected: String? = nil, _ actual: String
  ) {
    report.failures.append(
      ScenarioReport.Failure(
        position: step.position, what: what, expected: expected, actual: actual))
  }

  // MARK: - Verbs

  private mutating func perform(_ verb: DeviceVerb, on device: Label, _ step: Scenario.Step) {
    reportRefusal(on: device.name)
    lastError[device.name] = nil
    switch simulation.apply(.perform(device: index(device), verb.action(&labels))) {
    case .done, .performed:
      break
    case .refused(let error):
      refuse(error.code, "\(error)", device, step)
    case .notStored(let reason):
      refuse("notStored", reason, device, step)
    case .skipped(let reason):
      if isStrict { fail(step, "the step cannot be performed", reason) }
    }
  }

  private mutating func refuse(
    _ code: String, _ message: String, _ device: Label, _ step: Scenario.Step
  ) {
    lastError[device.name] = code
    if isStrict { unexpected[device.name] = (step.position, "\(code): \(message)") }
  }

  /// A refusal must be expected; otherwise it is a failure.
  private mutating func reportRefusal(on device: String) {
    guard let refusal = unexpected.removeValue(forKey: device) else { return }
    report.failures.append(
      ScenarioReport.Failure(
        position: refusal.position, what: "\(device) refused the command, which nothing expects",
        expected: nil, actual: refusal.error))
  }

  private mutating func reportRefusals() {
    for device in unexpected.keys.sorted() { reportRefusal(on: device) }
  }

  private mutating func change(_ verb: WorldVerb, _ step: Scenario.Step) {
    switch verb {
    case .sync(let labels):
      let chosen = labels.map { Set($0.map(index)) }
      if !simulation.quiescence.settle(chosen, withinMilliseconds: Self.syncMillisecondsMax) {
        fail(
          step, "sync does not finish",
          expected: "quiet within \(Self.syncMillisecondsMax) virtual ms",
          simulation.quiescence.unsettled)
      }
    case .advance(let milliseconds):
      simulation.advance(milliseconds: milliseconds)
    default:
      for event in events(of: verb) {
        switch simulation.apply(event) {
        case .skipped(let reason) where isStrict:
          fail(step, "the step cannot be performed", reason)
        case .notStored(let reason) where isStrict:
          fail(step, "the step cannot be performed", reason)
        default: break
        }
      }
      if case .clone(_, let copy, _) = verb { add(copy) }
    }
  }

  private func events(of verb: WorldVerb) -> [WorldEvent] {
    switch verb {
    case .sync, .advance: []
    case .settle: [.settle]
    case .offline(let labels): labels.map { .disconnect(device: index($0)) }
    case .online(let labels): labels.map { .reconnect(device: index($0)) }
    case .connect(let labels): labels.map { .requestSync(device: index($0)) }
    case .dropAcknowledgement(let labels): labels.map { .dropAck(device: index($0)) }
    case .cut(let labels): labels.map { .cut(device: index($0)) }
    case .partition(let labels, let direction):
      labels.map { .partition(device: index($0), PartitionDirection(direction)) }
    case .heal(let labels): labels.map { .heal(device: index($0)) }
    case .clog(let labels, let milliseconds):
      labels.map { .clog(device: index($0), milliseconds: milliseconds) }
    case .crash(let labels, let losesPower):
      labels.map { .crash(device: index($0), losesPower: losesPower) }
    case .crashAtCommit(let labels): labels.map { .crashAtCommit(device: index($0)) }
    case .restart(let labels): labels.map { .restart(device: index($0)) }
    case .sleep(let labels, let milliseconds):
      labels.map { .sleep(device: index($0), milliseconds: milliseconds) }
    case .crashServer: [.crashServer]
    case .restartServer: [.restartServer]
    case .store(.server, let store): [.setServerStore(StoreCondition(store))]
    case .store(.device(let label), let store):
      [.setStore(device: index(label), StoreCondition(store))]
    case .backup(.server, let label): [.backUpServer(label: label.name)]
    case .backup(.device(let device), let label):
      [.backUp(device: index(device), label: label.name)]
    case .restore(.server, let label, _): [.restoreServer(label: label.name)]
    case .restore(.device(let device), let label, let method):
      [.restore(device: index(device), label: label.name, CopyMethod(method))]
    case .clone(let device, _, let method):
      [.clone(device: index(device), CopyMethod(method))]
    case .swapServers: [.swapServers]
    case .clock(.server, let offset): [.setServerClock(offsetMilliseconds: offset)]
    case .clock(.device(let device), let offset):
      [.setClock(device: index(device), offsetMilliseconds: offset)]
    case .settings, .chooseHost, .chooseAgent, .busy, .gate, .stopAgent, .drain:
      verb.hostEvent(index).map { [$0] } ?? []
    }
  }

  // MARK: - Expectations

  private mutating func check(_ expectation: Expectation, _ step: Scenario.Step) {
    let observers: [String] =
      switch expectation.observer {
      case .all: names.indices.filter { simulation.devices[$0].isRunning }.map { names[$0] }
      case .device(let label): [label.name]
      }
    for check in expectation.checks {
      report.expectations += 1
      if case .equal(let isWanted) = check {
        checkEquality(of: observers, isWanted, step)
      } else {
        for observer in observers { self.check(check, on: observer, step) }
      }
    }
  }

  private mutating func check(
    _ check: Expectation.Check, on device: String, _ step: Scenario.Step
  ) {
    if case .error(let code) = check {
      unexpected[device] = nil
      let actual = lastError[device]
      if actual != code {
        fail(
          step, "error of \(device)'s last command", expected: code,
          actual ?? "none, it was performed")
      }
      return
    }
    guard let workspace = workspace(of: device) else {
      return fail(step, "state of \(device)", "it cannot be read")
    }
    let view = ExpectationView(workspace: workspace, labels: labels)
    let found = view.found(check)
    if found.actual != found.expected {
      fail(step, "\(found.what) on \(device)", expected: found.expected, found.actual)
    }
  }

  /// The visible state of a device; nil if its files cannot be read.
  private func workspace(of device: String) -> Workspace? {
    indexes[device].flatMap { try? simulation.devices[$0].workspace() }
  }

  private mutating func checkEquality(
    of observers: [String], _ isWanted: Bool, _ step: Scenario.Step
  ) {
    let differences = StateComparison.differences(
      among: observers.compactMap { name in
        workspace(of: name).map { (name, $0) }
      } + ((try? simulation.server.disk.storedWorkspace()).map { [("the server", $0)] } ?? []))
    if isWanted, !differences.isEmpty {
      fail(
        step, "equality", expected: "the same state everywhere",
        differences.joined(separator: "\n"))
    } else if !isWanted, differences.isEmpty {
      fail(step, "equality", expected: "different states", "the same state everywhere")
    }
  }
}
