package import QueueModel
package import SequenceCRDT
package import WireProtocol

/// A device's replica and its connection to the server, as a state machine.
///
/// Methods are events, named in the past tense; each brings the occasion and the store, and returns
/// what the driver has to do, in order. Nothing in here waits, reads a clock or draws a number.
package struct ClientCore: Sendable {
  /// What the driver has to do.
  package enum Action: Hashable, Sendable {
    /// Open a transport to the credentials' server.
    case connect(ConnectionID)
    case send(ConnectionID, Frame)
    case ping(ConnectionID)
    /// Close the transport; no event of it is expected any more.
    case close(ConnectionID)
    /// Tell observers.
    case changed(TouchedQueues)
    /// For the log.
    case report(Trouble)
    /// For whoever runs the agents.
    case agent(AgentOrder)
    /// The answer to a question of the driver's own.
    case told(AuthorityAnswer, UInt64)
    /// For the agent that waits for it.
    case decided(RequestID, AskDecision)
    /// For the person that answered.
    case answerEnded(AnswerRequest, AnswerEnding)
    /// The answer to a question about notifications.
    case replied(InboxAnswer, UInt64)
    /// Something that the person should see; it is stored.
    case notified(DeviceNotification)
    /// It is not to be shown any more.
    case notificationEnded(OperationID, NotificationEnding)
    /// Something waits for a connection that has been missed for a while, since this time on the
    /// device's clock.
    case connectionMissed(since: Int64)
  }

  package internal(set) var replica: Replica
  package internal(set) var trouble: Trouble?
  /// The devices of the workspace as the server told last.
  package internal(set) var devices: [DevicePresence] = []
  package internal(set) var lastSyncedWall: Int64?
  /// How many messages a session may hold for a local enqueue to be taken.
  package var queueSizeMax: Int

  var credentials: Credentials?
  var link = Link.idle(.stopped)
  var isRunning = false
  var connections: UInt64 = 0
  var attempts = 0
  var backoffMinimum: Int64 = 0
  /// The server's clock: its reading, and the moment of the reading.
  var serverClock: (reading: Int64, at: Int64)?
  var execution = Execution()
  var tasks = TaskDesk()
  /// When something about tasks is due.
  var taskDeadline: Int64?
  var notices = Notices()
  /// Days for which what is over is kept; 0 is for ever.
  var retentionDays = 0
  var forgetting: Forgetting?

  package init(replica: Replica, credentials: Credentials?, queueSizeMax: Int) {
    self.replica = replica
    self.credentials = credentials
    self.queueSizeMax = queueSizeMax
  }

  /// Packs the sessions that something touched; nothing shows it.
  package mutating func pack() {
    replica.pack()
  }

  /// The address of the paired server.
  package var server: String? { credentials?.server }

  /// When `timePassed` is due; nil where nothing waits for time.
  package var deadline: Int64? {
    [linkDeadline, execution.deadline, taskDeadline, noticesDeadline, forgettingDeadline]
      .compactMap { $0 }.min()
  }

  private var linkDeadline: Int64? {
    switch link {
    case .idle: nil
    case .waiting(let until): until
    case .connecting(_, let since), .greeting(_, let since):
      since + ClientLimits.openingMilliseconds
    case .exchanging(let exchange): exchange.deadline
    }
  }

  /// Takes over the server's reading; one that no stamp could hold is cut down to what one can.
  mutating func noteServerClock(_ milliseconds: Int64, at occasion: Occasion) {
    let reading = min(max(milliseconds, 0), Stamp.millisecondsMax)
    serverClock = (reading, occasion.now)
  }

  /// The wall clock, or the server's where the two differ by more than a little.
  package func time(at occasion: Occasion) -> Int64 {
    guard let clock = serverClock else { return occasion.wall }
    let estimate = clock.reading + (occasion.now - clock.at)
    let difference = estimate.subtractingReportingOverflow(occasion.wall)
    if difference.overflow
      || difference.partialValue.magnitude > UInt64(ClientLimits.clockToleranceMilliseconds)
    {
      return estimate
    }
    return occasion.wall
  }
}

extension ClientCore {
  /// The driver began to run the sync.
  package mutating func started(at occasion: Occasion, store: some ReplicaStore) -> [Action] {
    isRunning = true
    return connectIfPossible(at: occasion)
  }

