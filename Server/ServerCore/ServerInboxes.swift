import QueueModel
import WireProtocol

/// The inboxes of a workspace's devices and of its user: their entries, and the state of the
/// pushes. Pure. Like the content, they may be ahead of the store by one transaction.
///
/// Times are readings of the server's uptime, in milliseconds.
struct ServerInboxes: Sendable {
  private struct Entry: Hashable, Sendable {
    var isPushed = false
    var isAcknowledged = false
    /// When it is pushed, unless its device reports that it is visible. The user's own targets also
    /// wait until no user has looked at a device for the delay.
    var dueAt: Int64
  }

  private var notifications: [UInt64: StoredNotification] = [:]
  /// The entries that are requests, by request.
  private var requests: [RequestID: Set<UInt64>] = [:]
  /// The entries about a merged message, by message.
  private var merges: [MessageID: Set<UInt64>] = [:]
  private var inboxes: [DeviceID: [UInt64: Entry]] = [:]
  private var preferences: [DeviceID: NotificationPreferences] = [:]
  private var targets: [DeviceID: [PushTargetID: PushTargetRecord]] = [:]
  private var lastPosition: UInt64
  /// The devices that had a connection at the last tick.
  private var connected: Set<DeviceID> = []
  /// Notifications up to here are in the store and may be sent.
  private(set) var durablePosition: UInt64
  /// Changes that were not handed to the store yet.
  private var changes = InboxChanges()
  let patienceMilliseconds: Int64
  /// When a user last looked at a device; nil if none has since the server started.
  var lookedAt: Int64?
  /// Whether the store failed to keep the changes: the inboxes must be read again.
  private(set) var areLost = false
  /// Answers to devices that wait until the requested change is stored.
  private var answers: [(connection: ConnectionID, response: Response)] = []

  init(_ records: InboxRecords, patienceMilliseconds: Int64, uptime: Int64) {
    self.patienceMilliseconds = patienceMilliseconds
    lastPosition = records.lastPosition
    durablePosition = records.lastPosition
    preferences = records.preferences
    for target in records.targets { targets[target.device, default: [:]][target.id] = target }
    for notification in records.notifications {
      note(notification)
    }
    for entry in records.entries {
      // Devices that lost their connection with the server get time to reconnect.
      inboxes[entry.device, default: [:]][entry.position] = Entry(
        isPushed: entry.isPushed, isAcknowledged: entry.isAcknowledged,
        dueAt: uptime + patienceMilliseconds)
    }
  }

  /// Whether a user looked at a device so recently that the user's own targets must still wait.
  func isLookFresh(uptime: Int64) -> Bool {
    guard isPushable(.person), let lookedAt else { return false }
    return uptime - lookedAt < Int64(preferences(of: .person).personDelaySeconds) * 1_000
  }

  var hasChanges: Bool { !changes.isEmpty }
  /// Whether something waits to be stored.
  var hasWork: Bool { hasChanges || !answers.isEmpty }
  var answerCount: Int { answers.count }

  /// Whether something waits to be pushed, now or later.
  var awaitsPush: Bool {
    inboxes.contains { device, inbox in
      isPushable(device) && inbox.values.contains { !$0.isPushed && !$0.isAcknowledged }
    }
  }

  /// Answers a connection once the changes are stored.
  mutating func answer(_ connection: ConnectionID, _ response: Response) {
    answers.append((connection, response))
  }

  mutating func takeAnswers() -> [(connection: ConnectionID, response: Response)] {
    defer { answers = [] }
    return answers
  }

  mutating func wereLost() { areLost = true }

  /// Replaces lost inboxes with the store's.
  mutating func readAgain(_ records: InboxRecords, uptime: Int64) {
    let (lookedAt, answers) = (lookedAt, answers)
    self = ServerInboxes(records, patienceMilliseconds: patienceMilliseconds, uptime: uptime)
    self.lookedAt = lookedAt
    self.answers = answers
  }

  /// Removes and returns the changes to store.
  mutating func takeChanges() -> InboxChanges {
    defer { changes = InboxChanges() }
    return changes
  }

  /// All taken changes are in the store.
  mutating func becameDurable(_ changes: InboxChanges) {
    durablePosition = max(durablePosition, changes.posted.last?.position ?? 0)
  }

