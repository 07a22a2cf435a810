import QueueModel
import SequenceCRDT
import WireProtocol

/// A device's replica, and its connection to the server.
///
/// ```text
///                  ┌────────── time ──────────┐
///                  ▼                          │
/// idle ──▶ connecting ──opened──▶ greeting ──▶│── waiting
///  ▲  started,   │        hello      │ welcome │     ▲
///  │  paired,    │                   ▼         │     │ lost, silent, refused for now,
///  │  wanted     │                 live ───────│─────┘ told to reconnect later
///  │             └──────── lost ───────────────┘
///  └── stopped, switched off, another pairing or none, refused for good: from everywhere
/// ```
///
/// All changes by the device go through `perform`, so that they are sent; other machines use
/// `ready`, `current` and `hasServer` of the connection.
struct ConnectionMachine: Sendable {
  typealias Action = ClientCore.Action

  enum State: Sendable {
    /// The sync does not run, it is turned off, there is no server, or the server refused for good.
    case idle(Idleness)
    /// Waits before the next attempt.
    case waiting(until: Int64)
    /// A transport is being opened.
    case connecting(TransportID, since: Int64)
    /// `hello` was sent.
    case greeting(TransportID, since: Int64)
    /// Changes are exchanged.
    case live(LiveConnection)
  }

  enum Idleness: Hashable, Sendable {
    case stopped
    case disabled
    case unpaired
    case refused
  }

  /// How long to wait before the next attempt.
  struct Backoff: Hashable, Sendable {
    /// Failed attempts in a row.
    var attempts = 0
    /// The server's minimum, in milliseconds.
    var minimum: Int64 = 0
    /// The latest loss of a connection that had caught up.
    var loss: Loss?
  }

  /// A connection that was lost.
  struct Loss: Hashable, Sendable {
    var at: Int64
    /// The remaining quick attempts.
    var quickTriesLeft: Int
  }

  var replica: Replica
  /// The maximum number of messages in a session for a local enqueue.
  var queueSizeMax: Int
  var credentials: Credentials?
  var state = State.idle(.stopped) {
    didSet { if case .live = state { unsent = [] } }
  }
  /// The number of operations made since this opening while nothing could be sent.
  var unsent: [OperationRange] = []
  var isRunning = false
  /// The number of connections so far.
  var connections: UInt64 = 0
  var backoff = Backoff()
  /// Whether a lease of this device must be confirmed.
  var holdsLease = false
  var serverClock: ServerClock?
  var problem: ConnectionProblem?
  /// The access that the server named on this connection, before its welcome.
  var announcedAccess: DeviceAccess?
  /// The devices of the workspace, as last reported by the server.
  var devices: [DevicePresence] = []
  var lastSyncedWall: Int64?
  /// Questions to the authority.
  var authority = AuthorityQuestions()
  var retention = Retention()

  init(replica: Replica, credentials: Credentials?, queueSizeMax: Int) {
    self.replica = replica
    self.credentials = credentials
    self.queueSizeMax = queueSizeMax
  }

  /// The present connection, open or not.
  var current: TransportID? {
    switch state {
    case .idle, .waiting: nil
    case .connecting(let id, _), .greeting(let id, _): id
    case .live(let live): live.id
    }
  }

  /// The connection for questions; nil if there is none.
  var ready: TransportID? {
    if case .live(let live) = state, live.hasCaughtUp { live.id } else { nil }
  }

  /// Whether a server decides about leases, or this device itself.
  var hasServer: Bool { credentials != nil || replica.record.workspace != nil }

  /// When `timePassed` must be called; nil: never.
  var deadline: Int64? {
    switch state {
    case .idle: nil
    case .waiting(let until): until
    case .connecting(_, let since), .greeting(_, let since):
      since + ClientLimits.openingMilliseconds
    case .live(let live): live.deadline
    }
  }

  /// Uses the server's time, clamped to the range of stamps.
  mutating func noteServerClock(_ milliseconds: Int64, at context: EventContext) {
    let reading = min(max(milliseconds, 0), Stamp.millisecondsMax)
    serverClock = ServerClock(reading: reading, readAt: context.now)
  }

