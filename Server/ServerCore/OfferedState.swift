package import QueueModel
import SequenceCRDT
package import WireProtocol

/// A device's whole state, for a server whose log is missing some of it; SPECIFICATION.md, section
/// "Join".
package struct OfferedState: Hashable, Sendable {
  package var connection: ConnectionID
  let device: DeviceID
  /// The received parts of a packed snapshot, kept apart so that adding one does not copy the
  /// earlier ones.
  private var parts: [[UInt8]] = []
  private var byteCount = 0
  private let count: UInt32
  private var nextIndex: UInt32 = 0

  /// The result of adding a part.
  enum Addition {
    case added
    case outOfOrder
    case tooLarge
  }

  init(connection: ConnectionID, of device: DeviceID, first part: SnapshotPart) {
    self.connection = connection
    self.device = device
    count = part.count
  }

  var isComplete: Bool { nextIndex == count }
  /// The whole snapshot.
  var bytes: [UInt8] { Array(parts.joined()) }

  mutating func add(_ part: SnapshotPart, bytesMax: Int) -> Addition {
    guard part.index == nextIndex, part.count == count else { return .outOfOrder }
    guard byteCount + part.bytes.count <= bytesMax else { return .tooLarge }
    parts.append(part.bytes)
    byteCount += part.bytes.count
    nextIndex += 1
    return .added
  }
}

/// The states that devices offered to a workspace; they are joined one after the other.
struct StateJoins: Sendable {
  private var offers: [OfferedState] = []
  /// Whether the store is joining one; nothing is staged meanwhile.
  private(set) var isUnderWay = false

  var isEmpty: Bool { offers.isEmpty && !isUnderWay }

  mutating func add(_ offer: OfferedState) {
    offers.append(offer)
  }

  /// Whether a state from a device waits.
  func holds(_ device: DeviceID) -> Bool { offers.contains { $0.device == device } }

  /// Whether a join can begin.
  var isReady: Bool { !offers.isEmpty && !isUnderWay }

  /// Begins the first.
  mutating func begin() -> OfferedState? {
    guard isReady else { return nil }
    isUnderWay = true
    return offers.removeFirst()
  }

  mutating func ended() { isUnderWay = false }

  /// Removes the waiting states: they cannot be joined now.
  mutating func takeWaiting() -> [OfferedState] {
    defer { offers = [] }
    return offers
  }
}

/// The server's side of a join.
package struct JoinTask: Sendable {
  package var workspace: WorkspaceID
  /// The role of the device that offers the state; nil if it is no longer in the workspace.
  package var role: DeviceRole?
  package var state: [UInt8]
  package var content: Workspace
  package var head: LogPrefix
  package var mark: WorkspaceMark
  /// The limits of the joined state: bytes as they are stored, and units.
  package var bytesMax: Int
  package var unitsMax: UInt64
  /// Milliseconds since 1970.
  package var wallMilliseconds: Int64
}

/// The result of an offered state.
package enum JoinOutcome: Hashable, Sendable {
  /// The log has a new entry, the joined state; the workspace has a fresh mark.
  case appended(WorkspaceMark)
  /// The node no longer serves the workspace; nothing was stored.
  case lost(WorkspaceLoss)
  /// The log already contains all of it.
  case nothingNew
  /// It cannot be read, or contradicts itself or the log.
  case refused(reason: String)
  /// It contains changes that the device's role does not allow.
  case notAllowed(reason: String)
  /// The joined state would exceed a limit of the workspace.
  case tooLarge(reason: String)
}

extension JoinTask {
  enum Joined {
    /// The joined state, packed.
    case state([UInt8])
    /// Nothing to store.
    case nothing(JoinOutcome)
  }

  /// Joins the state with the content.
  func joined() -> Joined {
    do {
      let offered = try Workspace(image: PackedSnapshot.unpack(state))
      guard !content.vector.includes(offered.vector) else { return .nothing(.nothingNew) }
      let known = content.image()
      let joined = try known.joined(with: offered.image())
      // A host must offer a host's changes itself. No part of a state can be omitted, because its
      // operations would count as known.
      let changes = role == .host ? [] : joined.registersChanged(since: known)
      if let objection = DeviceRole.objection(of: role, toWriting: changes) {
        return .nothing(
          .notAllowed(
            reason: "the state has changes that the device's role forbids: \(objection.message); "
              + "a host that has them will send them"))
      }
      let units = joined.vector.sorted.reduce(0) { $0 + UInt64($1.seq) }
      guard units <= unitsMax else {
        return .nothing(
          .tooLarge(reason: "\(units) units of text and changes, at most \(unitsMax)"))
      }
      let bytes = PackedSnapshot.pack(try Workspace(image: joined))
      guard bytes.count <= bytesMax else {
        return .nothing(.tooLarge(reason: "\(bytes.count) bytes, at most \(bytesMax)"))
      }
      // All readers must be able to read it later: the two states may be within a limit that their
      // join exceeds.
      _ = try Workspace(image: PackedSnapshot.unpack(bytes))
      return .state(bytes)
    } catch {
      return .nothing(.refused(reason: "\(error)"))
    }
  }
}