  /// The driver stops: closes what is open.
  package mutating func stopped() -> [Action] {
    isRunning = false
    return leave(for: .stopped)
  }

  /// The device was paired, anew or for the first time.
  package mutating func paired(
    _ fresh: Credentials, at occasion: Occasion, store: some ReplicaStore
  ) throws(Replica.Fault) -> [Action] {
    try replica.remember(store: store) { $0.workspace = fresh.workspace }
    credentials = fresh
    attempts = 0
    trouble = nil
    return leave(for: .stopped) + connectIfPossible(at: occasion)
  }

  /// A person turned sync on or off.
  package mutating func syncSwitched(
    _ isOn: Bool, at occasion: Occasion, store: some ReplicaStore
  ) throws(Replica.Fault) -> [Action] {
    try replica.remember(store: store) { $0.isSyncEnabled = isOn }
    guard isOn else { return leave(for: .disabled) }
    attempts = 0
    if case .idle = link { return connectIfPossible(at: occasion) }
    return []
  }

  /// A person wants to be connected now, whatever was refused before.
  package mutating func syncRequested(at occasion: Occasion) -> [Action] {
    // A try that is under way and fails must not be followed by a long wait either.
    attempts = 0
    switch link {
    case .idle, .waiting:
      return connectIfPossible(at: occasion)
    case .exchanging(var exchange) where exchange.heldUntil != nil:
      exchange.heldUntil = occasion.now
      link = .exchanging(exchange)
      return []
    case .connecting(_, let since), .greeting(_, let since):
      // What the network swallowed is repeated ever more slowly; a fresh try is at once.
      guard occasion.now - since >= ClientLimits.patienceMilliseconds else { return [] }
      return leave(for: .stopped) + connectIfPossible(at: occasion)
    case .exchanging:
      return []
    }
  }

  /// A local command.
  ///
  /// - Parameter waitsForDisk: whether it is durable when this returns. Otherwise the driver lets the
  ///   actions out and then has the store synchronized, before anybody hears that the command is done:
  ///   so the server and the disk have it at the same time, not one after the other. A loss of power
  ///   in between leaves the server with operations that the device does not know it made; they come
  ///   back, and the next process writes under another replica id anyway.
  package mutating func commandGiven(
    _ command: Command, recordsUndo: Bool = true, waitsForDisk: Bool = true, at occasion: Occasion,
    store: some ReplicaStore
  ) throws(Replica.Fault) -> (outcome: CommandOutcome, actions: [Action]) {
    let outcome = try replica.perform(
      command, queueSizeMax: queueSizeMax, wall: time(at: occasion), recordsUndo: recordsUndo,
      waitsForDisk: waitsForDisk, at: occasion, store: store)
    var actions: [Action] = []
    if !outcome.touched.isEmpty { actions.append(.changed(outcome.touched)) }
    if !outcome.operations.isEmpty { actions += pumped(at: occasion, store: store) }
    return (outcome, actions)
  }

  /// The deadline came, or something before it.
  package mutating func timePassed(
    at occasion: Occasion, store: some ReplicaStore
  ) -> [Action] {
    forgetIfDue(at: occasion, store: store) + linkTimePassed(at: occasion, store: store)
  }

  private mutating func linkTimePassed(
    at occasion: Occasion, store: some ReplicaStore
  ) -> [Action] {
    switch link {
    case .idle:
      return []
    case .waiting(let until):
      return occasion.now >= until ? connectIfPossible(at: occasion) : []
    case .connecting(_, let since), .greeting(_, let since):
      guard occasion.now - since >= ClientLimits.openingMilliseconds else { return [] }
      return fail(Trouble(message: "the server does not answer"), at: occasion)
    case .exchanging(var exchange):
      if occasion.now - exchange.lastHeard >= ClientLimits.silenceMilliseconds {
        return fail(Trouble(message: "the server fell silent"), at: occasion)
      }
      if let deadline = exchange.answerDeadline, occasion.now >= deadline {
        return fail(Trouble(message: "the server did not answer a batch"), at: occasion)
      }
      if let deadline = exchange.offerDeadline, occasion.now >= deadline {
        return fail(
          Trouble(message: "the server did not take this device's state"), at: occasion)
      }
      var actions: [Action] = []
      if occasion.now - max(exchange.lastPing, exchange.lastHeard) >= exchange.pingMilliseconds {
        exchange.lastPing = occasion.now
        actions.append(.ping(exchange.connection))
      }
      if let heldUntil = exchange.heldUntil, heldUntil <= occasion.now { exchange.heldUntil = nil }
      if let acknowledgeAt = exchange.acknowledgeAt, acknowledgeAt <= occasion.now {
        do throws(StoreError) {
          try store.synchronize()
        } catch {
          return failed(.store(error), at: occasion)
        }
        exchange.acknowledgeAt = nil
        actions.append(acknowledgement(on: exchange.connection))
      }
      link = .exchanging(exchange)
      return actions + pumped(at: occasion, store: store)
    }
  }
}