  // MARK: - Inboxes

  /// Puts events into the inboxes of devices, and of the user. An event without a question counts
  /// as seen if a user is looking at one of the devices.
  mutating func post(
    _ news: [NotificationChange], to devices: [DeviceID], _ audience: Audience, uptime: Int64
  ) {
    let (connected, isLooking) = (audience.connected, audience.isLooking)
    for item in news {
      let category = item.event.category
      // The device whose agent asks shows the request itself; its user may be elsewhere.
      let isForPerson = isPushable(.person) && (!isLooking || category.awaitsPerson)
      let receivers = (devices + (isForPerson ? [.person] : [])).filter {
        $0 != item.author && !preferences(of: $0).off.contains(category)
      }
      guard !receivers.isEmpty else { continue }
      // This entry replaces an earlier one for the same message.
      if let message = item.message { end(Array(merges[message] ?? [])) }
      lastPosition += 1
      let notification = StoredNotification(
        position: lastPosition, name: item.name, event: item.event, session: item.session,
        request: item.request, message: item.message, milliseconds: item.milliseconds,
        expiresAt: item.expiresAt)
      note(notification)
      changes.posted.append(notification)
      for device in receivers {
        inboxes[device, default: [:]][lastPosition] = Entry(
          dueAt: connected.contains(device) ? uptime + patienceMilliseconds : uptime)
        changes.entries.append(InboxEntry(device: device, position: lastPosition))
        if device != .person, !connected.contains(device) { push(lastPosition, to: device) }
      }
    }
    notifyPerson(isLooking: isLooking, uptime: uptime)
    for device in devices + [.person] { shorten(device) }
  }

  /// Shortens an inbox that is too large. The oldest entries that need no answer from a user are
  /// removed first, then the oldest of all.
  private mutating func shorten(_ device: DeviceID) {
    guard let inbox = inboxes[device], inbox.count > WireLimits.inboxMax else { return }
    let waiting = inbox.filter { !$0.value.isAcknowledged }.keys.sorted()
    let excess = waiting.count - WireLimits.inboxMax
    guard excess > 0 else { return }
    let others = waiting.filter { notifications[$0]?.awaitsPerson == false }
    let awaiting = waiting.filter { notifications[$0]?.awaitsPerson != false }
    for position in (others + awaiting).prefix(excess) { remove(position, from: device) }
  }

  /// The waiting notifications of a device that may be sent, in order.
  func waiting(for device: DeviceID) -> [StoredNotification] {
    (inboxes[device] ?? [:]).filter { !$0.value.isAcknowledged && $0.key <= durablePosition }
      .keys.sorted().compactMap { notifications[$0] }
  }

  func holds(_ position: UInt64, for device: DeviceID) -> Bool {
    inboxes[device]?[position]?.isAcknowledged == false
  }

  /// A device has stored everything up to a position.
  mutating func acknowledged(through position: UInt64, by device: DeviceID) {
    for (each, entry) in (inboxes[device] ?? [:]).sorted(by: { $0.key < $1.key })
    where each <= min(position, durablePosition) && !entry.isAcknowledged {
      guard entry.isPushed, notifications[each]?.awaitsPerson == true else {
        remove(each, from: device)
        continue
      }
      inboxes[device]?[each]?.isAcknowledged = true
      changes.entries.append(
        InboxEntry(device: device, position: each, isPushed: true, isAcknowledged: true))
    }
  }

  private mutating func note(_ notification: StoredNotification) {
    notifications[notification.position] = notification
    if let request = notification.request {
      requests[request, default: []].insert(notification.position)
    }
    if let message = notification.message {
      merges[message, default: []].insert(notification.position)
    }
  }

  /// Removes requests that are no longer awaited from all inboxes; retracts those that were pushed.
  ///
  /// - Complexity: O(requests that are in inboxes), if none has ended.
  mutating func requestsEnded(where isOver: (StoredNotification) -> Bool) {
    guard !requests.isEmpty else { return }
    end(requests.values.joined().filter { notifications[$0].map(isOver) ?? false })
  }

  /// The same for one request.
  mutating func requestEnded(_ request: RequestID) {
    end(Array(requests[request] ?? []))
  }

  /// Whether a merged message is in an inbox.
  var hasMerges: Bool { !merges.isEmpty }

