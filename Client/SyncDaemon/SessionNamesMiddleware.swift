import Foundation
import Hummingbird
import LocalAPI
import QueueModel
import SyncClient

/// The names of sessions for the answers and events that a task writes.
struct AnswerNames: Sendable {
  @TaskLocal static var current: AnswerNames?

  var client: QueueClient

  /// The JSON with `sessionName` beside each `session`. A session that no longer exists is named by
  /// its id.
  func added(to json: Data) -> Data {
    let workspace = client.workspace()
    var known: [[UInt8]: [UInt8]] = [:]
    return Data(
      NamedSessions.added(to: Array(json)) { id in
        if let name = known[id] { return name }
        let name = AnswerNames.name(of: id, in: workspace)
        known[id] = name
        return name
      })
  }

  private static func name(of id: [UInt8], in workspace: Workspace) -> [UInt8] {
    guard let text = try? JSONDecoder().decode(String.self, from: Data(id)),
      let session = try? SessionID(text), let view = workspace.session(session),
      let name = try? CanonicalJSON.data(view.name)
    else { return id }
    return Array(name)
  }
}

/// Gives handlers the names of sessions for their answers.
struct SessionNamesMiddleware: RouterMiddleware {
  typealias Context = APIHandlers.Context

  var client: QueueClient

  func handle(
    _ request: Request, context: Context,
    next: @concurrent (Request, Context) async throws -> Response
  ) async throws -> Response {
    try await AnswerNames.$current.withValue(AnswerNames(client: client)) {
      try await next(request, context)
    }
  }
}
