import QueueModel
import WireProtocol

/// Telling people: what a batch says goes into the inboxes of devices, in the transaction that
/// stores the batch; SPECIFICATION.md, section "Notifications".
extension ServerCore {
  // MARK: - Posting

  /// Puts what a staged batch says into the inboxes, and takes out what nobody awaits any more.
  mutating func post(
    _ news: [NotificationChange], to id: WorkspaceID, at now: ServerTime
  ) {
    // Most batches tell nothing: a keystroke must not pay for what they do not say.
    if !news.isEmpty, let devices = workspaces[id]?.devices.keys.sorted() {
      let connected = notifiedDevices(of: id)
      let isLooking = isLookedAt(id)
      workspaces[id]?.inboxes.post(
        news, to: devices, connected: connected,
        isLooking: isLooking, uptime: now.uptimeMilliseconds)
    }
    workspaces[id]?.endRequests()
  }

  /// A request was answered: nobody needs to see it any longer.
  mutating func requestAnswered(_ request: RequestID, in id: WorkspaceID) {
    workspaces[id]?.inboxes.requestEnded(request)
  }

  /// Adds what changed in the inboxes to a commit, and the answers that depend on it.
  mutating func stageInboxes(_ id: WorkspaceID, into commit: inout CommitInFlight) {
    guard let resident = workspaces[id], resident.inboxesAreLost == false else { return }
    if let changes = workspaces[id]?.takeInboxChanges(), !changes.isEmpty {
      commit.inboxes.append((id, changes))
    }
    commit.answers += workspaces[id]?.takeInboxAnswers() ?? []
  }

  // MARK: - Telling

  /// What was put into inboxes is durable: tells those that are there.
  mutating func publish(_ changes: InboxChanges, of id: WorkspaceID) {
    workspaces[id]?.inboxes.becameDurable(changes)
    for member in (workspaces[id]?.members ?? []).sorted() {
      guard let connection = connections[member], connection.takesNotifications,
        let device = connection.session?.device
      else { continue }
      for notification in changes.posted
      where workspaces[id]?.inboxes.holds(notification.position, for: device) == true {
        tell(notification, isMissed: false, to: member)
      }
    }
    if !changes.orders.isEmpty { act(.pushOrdersStored) }
    for change in changes.statuses { show(change, of: id) }
  }

  private mutating func show(_ change: LiveStatusChange, of id: WorkspaceID) {
    let looking = visibleDevices(of: id)
    if let order = workspaces[id]?.order(of: change, looking: looking) {
      act(.liveStatus(order))
    }
  }

  private mutating func renewLiveStatus(of id: WorkspaceID, at now: ServerTime) {
    let due = workspaces[id]?.liveStatus.timePassed(uptime: now.uptimeMilliseconds) ?? []
    for (event, task) in due {
      let change = LiveStatusChange(event: event, task: task, at: now.wallMilliseconds)
      if event.changesWhatIsShown {
        workspaces[id]?.stagedStatuses.append(change)
        markReady(id)
      } else {
        show(change, of: id)
      }
    }
    let looking = visibleDevices(of: id)
    for order in workspaces[id]?.withheldOrders(looking: looking, at: now) ?? [] {
      act(.liveStatus(order))
    }
  }

  /// A workspace came into memory: somebody may not have been told yet of what had ended before.
  mutating func repeatEnds(_ ends: [SessionID: Int64], of id: WorkspaceID) {
    guard let content = workspaces[id]?.content else { return }
    for (session, at) in ends.sorted(by: { $0.key < $1.key }) {
      show(content.end(of: session, at: at), of: id)
    }
  }

  /// A connection has everything up to the present: it gets what waited for its device, and from
  /// now on what comes.
  mutating func beginNotifying(_ id: ConnectionID, at now: ServerTime) {
    guard let session = connections[id]?.session else { return }
    connections[id]?.takesNotifications = true
    workspaces[session.workspace]?.inboxes.connected(
      session.device, uptime: now.uptimeMilliseconds)
    // What was lost lacks what a lost batch had settled: it is told once the inboxes are read again.
    guard let resident = workspaces[session.workspace], !resident.inboxesAreLost else { return }
    for notification in resident.inboxes.waiting(for: session.device) {
      tell(notification, isMissed: true, to: id)
    }
  }

  private mutating func tell(
    _ notification: StoredNotification, isMissed: Bool, to id: ConnectionID
  ) {
    connections[id]?.noticesSent += 1
    send(.notification(notification.frame(isMissed: isMissed)), to: id)
  }