  /// The wall clock, or the server's if the two differ by more than a little.
  func time(at context: EventContext) -> Int64 {
    serverClock?.time(at: context) ?? context.wall
  }

  /// The context with the best known time.
  func corrected(_ context: EventContext) -> EventContext {
    context.at(wall: time(at: context))
  }

  /// Checks the machine against itself.
  ///
  /// - Throws: `InvariantViolation` naming the first contradiction.
  func checkInvariants() throws(InvariantViolation) {
    func require(_ holds: Bool, _ reason: String) throws(InvariantViolation) {
      if !holds { throw InvariantViolation(reason: "the connection \(reason)") }
    }
    try require(current.map { $0.rawValue == connections } ?? true, "is not the latest one")
    try require(backoff.attempts >= 0 && backoff.minimum >= 0, "waits for less than no time")
    let waiting = authority.held.map(\.id)
    try require(Set(waiting).count == waiting.count, "has a question wait twice")
    guard current != nil else { return }
    try require(isRunning, "exists though the sync does not run")
    try require(credentials != nil, "is there without credentials")
    try require(replica.record.isSyncEnabled, "is there though sync is off")
    guard case .live(let live) = state else { return }
    try live.window.checkInvariants()
    try require(live.window.cursor <= replica.lastEntry, "has sent what the log does not hold")
    try require(live.lastHeard >= live.since, "was heard before it was there")
    if let assembly = live.assembly {
      try require(assembly.nextIndex < assembly.count, "keeps a snapshot that is complete")
    }
  }
}

extension ConnectionMachine {
  /// The driver started the sync.
  mutating func started(at context: EventContext) -> [Action] {
    isRunning = true
    return connectIfPossible(at: context)
  }

  /// The driver stops: closes open transports.
  mutating func stopped() -> [Action] {
    isRunning = false
    return disconnect(for: .stopped)
  }

  /// The device was paired, for the first time or again.
  mutating func paired(
    _ fresh: Credentials, at context: EventContext, store: some ReplicaStore
  ) throws(Replica.Fault) -> [Action] {
    let isNew = fresh.token != credentials?.token
    try replica.remember(store: store) {
      $0.workspace = fresh.workspace
      // A new token may give another role; the same token at another address does not.
      if isNew { $0.access = nil }
    }
    credentials = fresh
    backoff.attempts = 0
    problem = nil
    return disconnect(for: .stopped) + connectIfPossible(at: context)
  }

  /// The device forgot its server.
  mutating func unpaired() -> [Action] {
    credentials = nil
    backoff.attempts = 0
    problem = nil
    return disconnect(for: isRunning ? .unpaired : .stopped)
  }

  /// A user turned sync on or off.
  mutating func syncSwitched(
    _ isOn: Bool, at context: EventContext, store: some ReplicaStore
  ) throws(Replica.Fault) -> [Action] {
    try replica.remember(store: store) { $0.isSyncEnabled = isOn }
    guard isOn else { return disconnect(for: .disabled) }
    backoff.attempts = 0
    if case .idle = state { return connectIfPossible(at: context) }
    return []
  }

  /// A user wants to connect now, whatever was refused before.
  mutating func syncRequested(at context: EventContext) -> [Action] {
    // If the open attempt fails, it must not be followed by a long wait either.
    backoff.attempts = 0
    switch state {
    case .idle, .waiting:
      return connectIfPossible(at: context)
    case .live(var live) where live.sending != .open:
      live.sending = .held(until: context.now)
      state = .live(live)
      return []
    case .connecting(_, let since), .greeting(_, let since):
      // The network repeats lost packets at growing intervals; a new attempt is faster.
      guard context.now - since >= ClientLimits.patienceMilliseconds else { return [] }
      return disconnect(for: .stopped) + connectIfPossible(at: context)
    case .live:
      return []
    }
  }

  /// What this device can be sure of while it does not know the server's state; nil if it knows the
  /// state, or if there is no server.
  var apart: Apartness? {
    guard hasServer else { return nil }
    if case .live(let live) = state, live.maySend { return nil }
    return Apartness(unsent: unsent)
  }

