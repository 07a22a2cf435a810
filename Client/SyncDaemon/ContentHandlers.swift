import Basics
import Hummingbird
import LocalAPI
import QueueModel
import SyncClient

/// The text of a message: edits, and choices among merged texts.
struct ContentHandlers: RouteHandlers {
  var client: QueueClient

  func addRoutes(to api: RouterGroup<Context>) {
    api.put("messages/:message/content") { request, context in
      let id = try message(context)
      let body = try await decoded(EditRequest.self, from: request)
      let base = try await base(of: id, given: body.base, or: request.header("if-match"))
      // Who names no base may not have seen what another device saved.
      let before = client.workspace()
      let replaced =
        base == nil ? before.textSavedElsewhere(of: id, than: client.deviceID) : nil
      do throws(ClientError) {
        let (receipt, isConfirmed) = try await client.queues.edit(
          id, content: body.content, base: base)
        return response(receipt, isConfirmed, of: id, replaced)
      } catch {
        guard let started = error.startedMessage else { throw error }
        throw tooLate(APIProblem(error), for: started)
      }
    }
    api.post("messages/:message/resolve") { request, context in
      let id = try message(context)
      let body = try await decoded(ResolveRequest.self, from: request)
      guard let choice = VersionChoice(body.take) else {
        throw APIProblem.badRequest("The field take must be the number of a version, or merged.")
      }
      let base = try await base(of: id, given: body.base, or: request.header("if-match"))
      let (receipt, isConfirmed) = try await client.queues.resolve(id, taking: choice, base: base)
      return response(receipt, isConfirmed, of: id)
    }
  }

  /// A refusal of a text that came too late. The text is kept.
  private func tooLate(_ problem: APIProblem, for id: String) -> APIProblem {
    var problem = problem
    problem.nameStop(of: id, in: client.workspace())
    if let session = APIProblem.session(of: id, in: client.workspace()) {
      problem.message +=
        "\nYour text is kept as the draft of \(session): cospool draft show "
        + Shell.quotedOption("-s", session.rawValue)
    }
    return problem
  }

  private func response(
    _ receipt: CommandReceipt, _ isConfirmed: Bool, of id: MessageID,
    _ replaced: MessageVersion? = nil
  ) -> Response {
    var answer = ReceiptAnswer(receipt)
    answer.replaced = receipt.operations == nil ? nil : replaced.map(EditionAnswer.init)
    answer.unconfirmed = isConfirmed ? nil : true
    answer.messages = changed([id])
    return CanonicalJSON.response(answer)
  }

  /// The text that the editor saw; nil if the request names none, which means the current one.
  private func base(
    of id: MessageID, given field: String?, or header: String?
  ) async throws -> EditBase? {
    guard let text = field ?? header.map(ContentHandlers.tag(in:)), text != "*" else { return nil }
    guard let version = ContentVersion(text) else {
      throw APIProblem.badRequest(
        "The base is not valid. Use the base of the message, or leave it out.")
    }
    do {
      return try await client.editBase(of: id, at: version)
    } catch {
      if case .history = error { throw APIProblem.baseForgotten }
      throw error
    }
  }

  /// The text between the quotation marks of an entity tag; a weak one counts, too.
  static func tag(in header: String) -> String {
    var tag = header[...]
    if tag.hasPrefix("W/") { tag.removeFirst(2) }
    if tag.count >= 2, tag.hasPrefix("\""), tag.hasSuffix("\"") {
      tag = tag.dropFirst().dropLast()
    }
    return String(tag)
  }
}
