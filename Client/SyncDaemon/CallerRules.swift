import Basics
import Hummingbird
import LocalAPI
import SyncClient

/// Rules that the tables of routes leave to a request's body (`Route.BrowserAccess`,
/// `Route.AgentAccess`): handlers call them, and do not examine callers themselves.
extension RouteHandlers {
  /// - Throws: if the caller may not name a file of this machine: browsers and agents send the
  ///   bytes.
  func checkNamesFiles(_ context: Context) throws {
    guard context.browser == nil else { throw APIProblem.notOverTheWeb }
    guard context.agent == nil else { throw APIProblem.agentNotAllowed }
  }

  /// - Throws: if the caller may not give a session that agent.
  func checkGives(_ kind: AgentKind, _ context: Context) throws {
    let allowed = client.settings.agents.browserKinds
    guard context.browser == nil || kind == .none || allowed.contains(kind) else {
      throw APIProblem.agentNotOfBrowsers(kind, allowed: allowed)
    }
  }
}

extension APIProblem {
  static func agentNotOfBrowsers(_ kind: AgentKind, allowed: Set<AgentKind>) -> APIProblem {
    let names = allowed.map(\.rawValue).sorted().joined(separator: ", ")
    return APIProblem(
      .forbidden, code: "agentNotOfBrowsers",
      message: "A browser may not choose \(kind.rawValue). On this machine it can choose "
        + (names.isEmpty ? "none" : names) + " (setting browserAgents).",
      exitCode: ExitStatus.authentication)
  }
}