  /// The same, even if the server has not answered.
  func apart(isSilent: Bool) -> Apartness? {
    apart ?? (isSilent && hasServer ? Apartness() : nil)
  }

  /// A local command.
  ///
  /// - Parameter isApart: whether the server has not answered, whatever the connection seems to be.
  /// - Parameter waitsForDisk: whether it is durable when this returns. Otherwise, the driver
  ///   performs the actions and then synchronizes the store before it reports the command as done.
  ///   So the server and the disk get it at the same time. After a loss of power in between, the
  ///   server has operations that the device does not know. They come back, and the next process
  ///   writes under another replica id anyway.
  /// - Parameter choice: the user's choice about a session, stored in the same transaction.
  mutating func perform(
    _ command: Command, recordsUndo: Bool = true, choice: SessionChoice? = nil,
    isApart: Bool = false, waitsForDisk: Bool = true, at context: EventContext,
    store: some ReplicaStore
  ) throws(Replica.Fault) -> (outcome: CommandOutcome, actions: [Action]) {
    let apart = apart(isSilent: isApart)
    let outcome = try replica.perform(
      command, queueSizeMax: queueSizeMax, wall: time(at: context), recordsUndo: recordsUndo,
      choice: choice, apart: apart, connection: openConnection, waitsForDisk: waitsForDisk,
      at: context, store: store)
    if recordsUndo, command.typedMessage != nil, !outcome.operations.isEmpty {
      replica.typedAt = context.now
    }
    noteUnsent(outcome.operations)
    var actions: [Action] = []
    if !outcome.touched.isEmpty { actions.append(.changed(outcome.touched)) }
    if !outcome.operations.isEmpty { actions += sendBatches(at: context, store: store) }
    return (outcome, actions)
  }

  mutating func noteUnsent(_ operations: [Operation]) {
    if case .live = state { return }
    for range in operations.ranges {
      if let last = unsent.last, last.replica == range.replica, last.last &+ 1 == range.first {
        unsent[unsent.count - 1] = OperationRange(
          replica: last.replica, first: last.first, last: range.last)
      } else {
        unsent.append(range)
      }
    }
  }

  /// The deadline was reached, or something happened before it.
  mutating func timePassed(at context: EventContext, store: some ReplicaStore) -> [Action] {
    switch state {
    case .idle:
      return []
    case .waiting(let until):
      return context.now >= until ? connectIfPossible(at: context) : []
    case .connecting(_, let since), .greeting(_, let since):
      guard context.now - since >= ClientLimits.openingMilliseconds else { return [] }
      return fail(ConnectionProblem(message: "the server does not answer"), at: context)
    case .live(let live):
      return timePassed(live, at: context, store: store)
    }
  }

  private mutating func timePassed(
    _ live: LiveConnection, at context: EventContext, store: some ReplicaStore
  ) -> [Action] {
    if context.now - live.lastHeard >= ClientLimits.silenceMilliseconds {
      return fail(ConnectionProblem(message: "the server stopped answering"), at: context)
    }
    if let deadline = live.window.answerDeadline, context.now >= deadline {
      return fail(ConnectionProblem(message: "the server did not answer a batch"), at: context)
    }
    if case .offering(let until, _) = live.phase, context.now >= until {
      return fail(
        ConnectionProblem(message: "the server did not accept this device's state"), at: context)
    }
    var live = live
    var actions: [Action] = []
    if context.now - max(live.lastPing, live.lastHeard) >= live.pingMilliseconds {
      live.lastPing = context.now
      actions.append(.ping(live.id))
    }
    if case .held(let until) = live.sending, until <= context.now { live.sending = .open }
    if let acknowledgeAt = live.acknowledgeAt, acknowledgeAt <= context.now {
      do throws(StoreError) {
        try store.synchronize()
      } catch {
        return failed(.store(error), at: context)
      }
      live.acknowledgeAt = nil
      actions.append(acknowledgement(on: live.id))
    }
    state = .live(live)
    return actions + sendBatches(at: context, store: store)
  }
}