  /// Removes merged messages from all inboxes whose text was chosen, or that no longer exist.
  ///
  /// - Complexity: O(merged messages in inboxes) if all still wait.
  mutating func mergesEnded(where isOver: (MessageID) -> Bool) {
    end(merges.filter { isOver($0.key) }.values.flatMap(\.self))
  }

  private mutating func end(_ positions: [UInt64]) {
    for notification in positions.sorted().compactMap({ notifications[$0] }) {
      for device in inboxes.keys.sorted() {
        guard let entry = inboxes[device]?[notification.position] else { continue }
        if entry.isPushed, isPushable(device) {
          order(.retract, notification, device)
        }
        remove(notification.position, from: device)
      }
    }
  }

  private mutating func remove(_ position: UInt64, from device: DeviceID) {
    guard inboxes[device]?.removeValue(forKey: position) != nil else { return }
    changes.removed.append(InboxEntry(device: device, position: position))
    guard !inboxes.values.contains(where: { $0[position] != nil }),
      let notification = notifications.removeValue(forKey: position)
    else { return }
    if let request = notification.request {
      requests[request]?.remove(position)
      if requests[request]?.isEmpty == true { requests[request] = nil }
    }
    if let message = notification.message {
      merges[message]?.remove(position)
      if merges[message]?.isEmpty == true { merges[message] = nil }
    }
  }

  /// A device was revoked: the store has removed its waiting notifications and push targets.
  mutating func forget(_ device: DeviceID) {
    for position in (inboxes[device] ?? [:]).keys.sorted() { remove(position, from: device) }
    inboxes[device] = nil
    targets[device] = nil
    preferences[device] = nil
    targets[.person] = targets[.person]?.filter { $0.value.setBy != device }
    emptyUnreachable()
  }

  // MARK: - Pushing

  /// Some time has passed: hands due notifications to the push service.
  mutating func timePassed(_ audience: Audience, uptime: Int64) {
    let left = connected.subtracting(audience.connected)
    connected = audience.connected
    notifyPerson(isLooking: audience.isLooking, uptime: uptime)
    for device in inboxes.keys.sorted() where device != .person && isPushable(device) {
      let unpushed = (inboxes[device] ?? [:]).filter {
        !$0.value.isPushed && !$0.value.isAcknowledged
      }
      for (position, entry) in unpushed.sorted(by: { $0.key < $1.key }) {
        if left.contains(device) { inboxes[device]?[position]?.dueAt = uptime }
        let isDue = left.contains(device) || entry.dueAt <= uptime
        if isDue, !audience.visible.contains(device) { push(position, to: device) }
      }
    }
  }

  /// Notifies the user's own targets once no user has looked at a device for the delay, which may
  /// be already. A user who is looking has seen notifications without a question.
  private mutating func notifyPerson(isLooking: Bool, uptime: Int64) {
    guard isPushable(.person) else { return }
    let unpushed = (inboxes[.person] ?? [:]).filter { !$0.value.isPushed }
    let isAway = !isLooking && !isLookFresh(uptime: uptime)
    for (position, entry) in unpushed.sorted(by: { $0.key < $1.key }) {
      let awaitsPerson = notifications[position]?.awaitsPerson == true
      let isDue = isAway && entry.dueAt <= uptime
      if isDue { push(position, to: .person) }
      if !awaitsPerson, isDue || isLooking { remove(position, from: .person) }
    }
  }

  /// Nothing waits for a user who has no target.
  private mutating func emptyUnreachable() {
    guard !isPushable(.person) else { return }
    for position in (inboxes[.person] ?? [:]).keys.sorted() { remove(position, from: .person) }
  }

  /// A device connected; it gets time to receive what waits.
  mutating func connected(_ device: DeviceID, uptime: Int64) {
    connected.insert(device)
    for position in (inboxes[device] ?? [:]).keys {
      inboxes[device]?[position]?.dueAt = uptime + patienceMilliseconds
    }
  }

  private func isPushable(_ device: DeviceID) -> Bool {
    targets[device]?.values.contains { $0.isValid && $0.takesNotices } == true
  }