  /// The inboxes were read again: what is there is told once more; devices know what they have.
  mutating func notifyAnew(_ id: WorkspaceID, at now: ServerTime) {
    for member in (workspaces[id]?.members ?? []).sorted()
    where connections[member]?.takesNotifications == true {
      let sent = connections[member]?.noticesSent ?? 0
      connections[member]?.noticesOutdated = sent
      beginNotifying(member, at: now)
    }
  }

  /// A device has stored its inbox up to a position.
  ///
  /// Answers to what was sent before the inboxes were read anew do not count: what was missing from
  /// them then may stand before that position.
  mutating func notified(
    through position: UInt64, on id: ConnectionID, by session: Session, at now: ServerTime
  ) {
    connections[id]?.noticesAnswered += 1
    guard let connection = connections[id],
      connection.noticesAnswered > connection.noticesOutdated
    else { return }
    workspaces[session.workspace]?.inboxes.acknowledged(through: position, by: session.device)
    storeInboxes(of: session.workspace, at: now)
  }

  // MARK: - Time

  /// Devices with a connection that takes notifications.
  private func notifiedDevices(of id: WorkspaceID) -> Set<DeviceID> {
    devices(of: id) { $0.takesNotifications }
  }

  /// Devices that somebody looks at.
  private func visibleDevices(of id: WorkspaceID) -> Set<DeviceID> {
    devices(of: id) { $0.isVisible }
  }

  /// Somebody looks at one of the devices.
  private func isLookedAt(_ id: WorkspaceID) -> Bool {
    workspaces[id]?.members.contains { connections[$0]?.isLookedAt == true } == true
  }

  private func devices(
    of id: WorkspaceID, where isMeant: (Connection) -> Bool
  ) -> Set<DeviceID> {
    Set(
      (workspaces[id]?.members ?? []).compactMap { member in
        connections[member].flatMap { isMeant($0) ? $0.session?.device : nil }
      })
  }

  /// Gives to the push service what is due.
  mutating func pushDue(at now: ServerTime) {
    if storeHealth.works {
      for id in residents(where: \.inboxesAreLost) where !storeHealth.isDamaged(id, at: now) {
        load(id)
      }
    }
    for connection in connections.values where connection.isLookedAt {
      noteLook(on: connection, at: now)
    }
    for id in residents(where: \.inboxes.awaitsPush) {
      let connected = notifiedDevices(of: id)
      let visible = visibleDevices(of: id)
      let isLooking = isLookedAt(id)
      workspaces[id]?.inboxes.timePassed(
        connected: connected, visible: visible, isLooking: isLooking,
        uptime: now.uptimeMilliseconds)
      if workspaces[id]?.inboxes.hasChanges == true { markReady(id) }
    }
    for id in residents(where: { !$0.liveStatus.isEmpty }) { renewLiveStatus(of: id, at: now) }
    findUnpushed(at: now)
  }

  /// Somebody looks, or looked until now.
  private mutating func noteLook(on connection: Connection, at now: ServerTime) {
    guard let workspace = connection.session?.workspace else { return }
    workspaces[workspace]?.inboxes.lookedAt = now.uptimeMilliseconds
  }

  /// The workspaces that need something, by id: with each tick only these few are sorted.
  private func residents(where needsIt: (ResidentWorkspace) -> Bool) -> [WorkspaceID] {
    workspaces.filter { needsIt($0.value) }.keys.sorted()
  }

  /// Once after the start: reads the workspaces in which something is still to be pushed.
  private mutating func findUnpushed(at now: ServerTime) {
    guard !hasLookedForUnpushed, stopping == nil, storeHealth.works,
      !storeHealth.arePushesDamaged(at: now)
    else { return }
    hasLookedForUnpushed = true
    ask(.findUnpushed, for: .findUnpushed)
  }

  mutating func foundUnpushed(_ outcome: StoreOutcome, at now: ServerTime) {
    switch outcome {
    case .unpushed(let ids):
      for id in ids where workspaces[id] == nil { load(id) }
    case .failed(let fault):
      hasLookedForUnpushed = false
      storeHealth.failedToReadPushes(fault, at: now)
      storageFailed(fault, at: now)
    default:
      preconditionFailure("the store answered another question")
    }
  }

  // MARK: - Requests

