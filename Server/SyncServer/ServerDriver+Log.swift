import Logging
import NIOCore
import NIOPosix
import QueueModel
import ServerCore
import WireProtocol

/// What stands in the log: fixed words, ids and addresses. What a client says goes in with marks in
/// place of what would begin a line or move a cursor, and cut.
extension ServerDriver {
  func log(_ report: ServerReport) {
    count(report)
    switch report {
    case .paired(let workspace, let device, let name, let letInBy, let source):
      let maker = letInBy.map { "let in by device \($0)" }
      logger.notice(
        """
        paired device \(device) (\(ShownName.text(name))) with workspace \(workspace), \
        \(maker.map { $0 + ", " } ?? "")source \(source)
        """, metadata: ["device": "\(device)", "workspace": "\(workspace)"])
      audit(.paired, workspace, device, source: source, detail: maker ?? "")
    case .joined(let id, let workspace, let device, let name):
      self.joined(id, device, of: workspace)
      logger.info(
        "joined as \(ShownName.text(name))",
        metadata: [
          "connection": "\(id.rawValue)", "device": "\(device)", "workspace": "\(workspace)",
        ])
      audit(.joined, workspace, device, source: source(of: id))
    case .refused(let id, let code, let message):
      if let reason = Self.deniedAccess[code] {
        logDeniedAccess(reason, route: "sync", source: source(of: id))
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
      let source = id.map { self.source(of: $0) } ?? "button"
      logger.notice(
        """
        request decided: \(verdict.name), workspace \(workspace), device \(device), \
        source \(source)
        """, metadata: ["device": "\(device)", "workspace": "\(workspace)"])
      audit(.decided, workspace, device, source: source, detail: verdict.name)
    case .stateJoined(let workspace):
      logger.notice(
        "joined with the state of a device that held more",
        metadata: ["workspace": "\(workspace)"])
    case .storageFailed(let fault):
      logger.error("the store failed: \(fault)")
    case .storageRecovered:
      logger.notice("the store works again")
    }
  }

  /// Somebody was not let in. The words are fixed and the address stands last, for programs that
  /// shut addresses out: `access denied: .*, source <ADDR>$`.
  func logDeniedAccess(_ reason: String, route: String, source: String) {
    logger.notice("access denied: \(reason), route \(route), source \(source)")
    audit(.refused, nil, nil, source: source, detail: "\(reason), route \(route)")
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
    case .paired, .joined, .revoked, .decided, .stateJoined, .storageRecovered: break
    }
  }

  // MARK: - Audit

  private func audit(
    _ event: AuditEntry.Event, _ workspace: WorkspaceID?, _ device: DeviceID?, source: String,
    detail: String = ""
  ) {
    // Whoever is refused without end must not fill memory between two writings.
    guard pendingAudit.entries.count < AuditEntry.keptOfEachKind else { return }
    pendingAudit.entries.append(
      AuditEntry(
        at: clock.now.wallMilliseconds, event: event, workspace: workspace, device: device,
        source: source, detail: detail))
  }

  /// Stores what happened since the last time; asked for on every tick, done once a second.
  func storeAudit(at uptimeMilliseconds: Int64) {
    guard !pendingAudit.entries.isEmpty, !pendingAudit.isStoring,
      uptimeMilliseconds - pendingAudit.storedAt >= 1_000
    else { return }
    let (entries, storage, bound) = (pendingAudit.entries, storage, bound)
    pendingAudit.entries = []
    pendingAudit.storedAt = uptimeMilliseconds
    pendingAudit.isStoring = true
    storeThread.runIfActive(eventLoop: loop) { storage.perform(.record(entries)) }
      .whenComplete { result in
        let driver = bound.value
        driver.pendingAudit.isStoring = false
        if case .success(.recorded) = result {
        } else {
          driver.logger.warning("what happened about access could not be stored")
        }
      }
  }

  /// Stores what happened about access until the server stopped, behind all that the store does.
  func finishAudit() -> EventLoopFuture<Void> {
    let (entries, storage) = (pendingAudit.entries, storage)
    pendingAudit.entries = []
    return storeThread.runIfActive(eventLoop: loop) {
      if !entries.isEmpty { _ = storage.perform(.record(entries)) }
    }
  }
}

/// What happened about access and is not stored yet.
struct PendingAudit {
  var entries: [AuditEntry] = []
  /// Uptime.
  var storedAt: Int64 = .min / 2
  var isStoring = false
}
