import Basics
import LocalAPI
import Operations
import QueueModel

/// `cospool status` on one screen.
enum StatusText {
  static func text(of status: StatusAnswer, style: TextStyle) -> String {
    let sync = status.sync
    var fields: [FieldText.Field] = [
      .init("device", "\(sync.deviceName) (\(sync.device.prefix(8)))"),
      .init(
        "daemon",
        "version \(status.daemon.version), process \(status.daemon.processID), up for "
          + uptime(of: status.daemon, style: style)),
      .init("data", data(of: status.daemon)),
      .init("sync", connection(of: sync, style: style), colour(of: sync.state)),
    ]
    fields += server(of: status, style: style)
    if let page = status.daemon.page { fields.append(.init("page", page)) }
    if let workspace = sync.workspace { fields.append(.init("workspace", workspace)) }
    fields.append(.init("changes", changes(of: status, style: style)))
    fields.append(.init("queues", queues(of: status)))
    if status.queues.awaited > 0 {
      let requests = ReceiptText.counted(status.queues.awaited, "request")
      fields.append(
        .init("agents", "\(requests) for you: cospool task list", .yellow))
    }
    for (sessions, why, end) in [
      (status.queues.unhosted ?? [], "not assigned to a device: cospool session host", "this"),
      (status.queues.agentless ?? [], "no agent set up: cospool session agent", "claude"),
    ] {
      for (index, session) in sessions.prefix(3).enumerated() {
        let command = "\(why) \(Shell.quotedOperand(session.rawValue)) \(end)"
        let more = index == 2 && sessions.count > 3 ? " (and \(sessions.count - 3) more)" : ""
        let name = index == 0 ? "waiting" : ""
        fields.append(.init(name, TextStyle.line("\(session): \(command)\(more)"), .yellow))
      }
    }
    for (index, session) in status.unconsented.enumerated() {
      let name = TextStyle.line(Shell.quoted(session.rawValue))
      let quoted = TextStyle.line(Shell.quotedOperand(session.rawValue))
      fields.append(
        .init(
          index == 0 ? "hosting" : "",
          "another device asked to run \(name) here. To allow it: cospool session host \(quoted) this",
          .yellow))
    }
    fields += problems(of: status) + devices(of: sync)
    return FieldText.text(of: fields, style: style)
  }

  private static func problems(of status: StatusAnswer) -> [FieldText.Field] {
    let sync = status.sync
    var fields: [FieldText.Field] = []
    if let problem = sync.lastError {
      let code = sync.refusalCode.map { " (\($0))" } ?? ""
      let isShutOut = ["revoked", "unauthorized", "wrongWorkspace"].contains(sync.refusalCode ?? "")
      let way = isShutOut ? "; to pair it again: cospool pair URL CODE" : ""
      fields.append(.init("problem", problem + code + way, .red))
    }
    if let problem = status.unsentFilesProblem { fields.append(.init("files", problem, .red)) }
    if let fault = status.settingsFault {
      fields.append(
        .init(
          "settings", "\(fault) The daemon keeps running without it, but does not start again.",
          .red)
      )
    }
    if sync.repairs > 0 {
      fields.append(
        .init("repairs", "\(sync.repairs), after a copy of the running daemon ran as well"))
    }
    return fields
  }

  private static func devices(of sync: SyncAnswer) -> [FieldText.Field] {
    sync.devices.enumerated().map { index, device in
      let connection = device.connected ? "connected" : "offline"
      // After every change, a connected device needs a moment.
      let seen =
        device.seenEverything ? "has everything" : device.connected ? "catching up" : "behind"
      // Without a connection, this is the server's last report.
      let doubt = sync.state == .connected ? "" : ", when last heard"
      return .init(index == 0 ? "devices" : "", "\(device.name): \(connection), \(seen)\(doubt)")
    }
  }

  /// Whether others can read the data on its way to a server.
  private static func isReadable(_ server: String) -> Bool {
    server.hasPrefix("ws://")
      && !["127.", "localhost:", "[::1]"].contains { server.dropFirst(5).hasPrefix($0) }
  }

