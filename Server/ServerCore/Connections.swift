import DispatchAuthority
import QueueModel
import WireProtocol

/// All connections: their budgets, the frames sent to them, and their closing.
///
/// Every frame is sent through here. A closing connection gets no more frames and is no longer a
/// member of a workspace; `takeDepartures` reports it once.
struct Connections: Sendable {
  /// A connection of a known device that has ended or is being closed.
  struct Departure: Sendable {
    let connection: ConnectionID
    let session: Session
    let wasMember: Bool
  }

  private let admission: ServerConfiguration.Admissions
  let traffic: ServerConfiguration.Traffic
  private var connections: [ConnectionID: Connection] = [:]
  /// The welcomed ones.
  private var members: [WorkspaceID: Set<ConnectionID>] = [:]
  private var departures: [Departure] = []
  /// Requests for the output of other devices.
  var outputs = OutputQuestions()

  init(_ configuration: ServerConfiguration) {
    admission = configuration.admission
    traffic = configuration.traffic
  }

  subscript(id: ConnectionID) -> Connection? {
    get { connections[id] }
    _modify { yield &connections[id] }
  }

  var count: Int { connections.count }
  var hasTooMany: Bool { connections.count > admission.connectionsMax }
  var ids: [ConnectionID] { connections.keys.sorted() }
  /// The sessions of known devices, by id.
  var sessions: [(id: ConnectionID, session: Session)] {
    connections.compactMap { id, connection in connection.session.map { (id, $0) } }
      .sorted { $0.0 < $1.0 }
  }
  /// The tokens of known devices.
  var tokens: [ConnectedToken] {
    sessions.map { _, session in
      ConnectedToken(
        workspace: session.workspace, device: session.device, hash: session.tokenHash)
    }
  }
  /// The number of a device's connections.
  func count(of device: DeviceID, in workspace: WorkspaceID) -> Int {
    connections.values.count {
      $0.session?.device == device && $0.session?.workspace == workspace
    }
  }

  /// Whether no frame waits for a connection, except for closing ones.
  var isAllSent: Bool { connections.values.allSatisfy { $0.isClosing || $0.outgoing.isEmpty } }

  // MARK: - Opening and closing

  mutating func open(
    _ id: ConnectionID, from source: String, acceptedAt: ServerTime, at now: ServerTime
  ) {
    precondition(connections[id] == nil, "a connection opens once")
    connections[id] = Connection(id, from: source, acceptedAt: acceptedAt, traffic, at: now)
  }

  /// Makes a connection a member of its workspace.
  mutating func welcome(_ id: ConnectionID, _ session: Session, at now: ServerTime) {
    connections[id]?.phase = .joined(Member(session: session, welcomedAt: now))
    members[session.workspace, default: []].insert(id)
  }

  /// A connection has ended.
  mutating func remove(_ id: ConnectionID) {
    if let session = connections.removeValue(forKey: id)?.session { left(id, session) }
  }

  /// Ends a connection's session; only its closing is still to come.
  mutating func retire(_ id: ConnectionID) {
    let session = connections[id]?.session
    connections[id]?.phase = .closing
    // It gets no more frames; closing may take any time.
    connections[id]?.outgoing = SendQueue()
    if let session { left(id, session) }
  }

  private mutating func left(_ id: ConnectionID, _ session: Session) {
    let wasMember = members[session.workspace]?.remove(id) != nil
    if members[session.workspace]?.isEmpty == true { members[session.workspace] = nil }
    departures.append(Departure(connection: id, session: session, wasMember: wasMember))
  }

  /// Departures since the last call.
  mutating func takeDepartures() -> [Departure] {
    defer { departures = [] }
    return departures
  }

  /// Whether a host's store is a member.
  ///
  /// - Complexity: O(members).
  func isConnected(_ holder: LeaseHolder, to workspace: WorkspaceID) -> Bool {
    members[workspace]?.contains { id in
      guard let session = connections[id]?.session else { return false }
      return session.device == holder.device && session.store == holder.store
    } ?? false
  }

  // MARK: - Members

  /// The connections that get other members' changes, by id.
  func members(of workspace: WorkspaceID) -> [ConnectionID] {
    members[workspace]?.sorted() ?? []
  }

  /// Bytes of missed log entries that members have not accepted yet.
  func missedBytes(
    of workspace: WorkspaceID, where isMeant: (Member) -> Bool = { _ in true }
  ) -> Int {
    (members[workspace] ?? []).reduce(0) { sum, id in
      guard let connection = connections[id], connection.member.map(isMeant) == true else {
        return sum
      }
      return sum + connection.outgoing.missedBytes
    }
  }