extension ClientCore {
  /// The transport is open.
  package mutating func connectionOpened(
    _ id: ConnectionID, at occasion: Occasion, store: some ReplicaStore
  ) -> [Action] {
    // A transport that opens after it was given up is closed by the driver.
    guard case .connecting(id, _) = link, let credentials else { return [.close(id)] }
    // What the server hears of must outlast a loss of power.
    do throws(StoreError) { try store.synchronize() } catch {
      return failed(.store(error), at: occasion)
    }
    link = .greeting(id, since: occasion.now)
    let record = replica.record
    let hello = Hello(
      versions: ProtocolVersion.spoken, token: credentials.token,
      workspace: credentials.workspace, device: record.device, store: record.store,
      deviceName: record.deviceName, prefix: record.prefix)
    return [.send(id, .hello(hello))]
  }

  /// The transport could not be opened, broke, or was closed by the server.
  package mutating func connectionLost(
    _ id: ConnectionID, message: String, at occasion: Occasion
  ) -> [Action] {
    guard link.connection == id else { return [] }
    return fail(Trouble(message: message), at: occasion)
  }

  /// Any sign of life, such as a pong.
  package mutating func connectionHeard(_ id: ConnectionID, at occasion: Occasion) {
    guard case .exchanging(var exchange) = link, exchange.connection == id else { return }
    exchange.lastHeard = occasion.now
    link = .exchanging(exchange)
  }

  mutating func connectIfPossible(at occasion: Occasion) -> [Action] {
    guard isRunning else {
      link = .idle(.stopped)
      return []
    }
    guard replica.record.isSyncEnabled else {
      link = .idle(.disabled)
      return []
    }
    guard let credentials else {
      link = .idle(.unpaired)
      return []
    }
    if let bound = replica.record.workspace, bound != credentials.workspace {
      link = .idle(.refused)
      trouble = Trouble(
        message: "the credentials are for workspace \(credentials.workspace), the data belong to "
          + "\(bound); use another data directory for another workspace",
        refusal: .wrongWorkspace)
      return []
    }
    connections += 1
    let id = ConnectionID(rawValue: connections)
    link = .connecting(id, since: occasion.now)
    return [.connect(id)]
  }

  mutating func leave(for idleness: Link.Idleness) -> [Action] {
    let closing = closing()
    link = .idle(idleness)
    return closing
  }

  /// Closes what is open. A copy of this program's memory has no connection any more: whoever loses
  /// one writes under another replica id from then on.
  mutating func closing() -> [Action] {
    switch link {
    case .idle, .waiting: return []
    case .connecting(let id, _): return [.close(id)]
    case .greeting(let id, _):
      replica.retireWriter()
      return [.close(id)]
    case .exchanging(let exchange):
      replica.retireWriter()
      return [.close(exchange.connection)]
    }
  }

  /// Gives the connection up and tries again later.
  mutating func fail(
    _ trouble: Trouble, retryAfter: Int64 = 0, at occasion: Occasion
  ) -> [Action] {
    self.trouble = trouble
    let closing = closing()
    if case .exchanging(let exchange) = link,
      occasion.now - exchange.since >= ClientLimits.healthMilliseconds
    {
      attempts = 0
    }
    link = .waiting(until: occasion.now + backoff(at: occasion) + max(0, retryAfter))
    return closing + [.report(trouble)]
  }

  /// Full jitter over a range that doubles with every attempt, above the server's minimum.
  mutating func backoff(at occasion: Occasion) -> Int64 {
    let doublings = min(attempts, 6)
    attempts += 1
    let range = min(
      ClientLimits.backoffMillisecondsMin << Int64(doublings),
      ClientLimits.backoffMillisecondsMax)
    return backoffMinimum + Int64(occasion.random(3) % UInt64(range + 1))
  }
}
