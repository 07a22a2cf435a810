import Basics
import Hummingbird
import LocalAPI
import QueueModel
import SyncClient

/// Takes messages out of line until a time, or until others have succeeded, and puts them back.
struct WaitingHandlers: RouteHandlers {
  var api: APIHandlers

  var client: QueueClient { api.client }

  func addRoutes(to router: RouterGroup<Context>) {
    router.post("messages/:message/start") { _, context in
      let id = try message(context)
      var answer = ReceiptAnswer(try await client.perform(.setNotBefore(id, nil)))
      answer.messages = changed([id])
      if answer.result == .unchanged { answer.what = whyNotDue(id) }
      return CanonicalJSON.response(answer)
    }
    router.put("messages/:message/later") { request, context in
      let body = try await decoded(LaterRequest.self, from: request)
      let id = try message(context)
      let time = try WaitingHandlers.time(named: body.later)
      return try await perform(.setLater(id, time), changing: [id])
    }
    router.put("messages/:message/needs") { request, context in
      let body = try await decoded(NeedsRequest.self, from: request)
      let id = try message(context)
      let needs = try NamedNeeds(body.needs).ids(for: context, api)
      return try await perform(.setNeeds(id, needs), changing: [id])
    }
  }

  /// What a message waits for though its time has come; nil if that is nothing of its own.
  private func whyNotDue(_ id: MessageID) -> String? {
    let quoted = Shell.quoted(String(id.description.prefix(8)))
    if client.workspace().waitsForChoice(id) {
      return "it waits for your choice of its text: cospool queue show \(quoted)"
    }
    guard let held = (try? client.workspace().message(id))?.heldUntil, held > client.time else {
      return nil
    }
    return "it is on hold while it is edited"
  }

  /// A time in a request, in milliseconds since 1970.
  static func time(named text: String) throws -> Int64 {
    guard let time = ZonedTime.milliseconds(text) else {
      throw APIProblem(
        .unprocessableContent, code: "invalidTime",
        message: "\"\(text)\" is not an ISO 8601 time: write it as 2026-11-30T02:00:00Z.",
        exitCode: ExitStatus.usage)
    }
    return time
  }
}
