import Hummingbird
import QueueModel
import SyncClient

extension LocalAPI {
  // MARK: - Drafts of this device

  func addDraftRoutes(to api: RouterGroup<Context>) {
    api.get("drafts") { _, _ in
      CanonicalJSON.response(DraftsAnswer(drafts: try await client.drafts().map(DraftAnswer.init)))
    }
    api.get("sessions/:session/draft") { _, context in
      let session = try session(context)
      guard let draft = try await client.draft(of: session) else {
        throw APIProblem.draftNotFound(session)
      }
      return CanonicalJSON.response(DraftAnswer(draft))
    }
    api.put("sessions/:session/draft") { request, context in
      let session = try session(context)
      let body = try await decoded(DraftRequest.self, from: request)
      guard let draft = try await client.setDraft(body.text, of: session) else {
        return CanonicalJSON.response(DraftAnswer(session: session))
      }
      return CanonicalJSON.response(DraftAnswer(draft))
    }
    api.delete("sessions/:session/draft") { _, context in
      let session = try session(context)
      try await client.setDraft("", of: session)
      return CanonicalJSON.response(DraftAnswer(session: session))
    }
    api.post("sessions/:session/draft/send") { request, context in
      let session = try session(context)
      let body = try await decodedIfPresent(DraftSendRequest.self, from: request)
      guard let draft = try await client.draft(of: session) else {
        throw APIProblem.draftNotFound(session)
      }
      let send = SendRequest(text: draft.text, id: body?.id, priority: body?.priority)
      return CanonicalJSON.response(try await self.send(send, to: session), status: .created)
    }
  }
}

extension APIProblem {
  static func draftNotFound(_ session: SessionID) -> APIProblem {
    APIProblem(
      .notFound, code: "draftNotFound", message: "Session \(session) has no draft.", exitCode: 1)
  }
}

struct DraftRequest: Codable {
  /// What was typed so far; an empty one removes the draft.
  var text: String
}

struct DraftSendRequest: Codable {
  var id: String?
  var priority: String?
}

/// A session's draft; without a time where there is none any more.
struct DraftAnswer: Codable, Equatable, Sendable {
  var session: SessionID
  var text: String
  var updatedAt: String?

  init(_ draft: Draft) {
    session = draft.session
    text = draft.text
    updatedAt = Timestamp.text(milliseconds: draft.updatedAt)
  }

  /// No draft.
  init(session: SessionID) {
    self.session = session
    text = ""
  }
}

/// `GET /v1/drafts`, by session.
struct DraftsAnswer: Codable, Equatable, Sendable {
  var drafts: [DraftAnswer]
}
