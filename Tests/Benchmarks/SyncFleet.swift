import NIOCore
import NIOPosix
import QueueModel

/// Devices under load, all on one event loop; calls come from the main thread and wait.
struct SyncFleet {
  private let group: MultiThreadedEventLoopGroup
  private let loop: any EventLoop
  private let state: NIOLoopBound<State>

  /// - Parameter merges: whether the devices keep the state, or only count received data.
  init(_ seeds: [FleetSeed], merges: Bool, isEmpty: Bool = false) throws {
    group = MultiThreadedEventLoopGroup(numberOfThreads: 1)
    loop = group.next()
    let loop = loop
    state = try loop.submit {
      let devices = seeds.map { LoadDevice(seed: $0, merges: merges, isEmpty: isEmpty) }
      return NIOLoopBound(State(devices, loop: loop), eventLoop: loop)
    }.wait()
  }

  /// Ends all connections and the event loop.
  func close() throws {
    let state = state
    try loop.submit { state.value.close() }.wait()
    try group.syncShutdownGracefully()
  }

  /// Connects all devices at once and waits until each has everything that the server has.
  func join(port: Int) throws {
    try waiting { $0.join(port: port) }
  }

  /// Every device sends its first batch; waits until all of its workspace have it.
  func exchangeFirst(perWorkspace: Int) throws {
    try waiting { $0.exchangeFirst(perWorkspace: perWorkspace) }
  }

  /// Every device sends everything that it has; waits until the server has stored it.
  func sendEverything() throws {
    try waiting { $0.sendEverything() }
  }

  /// Stops the server by `body`, and waits until every device has lost it.
  func outlive(_ body: () -> Void) throws {
    let state = state
    try loop.submit { state.value.letEnd() }.wait()
    body()
    try waiting { $0.waitForTheEnd() }
  }

  /// Sends `count` batches at a steady rate, the devices in turn, two to a workspace.
  ///
  /// - Returns: seconds from each sending to the arrival at the other device, in order of sending.
  func load(count: Int, perSecond: Int) throws -> [Double] {
    let state = state
    return try loop.flatSubmit { state.value.load(count: count, perSecond: perSecond) }.wait()
  }

  /// The position up to which each workspace's log was acknowledged to its devices; from any
  /// thread, also under load.
  func acknowledgedPositions() throws -> [WorkspaceID: UInt64] {
    let state = state
    return try loop.submit { state.value.positions }.wait()
  }

  /// Each device's prompt after everything that it sent.
  func sentTexts() throws -> [String] {
    let state = state
    return try loop.submit { state.value.sentTexts }.wait()
  }

  /// The texts that each merging device received.
  func texts() throws -> [Set<String>] {
    let state = state
    return try loop.submit { try state.value.texts() }.wait()
  }

  private func waiting(_ start: @escaping @Sendable (State) -> EventLoopFuture<Void>) throws {
    let state = state
    try loop.flatSubmit { start(state.value) }.wait()
  }
}

extension SyncFleet {
  /// Confined to the event loop.
  private final class State {
    /// How long anything may take before it counts as stuck.
    private static let patience = TimeAmount.seconds(120)
    private static let tick = TimeAmount.microseconds(500)

    private let devices: [LoadDevice]
    private let loop: any EventLoop
    private var joined = 0
    private var received = 0
    private var acknowledged = 0
    private(set) var positions: [WorkspaceID: UInt64] = [:]
    private var ended = 0
    private var mayEnd = false
    private var failure: String?
    private var expectation: (what: String, isMet: () -> Bool, promise: EventLoopPromise<Void>)?
    private var meter = LoadMeter(deviceCount: 0)

    init(_ devices: [LoadDevice], loop: any EventLoop) {
      self.devices = devices
      self.loop = loop
      for (index, device) in devices.enumerated() {
        device.onEvent = { [weak self] in self?.note($0, of: index) }
      }
    }

    var sentTexts: [String] { devices.map { $0.seed.text(sent: $0.sentCount) } }

    func texts() throws -> [Set<String>] { try devices.map { try $0.texts() } }

    func close() {
      mayEnd = true
      for device in devices { device.close() }
    }

    func join(port: Int) -> EventLoopFuture<Void> {
      joined = 0
      ended = 0
      mayEnd = false
      for device in devices { LoadConnection.open(device, port: port, on: loop) }
      return expect("joining") { [unowned self] in joined == devices.count }
    }

    func exchangeFirst(perWorkspace: Int) -> EventLoopFuture<Void> {
      let expected = received + devices.count * (perWorkspace - 1)
      for device in devices { device.sendNext() }
      return expect("the first batches") { [unowned self] in
        received >= expected && acknowledged >= devices.count
      }
    }

