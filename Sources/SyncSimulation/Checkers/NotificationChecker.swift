import ClientCore
import QueueModel
import SequenceCRDT
import ServerCore
import WireProtocol

/// Each device shows each notification once, in order, and none is missing at rest. A notification
/// that is no longer needed is shown nowhere. The server's inboxes are empty once every device has
/// had its turn.
///
/// A device whose files went back in time is judged by those files. Of several copies of one
/// device, the server notifies only one, so the others are not judged.
final class NotificationChecker: SimulationChecker {
  let name = "notifications"

  /// The notifications that the server's store put into inboxes.
  private var posted: [DeviceID: [OperationID: StoredNotification]] = [:]
  /// The notifications that each device showed, and whether it could record that.
  private var shown: [Int: [OperationID: Bool]] = [:]
  /// The position of the latest shown notification.
  private var latest: [Int: UInt64] = [:]
  /// The server process whose store was restored afterwards; its frames may still arrive.
  private var restoredLife = 0
  /// Requests that were answered or decided. A host whose files went back may have lost that.
  private var over: Set<RequestID> = []
  /// Requests for which a user of the device learned that no answer is awaited. They have expired
  /// by the server's clock, but the host may still wait.
  private var refused: [Int: Set<RequestID>] = [:]
  /// Deleted sessions. A device removed its data about their requests. If another device kept a
  /// session alive and its host continues, the first one gets no second notification of a request.
  private var deleted: Set<SessionID> = []

  func noted(_ observation: Observation, in simulation: Simulation) -> [String] {
    switch observation {
    case .inboxesChanged(let changes): post(changes)
    case .shown(let device, let notification, let isRemembered):
      return show(notification, on: device, isRemembered, in: simulation)
    case .rolledBack(.device(let index)), .added(let index):
      forget(simulation.devices[index], index)
    case .rolledBack(.server):
      readInboxes(in: simulation)
      latest = [:]
      restoredLife = simulation.server.life
    case .performed(let device, _, let before, let outcome):
      let after = simulation.devices[device].process?.core.replica.workspace
      noteDeletions(outcome.touched.sessions, before, after)
    case .interrupted(_, .command(.deleteSession(let session)), _, nil):
      // The disk may have stored it before the process died.
      deleted.insert(session)
    case .interrupted(_, _, let before, let after):
      noteDeletions(Set(before.sessions().map(\.id)), before, after)
    case .decided(_, let request, _):
      over.insert(request)
    case .answerEnded(let device, let answer, let ending) where ending != .tooLate:
      refused[device, default: []].insert(answer.request)
      if ending == .taken { over.insert(answer.request) }
    case .looked(let host, let device, let session, let request):
      return look(at: device, host: host, session, request, in: simulation)
    default: break
    }
    return []
  }

  private func post(_ changes: InboxChanges) {
    for item in changes.posted {
      for entry in changes.entries where entry.position == item.position {
        posted[entry.device, default: [:]][item.name] = item
      }
    }
  }

  /// The inbox entries of a restored store; all others will arrive again, as new ones.
  private func readInboxes(in simulation: Simulation) {
    posted = [:]
    let records = simulation.server.disk.inboxRecords
    let byPosition = Dictionary(
      records.notifications.map { ($0.position, $0) }, uniquingKeysWith: { first, _ in first })
    for entry in records.entries where !entry.isAcknowledged {
      guard let item = byPosition[entry.position] else { continue }
      posted[entry.device, default: [:]][item.name] = item
    }
  }

  private func show(
    _ notification: InboxNotification, on device: Int, _ isRemembered: Bool,
    in simulation: Simulation
  ) -> [String] {
    let earlier = shown[device]?[notification.name]
    shown[device, default: [:]][notification.name] = isRemembered
    if let earlier {
      guard earlier else {
        simulation.results.execution.notifications.repeats += 1
        return []
      }
      return ["device \(device) shows \(notification.name) twice"]
    }
    simulation.results.execution.notifications.shown += 1
    // Positions begin again if the server's store did.
    let pipes = simulation.devices[device].process?.pipes ?? [:]
    guard pipes.values.allSatisfy({ $0.serverEnd.life >= restoredLife }) else { return [] }
    defer { latest[device] = notification.position }
    guard let before = latest[device], before >= notification.position else { return [] }
    return ["device \(device) shows position \(notification.position) after \(before)"]
  }

  /// A device is judged by the knowledge in its files. If they lost something that was
  /// acknowledged, the server no longer has it.
  private func forget(_ device: SimulatedDevice, _ index: Int) {
    let files = device.currentFiles
    let kept = files.database.notifications
    for name in (shown[index] ?? [:]).keys where kept.names[name] == nil {
      guard let lost = posted[files.device]?.removeValue(forKey: name) else { continue }
      // It had replaced the earlier ones of the same request or message.
      posted[files.device] = posted[files.device]?.filter {
        $0.value.subject == nil || $0.value.subject != lost.subject
          || $0.value.position > lost.position
      }
    }
    shown[index] = kept.names.mapValues { _ in true }
    for item in kept.standing where !item.isAnnounced { shown[index]?[item.name] = nil }
    latest[index] = nil
  }

