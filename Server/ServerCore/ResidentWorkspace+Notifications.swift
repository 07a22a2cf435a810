import QueueModel
import WireProtocol

/// Notifications of a workspace's batches, and the displayed statuses of its tasks.
extension ResidentWorkspace {
  /// Puts the events of a staged batch into the inboxes.
  mutating func post(_ news: [NotificationChange], _ audience: Audience, at now: ServerTime) {
    inboxes.post(
      news, to: devices.keys.sorted(), audience, uptime: now.uptimeMilliseconds)
  }

  /// Removes requests that no task awaits from the inboxes.
  ///
  /// - Parameter sessions: those whose tasks may have changed; nil for all.
  mutating func endRequests(in sessions: Set<SessionID>? = nil) {
    guard let content, sessions?.isEmpty != true else { return }
    // Each task is read once, for any number of its requests.
    var tasks: [SessionID: TaskState?] = [:]
    inboxes.requestsEnded { notification in
      let session = notification.session
      guard sessions?.contains(session) != false, let request = notification.request else {
        return false
      }
      let task = tasks[session] ?? content.task(of: session)
      tasks[session] = task
      return task?.awaits(request) != true
    }
  }

  /// Removes merged messages from the inboxes whose text was chosen, or that no longer exist.
  ///
  /// - Parameter operations: those that may have ended it; nil if any change may have.
  mutating func endMerges(changedBy operations: [Operation]? = nil) {
    guard let content, inboxes.hasMerges else { return }
    let changed = operations.flatMap { operations in
      operations.contains(where: \.mayEndChoicesOfASession)
        ? nil : Set(operations.compactMap { $0.message(in: content) })
    }
    inboxes.mergesEnded { message in
      changed?.contains(message) != false && !content.waitsForChoice(message)
    }
  }

  /// Adds the changes of the inboxes to a commit, and the answers that depend on them.
  mutating func stageInboxes(into commit: inout CommitInFlight) {
    guard !inboxes.areLost else { return }
    var changes = inboxes.takeChanges()
    changes.statuses = liveStatus.takeStaged()
    if !changes.isEmpty { commit.inboxes.append((id, changes)) }
    commit.answers += inboxes.takeAnswers()
  }

  /// Stores the task changes of staged batches with the commit; devices are notified once that is
  /// durable. If there are very many tasks, some are read now, and the rest with the next batch or
  /// a moment later.
  mutating func stageTasks(at now: ServerTime) {
    guard let content else { return }
    guard !liveStatus.showsNothing || !inboxes.receivers(of: .started).isEmpty else {
      _ = liveStatus.takeConcerned()
      return
    }
    for session in liveStatus.takeConcerned(atMost: BatchChanges.sessionsMax) {
      // A deleted session displays nothing.
      let task = content.shownTask(of: session, at: now.wallMilliseconds)
      if let event = liveStatus.changed(task, uptime: now.uptimeMilliseconds) {
        liveStatus.stage(LiveStatusChange(event: event, task: task, at: now.wallMilliseconds))
      }
    }
  }

  /// The workspace was loaded: its displayed statuses may be out of date.
  mutating func resumeLiveStatus(at now: ServerTime) {
    guard let content else { return }
    for session in liveStatus.resumed(content.task(of:)) {
      liveStatus.stage(content.end(of: session, at: now.wallMilliseconds))
    }
  }

  /// Sends a status to devices that no user is looking at, and its end to all devices. The others
  /// get it once no user is looking at them.
  ///
  /// - Returns: nil if there is no receiver.
  mutating func order(
    of change: LiveStatusChange, looking: Set<DeviceID>
  ) -> LiveStatusOrder? {
    var receivers = inboxes.receivers(of: change.event)
    // An order for an end also removes the end from the store.
    if change.event != .ended {
      liveStatus.withhold(
        change.event, of: change.task.sessionId, from: looking.intersection(receivers.keys))
      receivers = receivers.filter { !looking.contains($0.key) }
      guard !receivers.isEmpty else { return nil }
    }
    return LiveStatusOrder(
      workspace: id, event: change.event, task: change.task, at: change.at, receivers: receivers)
  }

  /// The statuses to send now that time has passed; a begin or an end is stored first.
  mutating func liveStatusOrders(looking: Set<DeviceID>, at now: ServerTime) -> [LiveStatusOrder] {
    if isQuiet { stageTasks(at: now) }
    var orders: [LiveStatusOrder] = []
    for (event, task) in liveStatus.timePassed(uptime: now.uptimeMilliseconds) {
      let change = LiveStatusChange(event: event, task: task, at: now.wallMilliseconds)
      if event.changesWhatIsShown {
        liveStatus.stage(change)
      } else if let order = order(of: change, looking: looking) {
        orders.append(order)
      }
    }
    return orders + withheldOrders(looking: looking, at: now)
  }

  /// Events withheld from devices that a user was looking at, and no longer is.
  private mutating func withheldOrders(
    looking: Set<DeviceID>, at now: ServerTime
  ) -> [LiveStatusOrder] {
    liveStatus.takeWithheld(except: looking).compactMap { kept in
      guard let details = inboxes.receivers(of: kept.event)[kept.device] else { return nil }
      return LiveStatusOrder(
        workspace: id, event: kept.event, task: kept.task, at: now.wallMilliseconds,
        receivers: [kept.device: details])
    }
  }
}

extension Workspace {
  /// The status of a session's agent; nil if the session was deleted.
  fileprivate func shownTask(of session: SessionID, at: Int64) -> TaskState {
    task(of: session)
      ?? TaskState(sessionId: session, status: .idle, startTime: at, lastUpdateTime: at)
  }

  func end(of session: SessionID, at: Int64) -> LiveStatusChange {
    LiveStatusChange(event: .ended, task: shownTask(of: session, at: at), at: at)
  }
}

extension Operation {
  /// Whether it may decide which text applies for any message of a session.
  fileprivate var mayEndChoicesOfASession: Bool {
    switch body {
    case .clearTags(_, .exists, _), .setRegister(_, .onMerge, _, _): true
    default: false
    }
  }
}
