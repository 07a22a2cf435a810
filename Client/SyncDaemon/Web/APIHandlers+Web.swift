import Hummingbird
import LocalAPI
import NIOCore
import SyncClient

extension APIHandlers {
  // MARK: - The page, and who may use it

  /// The routes as the page's listener has them: behind the gate, with the page's files.
  func webRouter() -> Router<Context> {
    let client = client
    let router = Router(context: Context.self)
    router.add(middleware: WebHeaders())
    router.add(middleware: ProblemMiddleware(client: client))
    router.add(middleware: WebAccessMiddleware(listener: web, now: { client.time }))
    addRoutes(to: router)
    WebPage.addRoutes(to: router)
    return router
  }

  func addWebRoutes(to api: RouterGroup<Context>) {
    api.get("web") { _, context in CanonicalJSON.response(webAnswer(context)) }
    api.post("web") { request, context in
      guard context.browser == nil else { throw APIProblem.notOverTheWeb }
      let body = try await decodedIfPresent(WebRequest.self, from: request)
      return CanonicalJSON.response(try await openWeb(port: body?.port), status: .created)
    }
    api.delete("web") { _, context in
      try settings.set(.web, to: .text(WebAddress.off), apply: client.apply)
      await followWeb(context)
      return CanonicalJSON.response(webAnswer(context))
    }
    api.post("web/keys") { request, _ in
      let body = try await decoded(WebKeyRequest.self, from: request)
      let made = try web.keys.redeem(body.ticket, name: body.name ?? "browser", at: client.time)
      guard let made else { throw APIProblem.ticketUnknown }
      return CanonicalJSON.response(
        WebKeyAnswer(
          key: made.key, id: made.browser.id, name: made.browser.name,
          expiresAt: made.browser.expiresAt),
        status: .created)
    }
    api.delete("web/keys/:key") { _, context in
      let named = try parameter("key", of: context)
      guard let id = try web.keys.revoke(named) else {
        throw APIProblem(
          .notFound, code: "browserNotFound",
          message: "There is no browser \"\(named)\". cospool web status shows them.", exitCode: 1)
      }
      // The one that asks still gets its answer; its key is worth nothing any more.
      web.cutOff(id, except: ObjectIdentifier(context.channel))
      return CanonicalJSON.response(webAnswer(context))
    }
  }

  /// Serves the page where the setting says now.
  func followWeb(_ context: Context) async {
    let change = web.follow(settings.current.webAddress, api: self)
    if context.browser == nil { await change.value }
  }

  private func webAnswer(_ context: Context) -> WebAnswer {
    WebAnswer(
      address: web.address?.description, problem: web.problem,
      browsers: web.keys.list(at: client.time).map { browser in
        WebAnswer.Browser(
          id: browser.id, name: browser.name,
          createdAt: browser.createdAt, lastUsedAt: browser.lastUsedAt,
          expiresAt: browser.expiresAt, isCurrent: browser.id == context.browser)
      })
  }

  /// Serves the page, where it is not served yet, and makes a ticket.
  private func openWeb(port: Int?) async throws -> WebTicketAnswer {
    if let port {
      guard (0...Int(UInt16.max)).contains(port) else {
        throw APIProblem(
          .unprocessableContent, code: "invalidPort", message: "A port is 0 to 65535.", exitCode: 2)
      }
      try settings.set(.web, to: .text("\(WebAddress(port: port))"), apply: client.apply)
    } else if settings.current.webAddress == nil {
      try settings.set(.web, to: .text("\(WebAddress())"), apply: client.apply)
    }
    let current = settings.current
    guard let wanted = current.webAddress, port == nil || wanted.port == port else {
      throw APIProblem(
        .conflict, code: "webFixed",
        message:
          "The setting web comes from \(current.effective(.web).origin.rawValue), which says "
          + "\(current.text(.web) ?? WebAddress.off). Change it there.", exitCode: 5)
    }
    await web.follow(wanted, api: self).value
    guard let address = web.address else {
      throw APIProblem(
        .conflict, code: "webNotServed",
        message: web.problem ?? "The daemon is stopping. Try again later.", exitCode: 1)
    }
    let (ticket, end) = web.keys.makeTicket(at: client.time)
    return WebTicketAnswer(
      address: address.description, url: "http://\(address)/#t=\(ticket)",
      expiresAt: end)
  }
}

extension APIProblem {
  static let notOverTheWeb = APIProblem(
    .forbidden, code: "notOverTheWeb",
    message: "A browser cannot do this. Run the command on the machine itself.", exitCode: 3)

  static let ticketUnknown = APIProblem(
    .unauthorized, code: "ticketUnknown",
    message: "The link was used already, or is older than a minute. Run cospool web again.",
    exitCode: 3)
}
