import Logging
import NIOCore
import QueueModel
import ServerCore
import WireProtocol

/// The server's records: lines of its log, metrics, and the entries about access that its owner can
/// read later.
///
/// The log contains fixed words, ids and addresses. Text from clients is cut, and its characters
/// that would start a line or move a cursor are replaced.
final class ServerJournal {
  let logger: Logger
  var metrics = ServerMetrics()
  private let loop: any EventLoop
  private let clock: ProcessClock
  private var audit = PendingAudit()

  init(_ logger: Logger, loop: any EventLoop, clock: ProcessClock) {
    self.logger = logger
    self.loop = loop
    self.clock = clock
  }

  /// Records a report of the core.
  ///
  /// - Parameter source: the source address of a connection.
  func note(_ report: ServerReport, source: (ConnectionID) -> String) {
    count(report)
    switch report {
    case .paired(let workspace, let device, let name, let letInBy, let source):
      let maker = letInBy.map { "let in by device \($0)" }
      logger.notice(
        """
        paired device \(device) (\(ShownName.text(name))) with workspace \(workspace), \
        \(maker.map { $0 + ", " } ?? "")source \(source)
        """, metadata: ["device": "\(device)", "workspace": "\(workspace)"])
      record(.paired, workspace, device, source: source, detail: maker ?? "")
    case .joined(let id, let workspace, let device, let name):
      logger.info(
        "joined as \(ShownName.text(name))",
        metadata: [
          "connection": "\(id.rawValue)", "device": "\(device)", "workspace": "\(workspace)",
        ])
      record(.joined, workspace, device, source: source(id))
    case .refused(let id, let code, let message):
      if let reason = Self.deniedAccess[code] {
        deniedAccess(reason, route: "sync", source: source(id))
      } else {
        logger.info(
          "refused (\(code.rawValue)): \(Self.shown(message))",
          metadata: ["connection": "\(id.rawValue)"])
      }
    case .faulted(let id, let message):
      logger.info(
        "protocol fault: \(Self.shown(message))", metadata: ["connection": "\(id.rawValue)"])
    case .slowConsumerCut(let id, let bytes):
      logger.warning(
        "cut, \(bytes) bytes were waiting for it", metadata: ["connection": "\(id.rawValue)"])
    case .revoked(let id, let device):
      logger.notice(
        "cut, its device was revoked",
        metadata: ["connection": "\(id.rawValue)", "device": "\(device)"])
    case .decided(let id, let workspace, let device, let verdict):
      let source = id.map(source) ?? "button"
      logger.notice(
        """
        request decided: \(verdict.name), workspace \(workspace), device \(device), \
        source \(source)
        """, metadata: ["device": "\(device)", "workspace": "\(workspace)"])
      record(.decided, workspace, device, source: source, detail: verdict.name)
    case .stateJoined(let id, let workspace, let device):
      logger.notice(
        """
        joined with the state of device \(device), which held more, workspace \(workspace), \
        source \(source(id))
        """, metadata: ["device": "\(device)", "workspace": "\(workspace)"])
      record(.stateJoined, workspace, device, source: source(id))
    case .workspaceLost(let workspace, let loss):
      logger.warning(
        "workspace \(workspace) is read again: \(loss.reason)",
        metadata: ["workspace": "\(workspace)"])
    case .storageFailed(let fault):
      logger.error("the store failed: \(fault)")
    case .storageRecovered:
      logger.notice("the store works again")
    }
  }

  /// The connection of a device has ended.
  func left(_ id: ConnectionID, _ device: ConnectedDevice) {
    logger.info(
      "left",
      metadata: [
        "connection": "\(id.rawValue)", "device": "\(device.device)",
        "workspace": "\(device.workspace)",
      ])
  }

  /// A connection was refused. The words are fixed and the address comes last, for programs that
  /// block addresses: `access denied: .*, source <ADDR>$`.
  func deniedAccess(_ reason: String, route: String, source: String) {
    logger.notice("access denied: \(reason), route \(route), source \(source)")
    record(.refused, nil, nil, source: source, detail: "\(reason), route \(route)")
  }

  private static let deniedAccess: [RefusalCode: String] = [
    .unauthorized: "token unknown", .revoked: "token revoked",
    .wrongWorkspace: "token of another workspace", .wrongCode: "pairing code wrong",
    .tooManyAttempts: "too many pairing attempts",
  ]

  private static func shown(_ text: String) -> String { ShownName.text(String(text.prefix(200))) }

  private func count(_ report: ServerReport) {
    switch report {
    case .refused(_, let code, _): metrics.refusals[code.rawValue, default: 0] += 1
    case .faulted: metrics.faults += 1
    case .slowConsumerCut: metrics.slowConsumers += 1
    case .storageFailed: metrics.storeFailures += 1
    case .paired, .joined, .revoked, .decided, .stateJoined, .workspaceLost, .storageRecovered:
      break
    }
  }

  // MARK: - Audit

  private func record(
    _ event: AuditEntry.Event, _ workspace: WorkspaceID?, _ device: DeviceID?, source: String,
    detail: String = ""
  ) {
    audit.add(
      AuditEntry(
        at: clock.now.wallMilliseconds, event: event, workspace: workspace, device: device,
        source: source, detail: detail))
  }

  /// Stores the events since the last time; called on every tick, effective once a second.
  func storeIfDue(in store: StoreRunner, at uptimeMilliseconds: Int64) {
    guard let entries = audit.begin(at: uptimeMilliseconds) else { return }
    let bound = NIOLoopBound(self, eventLoop: loop)
    store.run { $0.perform(.record(entries)) }
      .whenComplete { result in
        let journal = bound.value
        journal.audit.ended()
        if case .success(.recorded) = result {
        } else {
          journal.logger.warning("what happened about access could not be stored")
        }
      }
  }

  /// Stores the events about access up to the server's stop, after all other tasks of the store.
  func finish(in store: StoreRunner) -> EventLoopFuture<Void> {
    let entries = audit.take()
    return store.run { storage in
      if !entries.isEmpty { _ = storage.perform(.record(entries)) }
    }
  }
}

/// Events about access that are not stored yet: a limited number of each kind, so that endless
/// refusals neither fill memory nor displace other events.
struct PendingAudit {
  private var entries: [AuditEntry] = []
  private var counts: [AuditEntry.Event: Int] = [:]
  /// In milliseconds of uptime.
  private var storedAt: Int64 = .min / 2
  private var isStoring = false

  mutating func add(_ entry: AuditEntry) {
    guard counts[entry.event, default: 0] < AuditEntry.keptOfEachKind else { return }
    counts[entry.event, default: 0] += 1
    entries.append(entry)
  }

  /// Removes and returns the events to store.
  mutating func take() -> [AuditEntry] {
    defer { (entries, counts) = ([], [:]) }
    return entries
  }

  /// Begins to store waiting events, once a second.
  ///
  /// - Returns: nil if nothing has to be stored now.
  mutating func begin(at uptimeMilliseconds: Int64) -> [AuditEntry]? {
    guard !entries.isEmpty, !isStoring, uptimeMilliseconds - storedAt >= 1_000 else { return nil }
    storedAt = uptimeMilliseconds
    isStoring = true
    return take()
  }

  mutating func ended() { isStoring = false }
}