extension ServerCore {
  /// A part of a device's state arrived.
  mutating func offered(
    _ part: SnapshotPart, by connection: Connection, _ session: Session, at now: ServerTime
  ) {
    let id = connection.id
    guard let member = connection.member, member.hasDiverged else {
      return fault(id, .unexpected, "snapshot: the log has everything from this client")
    }
    // This checks the role early; the contents are checked in the join.
    if let objection = DeviceRole.objection(of: session.role, toWriting: []) {
      return refuse(id, objection.code, objection.message, retryAfter: 60_000, at: now)
    }
    // Checked before the whole state has arrived, because it may be large.
    if part.index == 0, let resident = workspaces[session.workspace],
      let objection = resident.allowance.dayObjection(configuration.quota, at: now)
    {
      return refuse(id, objection, at: now)
    }
    guard part.index > 0 || member.offer != nil || !isOffering(session) else {
      return refuse(
        id, .rateLimited, "another connection of the device offers its state", retryAfter: 30_000,
        at: now)
    }
    var offer =
      part.index == 0
      ? OfferedState(connection: id, of: session.device, first: part) : member.offer
    switch offer?.add(part, bytesMax: configuration.quota.stateBytesMax) {
    case .added?: break
    case .outOfOrder?, nil: return fault(id, .malformed, "snapshot: the parts are out of order")
    case .tooLarge?:
      return refuse(
        id, .limitReached,
        "the device's state has more than \(configuration.quota.stateBytesMax) bytes: raise the limit "
          + "of the server", retryAfter: 60_000, at: now)
    }
    connections[id]?.member?.offer = offer
    guard let offer, offer.isComplete else { return }
    connections[id]?.member?.offer = nil
    // A device may make one offer for each snapshot that it got: a join costs as much as the whole
    // workspace, however small the state is.
    connections[id]?.member?.hasDiverged = false
    workspaces[session.workspace]?.joins.add(offer)
    joinIfPossible(session.workspace, at: now)
  }

  /// Whether a state from the device is arriving, or waits. Each state takes memory, however many
  /// connections the device has.
  private func isOffering(_ session: Session) -> Bool {
    workspaces[session.workspace]?.joins.holds(session.device) == true
      || connections.devices(of: session.workspace) { $0.offer != nil }.contains(session.device)
  }

  /// Removes the offered states, because they cannot be joined now.
  ///
  /// - Returns: the connections to notify.
  mutating func takeOffers(of id: WorkspaceID) -> [ConnectionID] {
    workspaces[id]?.joins.takeWaiting().map(\.connection) ?? []
  }

  /// Joins the first offered state as soon as no transaction of the workspace is in flight. Batches
  /// wait meanwhile: they would come between the state and its place in the log.
  mutating func joinIfPossible(_ id: WorkspaceID, at now: ServerTime) {
    guard let resident = workspaces[id], resident.joins.isReady, resident.isQuiet,
      !workspaces.isLoading(id)
    else { return }
    guard let content = resident.content else { return workspaces.load(id, &actions) }
    if let objection = resident.allowance.dayObjection(configuration.quota, at: now) {
      for connection in takeOffers(of: id) { refuse(connection, objection, at: now) }
      return
    }
    guard let offer = workspaces[id]?.joins.begin() else { return }
    actions.ask(
      .join(
        JoinTask(
          workspace: id, role: resident.devices[offer.device]?.role, state: offer.bytes,
          content: content, head: resident.log.head, mark: resident.mark,
          bytesMax: resident.allowance.stateBytesMax(configuration.quota),
          unitsMax: resident.allowance.unitsMax(configuration.quota),
          wallMilliseconds: now.wallMilliseconds)),
      for: .join(id, offer.connection, offer.device))
  }

  /// Refuses a state on a day whose quota is used up. Its device tries again before midnight,
  /// because the quota may be raised meanwhile. It does not try soon, because it gets the server's
  /// whole state each time.
  private mutating func refuse(
    _ id: ConnectionID, _ objection: ResidentWorkspace.Rejection, at now: ServerTime
  ) {
    refuse(
      id, objection.code, "the device's state has to wait: \(objection.message)",
      retryAfter: min(objection.retryAfterMilliseconds ?? 0, 600_000), at: now)
  }

  /// The store has joined a state, or failed to.
  mutating func joined(
    _ id: WorkspaceID, from connection: ConnectionID, of device: DeviceID, _ outcome: StoreOutcome,
    at now: ServerTime
  ) {
    workspaces[id]?.joins.ended()
    switch outcome {
    case .joined(.appended(let mark)):
      storageWorked()
      workspaces[id]?.mark = mark
      actions.add(.report(.stateJoined(connection, workspace: id, device: device)))
      // Reconnecting devices wait until it is read.
      restartMembers(of: id)
      workspaces[id]?.content = nil
      workspaces.load(id, &actions)
    case .joined(.lost(let loss)):
      storageWorked()
      lose(id, loss, at: now)
    case .joined(.nothingNew):
      storageWorked()
      close(connection, .serviceRestart, "connect again to catch up")
    case .joined(.refused(let reason)):
      refuse(
        connection, .invalidChanges, "the device's state cannot be joined: \(reason)",
        retryAfter: 30_000, at: now)
    case .joined(.notAllowed(let reason)):
      refuse(connection, .notAllowed, reason, retryAfter: 60_000, at: now)
    case .joined(.tooLarge(let reason)):
      refuse(
        connection, .limitReached,
        "the device's and the server's state together exceed the workspace's limit: \(reason); its "
          + "owner can raise the limit: cospool-server workspace quota",
        retryAfter: 60_000, at: now)
    case .failed(let fault):
      storageFailed(fault, at: now)
      refuseForStorage(connection, at: now)
      // Only reading it again shows whether the state was stored.
      workspaces[id]?.content = nil
      workspaces.load(id, &actions)
    default:
      preconditionFailure("the store answered another question")
    }
    resumeJoins(of: id, at: now)
    joinIfPossible(id, at: now)
    workspaces.markReadyIfBusy(id)
    stageCommit(at: now)
  }
}
