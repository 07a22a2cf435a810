import DispatchAuthority
package import QueueModel
package import WireProtocol

/// Runs the messages of the sessions whose host this device is: one at a time in each session, in
/// the order of their queues, and every attempt at most once.
///
/// A state machine without processes, sockets, files and clocks. Methods are events; each returns
/// what the driver has to do, in order. What is stored is the driver's affair: it stores an order's
/// intent before it starts the agent, and tells at the next start of the program which intents
/// never ended.
package struct Executor: Sendable {
  /// What the driver has to do.
  package enum Action: Hashable, Sendable {
    /// Ask the authority; where there is no connection, when there is one again.
    case ask(AuthorityRequest, id: UInt64)
    /// Store the intent and the report in one transaction, and hand the prompt to the agent when the
    /// disk has them.
    case start(StartOrder)
    /// Stop the agent: ask it to end, and make it end 10 seconds later.
    case stop(SessionID, attempt: UInt16)
    /// Do this command and what follows from it, and forget the message's intent, all in one
    /// transaction. Where the command changes nothing, nothing follows from it.
    case end(Command, then: [Command], MessageID)
    /// The same, where there is no intent.
    case perform(Command, then: [Command])
    /// Nothing runs any more, and no lease is held.
    case drained
  }

  package var settings: ExecutorSettings
  package let device: DeviceID
  /// Numbers of requests rise with every one.
  private var lastRequest: UInt64
  var seats: [SessionID: Seat] = [:]
  /// Sessions in which somebody works at the agent's own prompt.
  var busy: Set<SessionID> = []
  /// Sessions whose agents wait for a prompt; see `StartMode.gated`.
  var opened: Set<SessionID> = []
  /// Whether the authority lets messages out by itself, where it is asked to.
  package var authorityStands = false
  package private(set) var isDraining = false
  package internal(set) var counters = ExecutionCounters()

  /// - Parameter firstRequest: 64 random bits, so that no other run of the program uses the numbers.
  package init(device: DeviceID, settings: ExecutorSettings = .init(), firstRequest: UInt64) {
    self.device = device
    self.settings = settings
    lastRequest = firstRequest
  }

  /// When `timePassed` is due at the latest; nil where nothing waits for time.
  package func deadline(wall: Int64, now: Int64) -> Int64? {
    seats.values.compactMap { $0.deadline(wall: wall, now: now, settings: settings) }.min()
  }

  /// What was asked under a number; nil where no answer to it is expected any more.
  package func question(_ id: UInt64) -> AuthorityRequest? {
    for seat in seats.values {
      if let asking = seat.asking, asking.id == id { return asking.request }
      if let standing = seat.standing, standing.id == id {
        return .next(session: seat.session, token: standing.token)
      }
      if seat.standing?.withdrawal == id { return .withdraw(seat.session) }
    }
    return nil
  }

  /// Whether an attempt was let out to this device that did not begin, and will not with the text
  /// that it was let out with: what was changed here meanwhile counts.
  ///
  /// - Parameter token: of the lease that the attempt was let out under.
  func givesBack(_ message: MessageID, attempt: UInt16, token: UInt64) -> Bool {
    guard let seat = seats.values.first(where: { $0.lease?.token == token }) else { return false }
    let isHere = { (order: StartOrder?) in order?.message == message && order?.attempt == attempt }
    if case .dispatch(let request)? = seat.asking?.request, request.message == message,
      request.attempt == attempt
    {
      return false
    }
    return !isHere(seat.run?.order) && !isHere(seat.lastEnded)
  }

  /// The sessions in which an agent works, by session.
  package var running: [SessionID: StartOrder] { seats.compactMapValues { $0.run?.order } }

  // MARK: - Events

  /// Intents of an earlier run of the program that never ended: nobody knows what the agent did,
  /// unless the driver knows that it died.
  package mutating func recovered(
    _ intents: [StartOrder], deadAgents: Set<MessageID> = [], in workspace: Workspace,
    at occasion: Occasion
  ) -> [Action] {
    intents.flatMap { order in
      recover(order, deadAgents.contains(order.message) ? .interrupted : .unknown, at: occasion)
    }
  }

  /// Queues changed, or the program began.
  package mutating func queuesChanged(
    _ sessions: Set<SessionID>, in workspace: Workspace, at occasion: Occasion
  ) -> [Action] {
    var actions: [Action] = []
    for session in sessions.sorted() {
      if seats[session] == nil {
        guard workspace.host(of: session) == .some(.some(device)) else { continue }
        seats[session] = Seat(session: session)
      }
      if seats[session]?.pause?.endsWithChange == true { seats[session]?.pause = nil }
      actions += step(session, in: workspace, at: occasion)
    }
    return actions
  }

  /// Time has passed: to be called at `deadline`.
  package mutating func timePassed(in workspace: Workspace, at occasion: Occasion) -> [Action] {
    var actions: [Action] = []
    for session in seats.keys.sorted() {
      actions += step(session, in: workspace, at: occasion)
    }
    return actions
  }

  /// A connection to the authority is there again: what was not answered is asked again, and nothing
  /// stands there any more.
  package mutating func connected(in workspace: Workspace, at occasion: Occasion) -> [Action] {
    seats.keys.sorted().flatMap { session -> [Action] in
      seats[session]?.standing = nil
      guard let asking = seats[session]?.asking else {
        return step(session, in: workspace, at: occasion)
      }
      seats[session]?.asking?.sentAt = occasion.now
      seats[session]?.asking?.repeats = 0
      return [.ask(asking.request, id: asking.id)]
    }
  }

  /// Another authority decides from now on: leases of the one before count for what runs alone.
  package mutating func authorityChanged(stands: Bool) {
    authorityStands = stands
    for session in seats.keys {
      seats[session]?.asking = nil
      seats[session]?.standing = nil
      seats[session]?.proposal = nil
      seats[session]?.pause = nil
      if seats[session]?.run == nil {
        seats[session]?.lease = nil
      } else {
        seats[session]?.lease?.provenAt = .max / 4
      }
    }
  }

  /// Somebody works in a session, or is done.
  package mutating func busyChanged(
    _ session: SessionID, _ isBusy: Bool, in workspace: Workspace, at occasion: Occasion
  ) -> [Action] {
    if isBusy { busy.insert(session) } else { busy.remove(session) }
    return queuesChanged([session], in: workspace, at: occasion)
  }

  /// The agent of a session waits for a prompt, or does not any more.
  package mutating func gateChanged(
    _ session: SessionID, isOpen: Bool, in workspace: Workspace, at occasion: Occasion
  ) -> [Action] {
    if isOpen { opened.insert(session) } else { opened.remove(session) }
    return queuesChanged([session], in: workspace, at: occasion)
  }

  /// Whether the settings let anything start in a session now.
  func mayStart(in session: SessionID) -> Bool {
    switch mode(of: session) {
    case .off: false
    case .free: true
    case .gated: opened.contains(session)
    }
  }

  func mode(of session: SessionID) -> StartMode {
    let standard: StartMode = settings.isEnabled ? settings.isGated ? .gated : .free : .off
    return settings.modes[session] ?? standard
  }

  /// An order could not be stored, and so must not be carried out.
  package mutating func beginFailed(_ order: StartOrder, at occasion: Occasion) {
    guard seats[order.session]?.run?.order == order else { return }
    seats[order.session]?.run = nil
    wait(order.session, endsWithChange: false, at: occasion)
  }

  /// The authority answered.
  package mutating func answered(
    _ id: UInt64, _ answer: AuthorityAnswer, in workspace: Workspace, at occasion: Occasion
  ) -> [Action] {
    if let session = seats.first(where: { $0.value.standing?.id == id })?.key {
      return nextAnswered(session, answer, in: workspace, at: occasion)
    }
    if let session = seats.first(where: { $0.value.standing?.withdrawal == id })?.key {
      seats[session]?.standing = nil
      return step(session, in: workspace, at: occasion)
    }
    // An answer to a question that was given up is dropped: a lease it grants ends by itself, and
    // an attempt it lets out is never begun, but for being asked for anew.
    guard let session = seats.first(where: { $0.value.asking?.id == id })?.key,
      let asking = seats[session]?.asking
    else { return [] }
    seats[session]?.asking = nil
    switch asking.request {
    case .lease(_, let token):
      leaseAnswered(session, token, answer, sentAt: asking.sentAt, at: occasion)
    case .whereabouts:
      whereaboutsAnswered(session, answer, at: occasion)
    case .release:
      seats[session]?.standing = nil
    case .outcome, .answer, .verdict, .next, .withdraw:
      break
    case .dispatch(let dispatch):
      return dispatchAnswered(session, dispatch, answer, asking, in: workspace, at: occasion)
    }
    return step(session, in: workspace, at: occasion)
  }

  /// The agent ended, or could not be started.
  package mutating func ended(
    _ session: SessionID, attempt: UInt16, with result: RunResult, in workspace: Workspace,
    at occasion: Occasion
  ) -> [Action] {
    guard let run = seats[session]?.run, run.order.attempt == attempt else { return [] }
    seats[session]?.run = nil
    seats[session]?.failures = 0
    seats[session]?.lastEnded = run.order
    let actions = reports(of: run, result, at: occasion)
    return actions + step(session, in: workspace, at: occasion)
  }

  /// The program is to end: nothing new begins; what runs may end until it is stopped.
  package mutating func drainRequested(
    in workspace: Workspace, at occasion: Occasion
  ) -> [Action] {
    isDraining = true
    return timePassed(in: workspace, at: occasion) + drainedIfDone()
  }

  /// The time to end in peace is over.
  package mutating func graceEnded(at occasion: Occasion) -> [Action] {
    for session in seats.keys where seats[session]?.run == nil {
      seats[session]?.asking = nil
      seats[session]?.lease = nil
    }
    return seats.keys.sorted().compactMap { stop($0, because: .drained) } + drainedIfDone()
  }

  /// A person wants the agent of a session stopped.
  package mutating func stopRequested(_ session: SessionID) -> [Action] {
    stop(session, because: .person).map { [$0] } ?? []
  }

  // MARK: - Helpers of the steps

  mutating func ask(
    _ request: AuthorityRequest, for session: SessionID, at occasion: Occasion
  ) -> Action {
    lastRequest &+= 1
    seats[session]?.asking = Asking(request: request, id: lastRequest, sentAt: occasion.now)
    return .ask(request, id: lastRequest)
  }

  /// Asks to be given the session's next message.
  mutating func stand(_ session: SessionID, under token: UInt64) -> Action {
    lastRequest &+= 1
    seats[session]?.standing = Standing(id: lastRequest, token: token)
    return .ask(.next(session: session, token: token), id: lastRequest)
  }

  /// Takes that back.
  mutating func withdraw(_ session: SessionID) -> [Action] {
    guard seats[session]?.standing?.isWithdrawn == false else { return [] }
    lastRequest &+= 1
    seats[session]?.standing?.withdrawal = lastRequest
    return [.ask(.withdraw(session), id: lastRequest)]
  }

  mutating func stop(_ session: SessionID, because reason: StopReason) -> Action? {
    guard let run = seats[session]?.run else { return nil }
    // What a person wants holds, whatever it is being stopped for already.
    if run.stopping.map({ reason.isFinal && !$0.isFinal }) ?? true {
      seats[session]?.run?.stopping = reason
    }
    return run.stopping == nil ? .stop(session, attempt: run.order.attempt) : nil
  }

  func drainedIfDone() -> [Action] {
    let isDone =
      isDraining
      && seats.values.allSatisfy {
        $0.run == nil && $0.lease == nil && $0.asking?.isDispatch != true
      }
    return isDone ? [.drained] : []
  }
}
