import Basics
import Hummingbird
import LocalAPI
import QueueModel
import SyncClient

/// Drafts of this device.
struct DraftHandlers: RouteHandlers {
  var api: APIHandlers

  var client: QueueClient { api.client }

  func addRoutes(to api: RouterGroup<Context>) {
    api.get("drafts") { _, _ in
      CanonicalJSON.response(
        DraftsAnswer(drafts: try await client.queues.drafts().map(DraftAnswer.init)))
    }
    api.get("sessions/:session/draft") { _, context in
      let session = try session(context)
      guard let draft = try await client.queues.draft(of: session) else {
        throw APIProblem.draftNotFound(session)
      }
      return CanonicalJSON.response(DraftAnswer(draft))
    }
    api.put("sessions/:session/draft") { request, context in
      let session = try session(context)
      let body = try await decoded(DraftRequest.self, from: request)
      guard let draft = try await setDraft(body.text, of: session, request) else {
        return CanonicalJSON.response(DraftAnswer(session: session))
      }
      return CanonicalJSON.response(DraftAnswer(draft))
    }
    api.delete("sessions/:session/draft") { request, context in
      let session = try session(context)
      _ = try await setDraft("", of: session, request)
      return CanonicalJSON.response(DraftAnswer(session: session))
    }
    api.post("sessions/:session/draft/send") { request, context in
      let session = try session(context)
      let body = try await decodedIfPresent(DraftSendRequest.self, from: request)
      guard let draft = try await client.queues.draft(of: session) else {
        throw APIProblem.draftNotFound(session)
      }
      let send = SendRequest(text: draft.text, id: body?.id, priority: body?.priority)
      return CanonicalJSON.response(
        try await self.api.send(send, to: session, context), status: .created)
    }
  }
}

extension DraftHandlers {
  /// Undo names the former draft, unless an editor keeps the typed text.
  private func setDraft(
    _ text: String, of session: SessionID, _ request: Request
  ) async throws -> Draft? {
    let isNoted = try !isOfEditor(request)
    let before = try await client.queues.draft(of: session)?.text
    let draft = try await client.queues.setDraft(text, of: session)
    if isNoted, draft?.text != before {
      await note(UndoLabel(kind: .drafted, session: session), former: before)
    }
    return draft
  }
}

extension APIProblem {
  static func draftNotFound(_ session: SessionID) -> APIProblem {
    APIProblem(
      .notFound, code: "draftNotFound", message: "Session \(session) has no draft.",
      exitCode: ExitStatus.failed)
  }
}
