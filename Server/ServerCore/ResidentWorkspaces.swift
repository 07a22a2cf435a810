import DispatchAuthority
import QueueModel
import WireProtocol

/// The workspaces in memory, and their due work: batches and requests to stage, presence to send,
/// devices' rows to write. Due work is recorded until it is taken.
struct ResidentWorkspaces: Sendable {
  private let configuration: ServerConfiguration
  private var residents: [WorkspaceID: ResidentWorkspace] = [:]
  /// Workspaces that the store is reading.
  private var loading: Set<WorkspaceID> = []
  /// Workspaces in which something waits to be staged.
  private var ready = ReadyWorkspaces()
  /// Workspaces whose presence changed since it was sent.
  private var presenceDue: Set<WorkspaceID> = []
  /// Workspaces with devices whose rows in the store are out of date, and when such rows were
  /// written last, uptime.
  private var touchesDue: Set<WorkspaceID> = []
  private var touchedAt: Int64 = .min / 2

  init(_ configuration: ServerConfiguration) {
    self.configuration = configuration
  }

  subscript(id: WorkspaceID) -> ResidentWorkspace? {
    get { residents[id] }
    _modify { yield &residents[id] }
  }

  var count: Int { residents.count }
  var ids: [WorkspaceID] { residents.keys.sorted() }
  /// The marks that other nodes may change.
  var sharedMarks: [WorkspaceID: WorkspaceMark] {
    configuration.sharesStore ? residents.mapValues(\.mark) : [:]
  }
  /// Whether nothing waits to be staged or read.
  var isDone: Bool { ready.isEmpty && loading.isEmpty }

  /// The workspaces that meet a condition, by id. Each tick sorts only these few.
  func ids(where needsIt: (ResidentWorkspace) -> Bool) -> [WorkspaceID] {
    residents.filter { needsIt($0.value) }.keys.sorted()
  }

  // MARK: - Reading

  func isLoading(_ id: WorkspaceID) -> Bool { loading.contains(id) }

  /// Makes the store read a workspace, unless it already does.
  mutating func load(_ id: WorkspaceID, _ actions: inout ActionList) {
    guard loading.insert(id).inserted else { return }
    actions.ask(.load(id), for: .load(id))
  }

  /// The store has read a workspace, or failed to.
  mutating func loadingEnded(_ id: WorkspaceID) {
    loading.remove(id)
  }

  // MARK: - Due work

  /// Something of a workspace waits to be staged.
  mutating func markReady(_ id: WorkspaceID) {
    ready.enter(id)
  }

  /// The same, if something waits.
  mutating func markReadyIfBusy(_ id: WorkspaceID) {
    if residents[id]?.hasWork == true { markReady(id) }
  }

  /// Removes and returns the workspaces in which something waits, in order of arrival.
  mutating func takeReady() -> [WorkspaceID] { ready.takeAll() }

  /// Devices connected or disconnected, or stored more of the log.
  mutating func presenceChanged(in id: WorkspaceID) {
    presenceDue.insert(id)
  }

  var idsWithPresenceDue: [WorkspaceID] { presenceDue.sorted() }

  /// Whether presence is to be sent now; if so, it counts as sent.
  mutating func takePresenceTurn(
    of id: WorkspaceID, hasMembers: Bool, at now: ServerTime
  ) -> Bool {
    guard presenceDue.contains(id) else { return false }
    guard let sentAt = residents[id]?.presenceSentAt else {
      presenceDue.remove(id)
      return false
    }
    guard hasMembers, now.uptimeMilliseconds - sentAt >= configuration.times.presenceMilliseconds
    else { return false }
    presenceDue.remove(id)
    residents[id]?.presenceSentAt = now.uptimeMilliseconds
    return true
  }

  /// A device's row in the store is to be written with the next commit.
  mutating func touch(_ device: DeviceID, of workspace: WorkspaceID) {
    residents[workspace]?.devices[device]?.needsTouch = true
    touchesDue.insert(workspace)
  }

  /// The rows to write with a commit; none if rows were written recently and the commit stores
  /// nothing else.
  mutating func takeTouches(isDue: Bool, at now: ServerTime) -> [DeviceTouch] {
    guard
      isDue || now.uptimeMilliseconds - touchedAt >= configuration.times.touchMilliseconds
    else { return [] }
    touchedAt = now.uptimeMilliseconds
    defer { touchesDue = [] }
    return touchesDue.sorted().flatMap { residents[$0]?.takeTouches(at: now) ?? [] }
  }

  /// A device was revoked: it is removed from all lists, and nothing waits for it.
  mutating func forget(_ device: DeviceID, of id: WorkspaceID) {
    residents[id]?.devices[device] = nil
    forgetInbox(of: device, in: id)
    presenceChanged(in: id)
  }

  mutating func forgetInbox(of device: DeviceID, in id: WorkspaceID) {
    residents[id]?.inboxes.forget(device)
    // Removals from the inbox are to be stored.
    markReadyIfBusy(id)
  }

  // MARK: - Memory

  /// All cached data of a workspace is out of date. A load under way continues.
  mutating func forget(_ id: WorkspaceID) { residents[id] = nil }