  func hasMembers(of workspace: WorkspaceID) -> Bool { members[workspace] != nil }

  /// The devices of a workspace with a connection that meets a condition.
  func devices(
    of workspace: WorkspaceID, where isMeant: (Member) -> Bool = { _ in true }
  ) -> Set<DeviceID> {
    var devices: Set<DeviceID> = []
    for id in members[workspace] ?? [] {
      if let member = connections[id]?.member, isMeant(member) {
        devices.insert(member.session.device)
      }
    }
    return devices
  }

  /// The devices that receive notifications.
  func notifiedDevices(of workspace: WorkspaceID) -> Set<DeviceID> {
    devices(of: workspace) { $0.notices != nil }
  }

  /// The devices that a user looks at.
  func visibleDevices(of workspace: WorkspaceID) -> Set<DeviceID> {
    devices(of: workspace, where: \.isVisible)
  }

  /// Whether a user looks at one of the devices.
  func isLookedAt(_ workspace: WorkspaceID) -> Bool {
    members[workspace]?.contains { connections[$0]?.isLookedAt == true } == true
  }

  /// The workspaces in which a user looks at a device.
  var lookedAtWorkspaces: Set<WorkspaceID> {
    Set(connections.values.filter(\.isLookedAt).compactMap(\.session?.workspace))
  }

  // MARK: - Budgets

  /// Bytes arrived, with or without a complete frame.
  mutating func received(
    rawBytes count: Int, on id: ConnectionID, _ actions: inout ActionList, at now: ServerTime
  ) {
    guard var stranger = connections[id]?.stranger else { return }
    stranger.rawBytes += count
    connections[id]?.stranger = stranger
    if stranger.rawBytes > admission.bytesMax { refuseBytes(of: id, &actions, at: now) }
  }

  /// Counts a frame against the connection's budgets.
  ///
  /// - Returns: whether the frame may be processed.
  mutating func admit(
    _ count: Int, from id: ConnectionID, _ actions: inout ActionList, at now: ServerTime
  ) -> Bool {
    guard count <= WireLimits.frameBytesMax else {
      fault(id, .tooLarge, "a frame has at most \(WireLimits.frameBytesMax) bytes", &actions)
      return false
    }
    if var stranger = connections[id]?.stranger {
      stranger.frameBytes += count
      connections[id]?.stranger = stranger
      guard stranger.frameBytes > admission.bytesMax else { return true }
      refuseBytes(of: id, &actions, at: now)
      return false
    }
    connections[id]?.intake.took(count, uptimeMilliseconds: now.uptimeMilliseconds)
    if connections[id]?.intake.isOverdrawn == true {
      refuse(
        id, .rateLimited, "too much in too short a time", retryAfter: 5_000, &actions, at: now)
      return false
    }
    updateReading(id, &actions)
    return true
  }

  private mutating func refuseBytes(
    of id: ConnectionID, _ actions: inout ActionList, at now: ServerTime
  ) {
    refuse(id, .authenticationBudget, "too many bytes before authentication", &actions, at: now)
  }

  /// Stops reading a connection that is ahead of its share or of the store, or resumes it.
  mutating func updateReading(_ id: ConnectionID, _ actions: inout ActionList) {
    guard connections[id]?.isClosing == false,
      let isOn = connections[id]?.intake.readingChange()
    else { return }
    actions.add(.setReading(id, isOn: isOn))
  }

  /// Time has passed: closes strangers that took too long, and members that use another clock.
  mutating func timePassed(_ actions: inout ActionList, at now: ServerTime) {
    let uptime = now.uptimeMilliseconds
    for id in ids {
      guard let connection = connections[id], !connection.isClosing else { continue }
      if let stranger = connection.stranger,
        uptime - stranger.acceptedAt >= admission.milliseconds
      {
        refuse(id, .authenticationBudget, "no authentication in time", &actions, at: now)
        continue
      }
      if let welcomedAt = connection.member?.welcomedAt, now.isOfAnotherClock(than: welcomedAt) {
        close(
          id, .serviceRestart, "the server's clock was set: connect again to read it", &actions)
        continue
      }
      connections[id]?.intake.timePassed(uptimeMilliseconds: uptime)
      updateReading(id, &actions)
    }
    for late in outputs.takeLate(uptime) { answer(late, .silent, &actions) }
  }
}