  /// A device asks something about itself.
  mutating func requested(
    _ question: InboxRequest, as request: UInt64, by connection: Connection, _ session: Session,
    at now: ServerTime, using generator: inout some RandomNumberGenerator
  ) {
    guard let resident = workspaces[session.workspace], !resident.inboxesAreLost,
      resident.inboxAnswers.count < configuration.requestsMax
    else {
      storeInboxes(of: session.workspace, at: now)
      return send(.response(InboxAnswer.unavailable.response(id: request)), to: connection.id)
    }
    if session.role == .viewer, resident.inboxes.isAboutPerson(question) {
      let answer = InboxAnswer.unusable(
        "this device may only view: it sets, tests and removes no push target of its person")
      return send(.response(answer.response(id: request)), to: connection.id)
    }
    var answer = InboxAnswer.done
    switch question {
    case .visibility(let isVisible):
      if connection.isLookedAt { noteLook(on: connection, at: now) }
      connections[connection.id]?.isVisible = isVisible
      return send(.response(answer.response(id: request)), to: connection.id)
    case .targets:
      answer = .targets(resident.inboxes.targets(of: session.device).map(\.state))
    case .setTarget(let id, let kind, let address, let owner):
      answer = set(id, kind: kind, address: address, owner, session, at: now)
    case .removeTarget(let id):
      workspaces[session.workspace]?.inboxes.removeTarget(id, of: session.device)
    case .code(let wish):
      return asked(forCode: wish, as: request, by: connection, session, at: now, using: &generator)
    case .setPreferences(let preferences):
      workspaces[session.workspace]?.inboxes.set(preferences, for: session.device)
    case .echo(let bytes):
      return send(.response(InboxAnswer.echo(bytes).response(id: request)), to: connection.id)
    case .testTarget(let id):
      return test(id, as: request, by: connection, resident.inboxes.targets(of: session.device))
    }
    workspaces[session.workspace]?.inboxAnswers.append(
      (connection.id, answer.response(id: request)))
    storeInboxes(of: session.workspace, at: now)
  }

  private mutating func set(
    _ id: PushTargetID, kind: String, address: String, _ owner: PushTargetOwner,
    _ session: Session, at now: ServerTime
  ) -> InboxAnswer {
    switch targetCheck(kind, address) {
    case .unusable(let problem):
      return .unusable(problem)
    case .usable(let shownAddress):
      let record = PushTargetRecord(
        device: owner == .person ? .person : session.device, id: id, kind: kind, address: address,
        shownAddress: shownAddress, registeredAt: now.wallMilliseconds, setBy: session.device)
      let problem = workspaces[session.workspace]?.inboxes.set(record)
      return problem.map(InboxAnswer.unusable) ?? .done
    }
  }

  private mutating func test(
    _ id: PushTargetID, as request: UInt64, by connection: Connection,
    _ targets: [PushTargetRecord]
  ) {
    guard let target = targets.first(where: { $0.id == id }) else {
      let answer = InboxAnswer.unusable("there is no such push target of this device or its person")
      return send(.response(answer.response(id: request)), to: connection.id)
    }
    guard connection.test == nil else {
      return send(.response(InboxAnswer.unavailable.response(id: request)), to: connection.id)
    }
    connections[connection.id]?.test = (request, target)
    act(.testPush(target, for: connection.id))
  }

  /// A provider answered a test, or could not be asked.
  ///
  /// - Parameter problem: what it said where it did not take what was pushed.
  package mutating func pushTested(
    for id: ConnectionID, problem: String?, at now: ServerTime
  ) -> [ServerAction] {
    // A connection that has ended asks no more.
    guard let (request, target) = connections[id]?.test, let session = connections[id]?.session
    else { return [] }
    connections[id]?.test = nil
    if problem == nil {
      note(.tested(target, of: session.workspace, at: now.wallMilliseconds), at: now)
    }
    let answer = problem.map(InboxAnswer.unusable) ?? .done
    send(.response(answer.response(id: request)), to: id)
    return takeActions()
  }

  /// The push service found out something about a target.
  package mutating func pushTargetReported(
    _ report: PushTargetReport, at now: ServerTime
  ) -> [ServerAction] {
    note(report, at: now)
    return takeActions()
  }

  private mutating func note(_ report: PushTargetReport, at now: ServerTime) {
    workspaces[report.workspace]?.inboxes.note(report)
    storeInboxes(of: report.workspace, at: now)
  }

  /// Stores what changed in the inboxes, as soon as that is possible.
  private mutating func storeInboxes(of id: WorkspaceID, at now: ServerTime) {
    guard let resident = workspaces[id] else { return }
    if resident.inboxesAreLost { return load(id) }
    guard resident.hasInboxWork else { return }
    markReady(id)
    stageCommit(at: now)
  }
}

extension Workspace {
  /// What a session's agent does: nothing where the session was deleted.
  fileprivate func shownTask(of session: SessionID, at: Int64) -> TaskState {
    task(of: session)
      ?? TaskState(sessionId: session, status: .idle, startTime: at, lastUpdateTime: at)
  }