  /// Unloads workspaces that have not been used for a while.
  ///
  /// - Parameter isWanted: whether a workspace has other work left.
  /// - Returns: whether there was any.
  mutating func unloadIdle(
    _ connections: Connections, at now: ServerTime, unless isWanted: (WorkspaceID) -> Bool
  ) -> Bool {
    var isReleased = false
    for id in ids {
      guard let resident = residents[id], resident.isIdle, !loading.contains(id), !isWanted(id)
      else { continue }
      let idle = now.uptimeMilliseconds - resident.usedAt
      if !connections.hasMembers(of: id), idle >= configuration.times.idleMilliseconds,
        resident.maySleep(at: now)
      {
        guard !resident.devices.values.contains(where: \.needsTouch) else { continue }
        residents[id] = nil
        isReleased = true
      } else if resident.content != nil, idle >= configuration.times.connectedIdleMilliseconds {
        residents[id]?.content = nil
        isReleased = true
      }
    }
    return isReleased
  }

  // MARK: - Staging

  /// Stages batches, one workspace after the other in the order of `ReadyWorkspaces`, until nothing
  /// waits or the commit is full. A workspace with much more work done than the first waits for the
  /// next commit, so that the first does not wait for expensive batches.
  ///
  /// - Returns: whether more waits.
  mutating func stage(
    into commit: inout CommitInFlight, _ connections: inout Connections,
    _ actions: inout ActionList, at now: ServerTime
  ) -> Bool {
    // A blocked workspace becomes ready again for the next commit.
    ready.beginRound()
    var end = Int.max
    while !commit.isFull(configuration.commits), let id = ready.next(before: end) {
      end = min(end, ready.level + configuration.commits.operationsMax)
      let before = commit.work
      let hasMore = stageOne(of: id, into: &commit, &connections, &actions, at: now)
      ready.worked(commit.work - before, for: id, hasMore: hasMore)
    }
    return ready.endRound()
  }

  /// - Returns: whether more of it may wait that can be staged now.
  private mutating func stageOne(
    of id: WorkspaceID, into commit: inout CommitInFlight, _ connections: inout Connections,
    _ actions: inout ActionList, at now: ServerTime
  ) -> Bool {
    guard residents[id]?.joins.isUnderWay != true,
      let staging = residents[id]?.stageNext(configuration, work: &commit.work, at: now)
    else { return false }
    switch staging {
    case .nothingWaits:
      stageRequests(id, into: &commit, connections, &actions, at: now)
      stageInboxes(id, into: &commit)
      return false
    case .needsContent:
      load(id, &actions)
      return false
    case .blockedUntilDurable:
      markReady(id)
      return false
    case .refused(let batch, let rejection):
      reply(.refused(rejection), to: batch, in: &commit, &connections, &actions, at: now)
    case .duplicate(let batch, let prefix):
      reply(.known(prefix), to: batch, in: &commit, &connections, &actions, at: now)
    case .staged(let batch, let entry, let news):
      commit.bytes += entry.content.bytes.count
      commit.entries.append((batch, entry))
      // Most batches have no events; a keystroke must not pay for them.
      if !news.isEmpty { residents[id]?.post(news, Audience(of: id, connections), at: now) }
      residents[id]?.stageTasks(at: now)
      stageInboxes(id, into: &commit)
    case .contentBroken(let batch):
      reply(
        .refused(.invalid("the operations are not causally ready")), to: batch, in: &commit,
        &connections, &actions, at: now)
      // Read again after the commit in flight; nothing is staged until then.
      residents[id]?.content = nil
      markReady(id)
      return false
    }
    return true
  }

  /// Sends the result of a batch that stores nothing: at once, or once the store has confirmed that
  /// this is still the state.
  private func reply(
    _ reply: CommitInFlight.Reply, to batch: PendingBatch, in commit: inout CommitInFlight,
    _ connections: inout Connections, _ actions: inout ActionList, at now: ServerTime
  ) {
    guard configuration.sharesStore else {
      return connections.settle(batch, reply, &actions, at: now)
    }
    commit.replies.append((batch, reply))
    commit.told.insert(batch.workspace)
  }

  private mutating func stageInboxes(_ id: WorkspaceID, into commit: inout CommitInFlight) {
    let answers = commit.answers.count
    residents[id]?.stageInboxes(into: &commit)
    if configuration.sharesStore, commit.answers.count > answers { commit.told.insert(id) }
  }

  /// Answers the waiting requests from the content as the commit leaves it. The answers are sent
  /// with the commit.
  private mutating func stageRequests(
    _ id: WorkspaceID, into commit: inout CommitInFlight, _ connections: Connections,
    _ actions: inout ActionList, at now: ServerTime
  ) {
    guard residents[id]?.requests.areAnswerable == true else { return }
    guard residents[id]?.content != nil else { return load(id, &actions) }
    let answers = residents[id]?.answerRequests(at: now) {
      connections.isConnected($0, to: id)
    }
    if configuration.sharesStore, answers?.isEmpty == false { commit.told.insert(id) }
    for (pending, outcome) in answers ?? [] {
      commit.add(outcome, to: pending, of: id)
      for record in outcome.changes.verdicts {
        // The request needs no more attention.
        residents[id]?.inboxes.requestEnded(record.request)
      }
    }
  }
}

/// The devices of a workspace at the time of a notification.
struct Audience: Sendable {
  /// Devices that are notified over a connection.
  let connected: Set<DeviceID>
  /// Devices that a user is looking at.
  let visible: Set<DeviceID>
  /// Whether a user is looking at a device that is not a viewer.
  let isLooking: Bool

  init(of id: WorkspaceID, _ connections: Connections) {
    connected = connections.notifiedDevices(of: id)
    visible = connections.visibleDevices(of: id)
    isLooking = connections.isLookedAt(id)
  }
}
