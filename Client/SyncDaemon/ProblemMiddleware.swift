import Basics
import Foundation
import Hummingbird
import LocalAPI
import Logging
import QueueModel
import SyncClient

/// Turns errors of handlers, and routes that do not exist, into error answers; conflicts include
/// the current state, so that no second request is necessary. Every answer names the best known
/// time, because a command's own clock may be wrong.
struct ProblemMiddleware: RouterMiddleware {
  typealias Context = APIHandlers.Context

  var client: QueueClient
  private static let time = HTTPFields.Element.Name(TimeHeader.name)

  func handle(
    _ request: Request, context: Context,
    next: @concurrent (Request, Context) async throws -> Response
  ) async throws -> Response {
    var response = try await answer(request, context, next)
    if let name = Self.time { response.headers[name] = String(client.time) }
    return response
  }

  private func answer(
    _ request: Request, _ context: Context,
    _ next: @concurrent (Request, Context) async throws -> Response
  ) async throws -> Response {
    do {
      return try await next(request, context)
    } catch {
      var problem = APIProblem(error, request: request)
      if let id = APIProblem.unknownSession(error) {
        problem.suggest(id, among: client.workspace().sessions().map(\.id.rawValue))
      }
      let refusal = (error as? QueueError).map(ClientError.queue) ?? error as? ClientError
      if let id = refusal?.startedMessage { problem.nameStop(of: id, in: client.workspace()) }
      if case ClientError.queue(.notUndoable(_, let obstacle)) = error, !obstacle.isLate,
        request.uri.path.hasSuffix("/undo")
      {
        problem.message += " To go further back without it: cospool undo --skip."
      }
      problem.current = await current(for: error, of: problem, context: context)
      context.logger.debug(
        "\(request.method.rawValue) \(request.uri.path): \(problem.code): \(problem.message)")
      if problem.status == .internalServerError {
        context.logger.error("\(problem.message)")
      }
      return problem.response()
    }
  }

  private func current(
    for error: any Error, of problem: APIProblem, context: Context
  ) async -> CurrentAnswer? {
    guard problem.status == .conflict || problem.status == .preconditionFailed else { return nil }
    if problem == .baseForgotten { return message(context.parameters.get("message")) }
    let error = (error as? QueueError).map(ClientError.queue) ?? error as? ClientError
    switch error {
    case .queue(.queueFull): return queue(context.parameters.get("session"))
    case .queue(.messageCancelled(let id)), .queue(.messageNotCancelled(let id)),
      .queue(.messageIDTaken(let id)), .queue(.messageNotMerged(let id)):
      return message(id)
    case .queue(.nothingToUndo), .queue(.nothingToRedo), .queue(.notUndoable),
      .queue(.changeUnknown):
      return CurrentAnswer(undo: UndoAnswer(await client.undoState))
    case .notPaired, .alreadyPaired, .otherWorkspace, .syncDisabled:
      return CurrentAnswer(sync: client.syncStatus())
    default: return nil
    }
  }

  /// nil if there is no such queue; the refusal reports that itself.
  private func queue(_ name: String?) -> CurrentAnswer? {
    guard let name = name.flatMap({ ASCII.percentDecoded($0) }), let session = try? SessionID(name),
      let view = try? client.workspace().messageQueue(session)
    else { return nil }
    return CurrentAnswer(queue: QueueAnswer(view))
  }

  private func message(_ name: String?) -> CurrentAnswer? {
    let workspace = client.workspace()
    guard let name, let id = try? workspace.messageID(fromPrefix: name),
      let view = try? workspace.message(id)
    else { return nil }
    var answer = MessageAnswer(view, namesSession: true)
    answer.base = (try? client.contentVersion(of: id))?.description
    return CurrentAnswer(message: answer)
  }
}

extension UndoObstacle {
  /// Whether it was found after the undo, which then forgot the change.
  fileprivate var isLate: Bool { if case .late = self { true } else { false } }
}