  // MARK: - While a request is open

  /// If nothing is in transit between the host and a device, the device must show the requests that
  /// the host's task awaits.
  private func look(
    at index: Int, host: Int, _ session: SessionID, _ request: RequestID,
    in simulation: Simulation
  ) -> [String] {
    guard let core = simulation.devices[index].process?.core else { return [] }
    simulation.results.execution.notifications.approvalLooks += 1
    var found: [String] = []
    if !core.replica.workspace.awaits(request, in: session),
      !core.isSettled(request)
    {
      found.append("device \(index) does not show \(request) of device \(host)")
    }
    let device = simulation.devices[index].currentFiles.device
    // A request that another host's task replaced is sent again when it is visible again.
    let item = posted[device]?.values.filter { $0.request == request }
      .max { $0.position < $1.position }
    if let item, isAlone(device, in: simulation), !core.isSettled(request), !over.contains(request),
      !isRefused(request, on: index), !isTakenBack(item, on: index, in: simulation),
      !core.notifications.contains(where: { $0.name == item.name })
    {
      found.append("device \(index) was not notified of \(request)")
    }
    if !found.isEmpty { simulation.results.execution.notifications.missedApprovals += 1 }
    return found
  }

  private func isAlone(_ device: DeviceID, in simulation: Simulation) -> Bool {
    simulation.devices.count(where: { $0.currentFiles.device == device }) == 1
  }

  // MARK: - At rest

  func settled(in simulation: Simulation) -> [String] {
    var found: [String] = []
    for device in simulation.devices {
      guard let process = device.process else { continue }
      found += missing(on: device, process, in: simulation)
      let standing = Set(process.core.notifications.map(\.name))
      for kept in process.core.notifications where kept.notification.awaitsPerson {
        guard !isOpen(kept.notification, process) else {
          continue
        }
        found.append("device \(device.index) still shows \(kept.name), which is over")
      }
      for name in process.screen.symmetricDifference(standing).sorted() {
        found.append(
          standing.contains(name)
            ? "device \(device.index) was never shown \(name)"
            : "the screen of device \(device.index) still shows \(name)")
      }
    }
    for entry in simulation.server.disk.inboxRecords.entries where !entry.isAcknowledged {
      found.append("\(entry.position) waits in the inbox of \(entry.device)")
    }
    return found
  }

  private func missing(
    on device: SimulatedDevice, _ process: SimulatedDevice.Process, in simulation: Simulation
  ) -> [String] {
    let id = device.currentFiles.device
    guard isAlone(id, in: simulation) else { return [] }
    let names = device.currentFiles.database.notifications.names
    let standing = Set(process.core.notifications.map(\.name))
    var found: [String] = []
    let items = (posted[id] ?? [:]).values.sorted { $0.position < $1.position }
    var latest: [RequestID: UInt64] = [:]
    for item in items { if let subject = item.subject { latest[subject] = item.position } }
    for item in items where !item.awaitsPerson || isOpen(item.announced, process) {
      if let subject = item.subject, latest[subject] != item.position { continue }
      if standing.contains(item.name) || isRefused(item.request, on: device.index)
        || isOver(item.request) || isTakenBack(item, on: device.index, in: simulation)
      {
        continue
      }
      if item.isRequest { simulation.results.execution.notifications.missedApprovals += 1 }
      found.append(
        "device \(device.index) \(names[item.name] == nil ? "never got" : "lost") \(item.name), "
          + "position \(item.position)")
    }
    return found
  }

  private func isRefused(_ request: RequestID?, on device: Int) -> Bool {
    request.map { refused[device]?.contains($0) == true } ?? false
  }

  private func noteDeletions(
    _ sessions: Set<SessionID>, _ before: Workspace, _ after: Workspace?
  ) {
    guard let after else { return }
    for session in sessions
    where before.session(session) != nil && after.session(session) == nil {
      deleted.insert(session)
    }
  }

  private func isTakenBack(
    _ item: StoredNotification, on index: Int, in simulation: Simulation
  ) -> Bool {
    let names = simulation.devices[index].currentFiles.database.notifications.names
    return item.awaitsPerson && deleted.contains(item.session) && names[item.name] != nil
  }

  private func isOver(_ request: RequestID?) -> Bool {
    request.map { over.contains($0) } ?? false
  }

  private func isOpen(
    _ item: InboxNotification, _ process: SimulatedDevice.Process
  ) -> Bool {
    let workspace = process.core.replica.workspace
    return item.request.map { workspace.awaits($0, in: item.session) }
      ?? item.message.map(workspace.waitsForChoice) ?? false
  }
}

extension StoredNotification {
  /// The request or the message that it concerns; only the latest notification about it stays.
  fileprivate var subject: RequestID? {
    request ?? message.map { RequestID(high: $0.high, low: $0.low) }
  }

  fileprivate var announced: InboxNotification {
    InboxNotification(
      position: position, name: name, event: event, isMissed: false, session: session,
      request: request, message: message, milliseconds: milliseconds)
  }
}