  private static func colour(of state: SyncStatus.State) -> TextStyle.Colour? {
    switch state {
    case .connected: .green
    case .connecting, .waiting: .yellow
    case .refused: .red
    case .notPaired, .disabled: nil
    }
  }

  private static func connection(of sync: SyncAnswer, style: TextStyle) -> String {
    switch sync.state {
    case .notPaired: return "not paired; to add a server: cospool pair URL CODE"
    case .disabled: return "off; to turn it on: cospool sync on"
    case .connecting: return "connecting"
    case .connected:
      guard let since = sync.connectedSince else { return "connected" }
      let age = style.age(since)
      return age == "now" ? "connected" : "connected for \(age)"
    case .waiting:
      let seconds = sync.retryAfterMilliseconds.map { " in \(max(0, $0) / 1_000) s" } ?? ""
      return "not reachable, next try\(seconds); to try now: cospool sync now"
    case .refused: return "refused by the server; your data is kept"
    }
  }

  /// What a device may do, and until when; nil if that is everything, without an end.
  static func access(_ role: String?, until end: Timestamp?, style: TextStyle) -> String? {
    guard let role else { return nil }
    let words =
      switch DeviceRole(name: role) {
      case .viewer: "viewer: it can read but not change anything"
      case .author: "author: it can queue and answer, but runs no agents"
      case .host, nil: role
      }
    return words
      + (end.map { ", until \(style.localTime(ISOTime.text(milliseconds: $0.milliseconds)))" } ?? "")
  }

  private static func server(of status: StatusAnswer, style: TextStyle) -> [FieldText.Field] {
    var fields: [FieldText.Field] = []
    if let server = status.sync.server {
      fields.append(.init("server", server + (isReadable(server) ? ", not encrypted" : "")))
    }
    let sync = status.sync
    if let words = access(sync.role, until: sync.accessEndsAt, style: style) {
      fields.append(.init("access", words))
    }
    if let ends = status.certificateEndsAt {
      let days = style.days(until: ends.milliseconds)
      let words = days < 0 ? "of the server, has ended" : "of the server, good for \(days) days"
      fields.append(
        .init("certificate", words, days < DoctorFinding.certificateDaysLow ? .yellow : nil))
    }
    return fields
  }

  private static func uptime(of daemon: DaemonAnswer, style: TextStyle) -> String {
    let age = style.age(daemon.startedAt)
    return age == "now" ? "0s" : age
  }

  private static func data(of daemon: DaemonAnswer) -> String {
    let free = daemon.diskFree.map { ", \($0 >> 20) MiB free on the disk" } ?? ""
    return "\(daemon.dataDirectory)\(free)"
  }

  private static func changes(of status: StatusAnswer, style: TextStyle) -> String {
    let sync = status.sync
    var parts = [
      sync.outgoing == 0
        ? "all sent" : "\(ReceiptText.counted(sync.outgoing, "change")) to send"
    ]
    parts += status.unsentFiles.map { ["\(ReceiptText.counted($0, "file")) to send"] } ?? []
    if sync.server == nil {
      parts = ["kept on this device"]
    } else if let oldest = status.oldestUnsentAt {
      let age = style.age(oldest)
      parts.append("the oldest from \(age == "now" ? "now" : age + " ago")")
    }
    if let last = sync.lastSyncedAt {
      let age = style.age(last)
      parts.append("last in sync \(age == "now" ? "now" : age + " ago")")
    }
    return parts.joined(separator: ", ")
  }

  private static func queues(of status: StatusAnswer) -> String {
    let queues = status.queues
    let sessions = ReceiptText.counted(queues.sessions, "session")
    let messages = ReceiptText.counted(queues.messages, "message")
    guard status.daemon.threadQueue else {
      return "\(sessions), \(messages) waiting, thread queue off"
    }
    let locked = queues.threads - queues.threadsReady
    return "\(sessions), \(messages) waiting, \(ReceiptText.counted(queues.threads, "thread")) "
      + "(\(queues.threadsReady) ready, \(locked) locked)"
  }
}
