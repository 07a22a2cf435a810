import LocalAPI
import QueueModel

/// Sessions with their states.
enum OverviewText {
  static func text(of overview: OverviewAnswer, style: TextStyle) -> String {
    guard !overview.sessions.isEmpty else {
      return "no sessions yet. To start one: cospool send -s NAME \"what to do\"\n\n"
        + devices(overview.sync, style: style)
    }
    // Sessions that need their user come first, inactive ones last.
    let order = SessionAnswer.Standing.allCases
    let rank: (SessionAnswer) -> Int = { session in
      session.standing.flatMap { order.firstIndex(of: $0) } ?? order.count
    }
    let sorted = overview.sessions.enumerated()
      .sorted { (rank($0.element), $0.offset) < (rank($1.element), $1.offset) }.map(\.element)
    let archived =
      overview.archived.map { "; \($0) archived: cospool session list --archived" } ?? ""
    return table(of: sorted, style: style) + "\n\n" + devices(overview.sync, style: style)
      + style.coloured(archived, .dim)
  }

  static func table(of sessions: [SessionAnswer], style: TextStyle) -> String {
    var table = TextTable([
      .init(title: "SESSION", isName: true), .init(title: "STATE"),
      .init(title: "WAITING", isNumber: true, goes: 3), .init(title: "HOST", goes: 2),
      .init(title: "AGENT", goes: 4), .init(title: "WHAT", goes: 1),
    ])
    let names = SessionText.names(of: sessions)
    table.rows = zip(sessions, names).map { session, name in
      let (state, colour) = words(of: session)
      return [
        .init(name), .init(state, colour), .init("\(session.waiting)"),
        .init(session.hostName ?? "-"), .init(session.agent ?? ""), .init(session.note ?? ""),
      ]
    }
    return table.text(style: style)
  }

  static func words(of session: SessionAnswer) -> (String, TextStyle.Colour?) {
    if session.archived == true { return ("archived", .dim) }
    let (state, colour) = words(of: session.standing)
    guard let merged = session.merged, session.standing != .merged else { return (state, colour) }
    return ("\(state), \(merged) merged", .yellow)
  }

  private static func words(
    of standing: SessionAnswer.Standing?
  ) -> (String, TextStyle.Colour?) {
    switch standing {
    case .asks?: ("needs you", .yellow)
    case .stopped?: ("stopped: needs you", .red)
    case .working?: ("working", .green)
    case .paused?: ("paused", .yellow)
    case .unhosted?: ("no host", .yellow)
    case .unconsented?: ("needs consent", .yellow)
    case .agentless?: ("no agent", .yellow)
    case .merged?: ("merged: needs you", .yellow)
    case .hostAway?: ("host away", .yellow)
    case .waiting?: ("waiting", nil)
    case .idle?, nil: ("idle", .dim)
    }
  }

  private static func devices(_ sync: SyncAnswer, style: TextStyle) -> String {
    let away = sync.devices.filter { !$0.connected }.map { TextStyle.line($0.name) }
    let here = TextStyle.line(sync.deviceName)
    let connection =
      switch sync.state {
      case .notPaired: "\(here), no server"
      case .disabled: "\(here), sync is off"
      case .connected: "\(here), connected"
      case .connecting, .waiting: "\(here), cannot reach the server"
      case .refused: "\(here), refused by the server: cospool status"
      }
    let others = away.isEmpty ? "" : "; away: \(away.joined(separator: ", "))"
    return style.coloured(connection + others, .dim)
  }
}