  private mutating func push(_ position: UInt64, to device: DeviceID) {
    guard isPushable(device), let notification = notifications[position] else { return }
    inboxes[device]?[position]?.isPushed = true
    changes.entries.append(InboxEntry(device: device, position: position, isPushed: true))
    order(.alert, notification, device)
  }

  private mutating func order(
    _ kind: PushOrder.Kind, _ notification: StoredNotification, _ device: DeviceID
  ) {
    changes.orders.append(
      PushOrder(
        kind: kind, device: device, notification: notification,
        showsDetails: preferences(of: device).showsDetails))
  }

  // MARK: - Preferences

  /// The user's preferences are those of the device that last set a target of the user.
  func preferences(of device: DeviceID) -> NotificationPreferences {
    var setter: DeviceID? = device
    if device == .person {
      setter =
        targets[.person]?.values
        .max { ($0.registeredAt, $0.id) < ($1.registeredAt, $1.id) }?.setBy
    }
    return setter.flatMap { preferences[$0] } ?? NotificationPreferences()
  }

  /// Devices that can and want to display running tasks, and whether they want details. An end is
  /// also sent to devices that no longer want it.
  func receivers(of event: LiveStatusOrder.Event) -> [DeviceID: Bool] {
    var receivers: [DeviceID: Bool] = [:]
    for (device, targets) in targets
    where device != .person && targets.values.contains(where: \.isValid) {
      let preferences = preferences(of: device)
      if preferences.showsLiveStatus || event == .ended {
        receivers[device] = preferences.showsDetails
      }
    }
    return receivers
  }

  /// The targets of a device and of the user, by id.
  func targets(of device: DeviceID) -> [PushTargetRecord] {
    [device, .person].flatMap { targets[$0].map { Array($0.values) } ?? [] }
      .sorted { $0.id < $1.id }
  }

  mutating func set(_ preferences: NotificationPreferences, for device: DeviceID) {
    guard preferences != self.preferences(of: device) else { return }
    self.preferences[device] = preferences
    changes.preferences[device] = preferences
  }

  /// - Returns: the fault; nil if it was set.
  mutating func set(_ target: PushTargetRecord) -> String? {
    guard target.device != .person || target.takesNotices else {
      return "tokens of live activities belong to a device, not to the user"
    }
    let known = targets[target.device] ?? [:]
    guard known[target.id] != nil || known.count < WireLimits.pushTargetsMax else {
      let whose = target.device == .person ? "a person" : "a device"
      return "\(whose) has at most \(WireLimits.pushTargetsMax) push targets; remove one first"
    }
    // An id belongs to one target: if a target changes its owner, the earlier one is removed.
    let others = target.device == .person ? targets.keys.filter { $0 != .person } : [.person]
    for owner in others.sorted() where targets[owner]?.removeValue(forKey: target.id) != nil {
      changes.targets.append(.remove(owner, target.id))
    }
    emptyUnreachable()
    var target = target
    if let same = known[target.id], same.address == target.address {
      target.deliveredAt = same.deliveredAt
    }
    targets[target.device, default: [:]][target.id] = target
    changes.targets.append(.set(target))
    return nil
  }

  /// Whether a request changes or tests a target of the user.
  func isAboutPerson(_ request: InboxRequest) -> Bool {
    switch request {
    case .setTarget(let id, _, _, let owner): owner == .person || targets[.person]?[id] != nil
    case .removeTarget(let id), .testTarget(let id): targets[.person]?[id] != nil
    case .visibility, .targets, .setPreferences, .code, .echo, .output: false
    }
  }

  /// Removes a target of a device, or of the user.
  mutating func removeTarget(_ id: PushTargetID, of device: DeviceID) {
    for owner in [device, .person] where targets[owner]?.removeValue(forKey: id) != nil {
      changes.targets.append(.remove(owner, id))
    }
    emptyUnreachable()
  }

  mutating func note(_ report: PushTargetReport) {
    let (device, id) = (report.target.device, report.target.id)
    guard let known = targets[device]?[id], known.registeredAt == report.target.registeredAt
    else { return }
    var target = known
    target.isValid = report.isValid
    target.reason = report.reason
    target.deliveredAt = report.deliveredAt ?? known.deliveredAt
    guard target != known else { return }
    targets[device]?[id] = target
    changes.targets.append(.set(target))
    emptyUnreachable()
  }
}