    func sendEverything() -> EventLoopFuture<Void> {
      var sent = acknowledged
      for device in devices {
        while device.sendNext() != nil { sent += 1 }
      }
      return expect("acknowledgements") { [unowned self] in acknowledged >= sent }
    }

    func letEnd() {
      mayEnd = true
    }

    func waitForTheEnd() -> EventLoopFuture<Void> {
      return expect("the end of the connections") { [unowned self] in ended >= devices.count }
    }

    func load(count: Int, perSecond: Int) -> EventLoopFuture<[Double]> {
      meter = LoadMeter(deviceCount: devices.count)
      let start = NIODeadline.now()
      let bound = NIOLoopBound(self, eventLoop: loop)
      let pace = loop.scheduleRepeatedTask(initialDelay: .zero, delay: State.tick) { task in
        let elapsed = Double((NIODeadline.now() - start).nanoseconds) / 1e9
        let due = min(count, Int(elapsed * Double(perSecond)) + 1)
        if bound.value.send(upTo: due) == count { task.cancel() }
      }
      return expect("\(count) updates at \(perSecond)/s") { [unowned self] in
        meter.arrivedCount == count
      }
      .always { _ in pace.cancel() }
      .map { bound.value.meter.latencies }
    }

    /// Sends under load until this number of batches was sent, the devices in turn.
    ///
    /// - Returns: the number of sent batches.
    private func send(upTo due: Int) -> Int {
      while meter.sentCount < due {
        let device = meter.sentCount % devices.count
        let moment = NIODeadline.now()
        guard let delta = devices[device].sendNext() else {
          fail("the prepared batches do not suffice")
          break
        }
        meter.sent(delta, by: device, at: moment)
      }
      return meter.sentCount
    }

    private func expect(
      _ what: String, until isMet: @escaping () -> Bool
    ) -> EventLoopFuture<Void> {
      let promise = loop.makePromise(of: Void.self)
      expectation = (what, isMet, promise)
      let bound = NIOLoopBound(self, eventLoop: loop)
      let timeout = loop.scheduleTask(in: State.patience) {
        bound.value.fail("\(what): stuck for \(State.patience.nanoseconds / 1_000_000_000) s")
      }
      check()
      return promise.futureResult.always { _ in timeout.cancel() }
    }

    private func check() {
      guard let waiting = expectation else { return }
      if let failure {
        expectation = nil
        waiting.promise.fail(BenchFailure("\(waiting.what): \(failure)"))
      } else if waiting.isMet() {
        expectation = nil
        waiting.promise.succeed()
      }
    }

    private func fail(_ message: String) {
      failure = failure ?? message
      check()
    }

    private func note(_ event: LoadDevice.Event, of index: Int) {
      switch event {
      case .joined: joined += 1
      case .acknowledged(let position):
        acknowledged += 1
        let workspace = devices[index].seed.workspaceID
        positions[workspace] = max(positions[workspace] ?? 0, position)
      case .received(let delta, let moment):
        received += 1
        // Two devices share a workspace under load: what one receives, its neighbour sent.
        if !meter.received(delta, from: index ^ 1, at: moment) {
          return fail("\(devices[index].seed.name) got something else than was sent")
        }
      case .ended(let reason):
        ended += 1
        if !mayEnd { return fail("\(devices[index].seed.name): \(reason)") }
      }
      check()
    }
  }
}

/// Matches arrivals with sends: batches of one device arrive in the order in which they were sent.
struct LoadMeter {
  private var underway: [[(number: Int, delta: [UInt8], at: NIODeadline)]]
  private var heads: [Int]
  private(set) var sentCount = 0
  /// Seconds from sending to arrival, by order of sending; 0 for those in transit.
  private(set) var latencies: [Double] = []
  private(set) var arrivedCount = 0

  init(deviceCount: Int) {
    underway = Array(repeating: [], count: deviceCount)
    heads = Array(repeating: 0, count: deviceCount)
  }

  mutating func sent(_ delta: [UInt8], by device: Int, at moment: NIODeadline) {
    underway[device].append((sentCount, delta, moment))
    latencies.append(0)
    sentCount += 1
  }

  /// - Returns: false if the device's next send was not of this kind. Before any load, everything
  ///   may come.
  mutating func received(_ delta: [UInt8], from device: Int, at moment: NIODeadline) -> Bool {
    guard !underway.isEmpty else { return true }
    guard underway.indices.contains(device), heads[device] < underway[device].count else {
      return false
    }
    let next = underway[device][heads[device]]
    guard next.delta == delta else { return false }
    heads[device] += 1
    arrivedCount += 1
    latencies[next.number] = Double((moment - next.at).nanoseconds) / 1e9
    return true
  }
}