  fileprivate func end(of session: SessionID, at: Int64) -> LiveStatusChange {
    LiveStatusChange(event: .ended, task: shownTask(of: session, at: at), at: at)
  }
}

extension ResidentWorkspace {
  /// Takes requests out of the inboxes that no task awaits any more.
  mutating func endRequests() {
    guard let content else { return }
    inboxes.requestsEnded { notification in
      guard let request = notification.request else { return true }
      return !content.awaits(request, in: notification.session)
    }
  }

  /// Puts what a staged batch says of tasks with what is stored of it: those who watch are told once
  /// that is durable.
  mutating func stageTasks(at now: ServerTime) {
    let sessions = stagedTasks.sorted()
    stagedTasks = []
    guard let content, !sessions.isEmpty,
      !inboxes.receivers(of: .started).isEmpty || !liveStatus.isEmpty
    else { return }
    for session in sessions {
      // Of a session that was deleted nothing is shown any more.
      let task = content.shownTask(of: session, at: now.wallMilliseconds)
      if let event = liveStatus.changed(task, uptime: now.uptimeMilliseconds) {
        stagedStatuses.append(LiveStatusChange(event: event, task: task, at: now.wallMilliseconds))
      }
    }
  }

  /// The workspace was read: what is shown of its tasks may not be so any more.
  mutating func resumeLiveStatus(at now: ServerTime) {
    guard let content else { return }
    stagedStatuses += liveStatus.resumed(content.task(of:)).map {
      content.end(of: $0, at: now.wallMilliseconds)
    }
  }

  /// Tells of a status those that nobody looks at, and of its end everybody; the others hear of it
  /// when nobody looks at them any more.
  ///
  /// - Returns: nil where nobody is to be told.
  mutating func order(
    of change: LiveStatusChange, looking: Set<DeviceID>
  ) -> LiveStatusOrder? {
    var receivers = inboxes.receivers(of: change.event)
    // Whoever hears of an end forgets it in the store.
    if change.event != .ended {
      liveStatus.withhold(
        change.event, of: change.task.sessionId, from: looking.intersection(receivers.keys))
      receivers = receivers.filter { !looking.contains($0.key) }
      guard !receivers.isEmpty else { return nil }
    }
    return LiveStatusOrder(
      workspace: id, event: change.event, task: change.task, at: change.at, receivers: receivers)
  }

  /// What was kept from devices that somebody looked at, and nobody does now.
  mutating func withheldOrders(
    looking: Set<DeviceID>, at now: ServerTime
  ) -> [LiveStatusOrder] {
    liveStatus.takeWithheld(except: looking).compactMap { kept in
      guard let details = inboxes.receivers(of: kept.event)[kept.device] else { return nil }
      return LiveStatusOrder(
        workspace: id, event: kept.event, task: kept.task, at: now.wallMilliseconds,
        receivers: [kept.device: details])
    }
  }

  /// The store has not what the inboxes say: everything is read again.
  mutating func inboxesWereLost() {
    inboxesAreLost = true
    stagedTasks = []
    stagedStatuses = []
    stagedWasLost()
  }

  /// Takes what is to be stored of inboxes and statuses.
  mutating func takeInboxChanges() -> InboxChanges {
    var changes = inboxes.takeChanges()
    changes.statuses = stagedStatuses
    stagedStatuses = []
    return changes
  }

  /// Takes the answers that wait for the inboxes to be stored.
  mutating func takeInboxAnswers() -> [(connection: ConnectionID, response: Response)] {
    defer { inboxAnswers = [] }
    return inboxAnswers
  }
}

/// What a server thinks of an address that a device registers.
package enum PushTargetCheck: Hashable, Sendable {
  /// It can be used; this is how it is shown, without its secrets.
  case usable(shownAddress: String)
  /// What is wrong with it, for the person who wrote it.
  case unusable(String)

  /// Knows the kinds alone: where nothing is pushed, nothing more is known.
  package static func ofKind(_ kind: String, _ address: String) -> PushTargetCheck {
    guard ["apns", "ntfy", "webhook"].contains(kind) else {
      return .unusable("\(kind) is no kind of push target: apns, ntfy or webhook")
    }
    guard !address.isEmpty else { return .unusable("the address is empty") }
    return .usable(shownAddress: "…" + String(address.suffix(4)))
  }
}

extension StoredNotification {
  /// What a device is sent: it has the whole story anyway, so nothing is held back.
  func frame(isMissed: Bool) -> InboxNotification {
    InboxNotification(
      position: position, name: name, event: event, isMissed: isMissed, session: session,
      request: request, milliseconds: milliseconds)
  }
}
