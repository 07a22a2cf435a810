import Basics
import Hummingbird
import LocalAPI
import NIOCore
import SyncClient

extension APIHandlers {
  // MARK: - The page and its browsers

  /// The routes of the page's listener: behind the access check, with the page's files.
  func webRouter() -> Router<Context> {
    let client = client
    let router = Router(context: Context.self)
    router.add(middleware: WebHeaders())
    router.add(middleware: SessionNamesMiddleware(client: client))
    router.add(middleware: ProblemMiddleware(client: client))
    router.add(middleware: WebAccessMiddleware(listener: web, now: { client.time }))
    addRoutes(to: router)
    WebPage.addRoutes(to: router)
    return router
  }

  func addWebRoutes(to api: RouterGroup<Context>) {
    api.get("web") { _, context in CanonicalJSON.response(webAnswer(context)) }
    api.post("web") { request, _ in
      let body = try await decodedIfPresent(WebRequest.self, from: request) ?? WebRequest()
      return CanonicalJSON.response(try await openWeb(body), status: .created)
    }
    api.post("web/tickets") { _, context in
      guard let served = web.served, served.elsewhere != nil else { throw APIProblem.notElsewhere }
      return CanonicalJSON.response(ticket(for: served, by: context.browser), status: .created)
    }
    api.delete("web") { _, context in
      try settings.set(.web, to: .text(WebAddress.off), apply: client.apply)
      await followWeb()
      return CanonicalJSON.response(webAnswer(context))
    }
    api.post("web/keys") { request, _ in
      let body = try await decoded(
        WebKeyRequest.self, from: request, upTo: Route.ticketBytesMax)
      let made = try web.keys.redeem(body.ticket, name: body.name ?? "browser", at: client.time)
      guard let made else { throw APIProblem.ticketUnknown }
      web.cutOff(made.gone, except: nil)
      return CanonicalJSON.response(
        WebKeyAnswer(
          key: made.key, id: made.browser.id, name: made.browser.name,
          expiresAt: made.browser.expiresAt),
        status: .created)
    }
    api.get("web/proof") { request, _ in
      guard let nonce = request.uri.queryParameters.get("nonce"), nonce.utf8.count == 32,
        nonce.utf8.allSatisfy(ASCII.isHexDigit)
      else { throw APIProblem.badRequest("The parameter nonce must have 32 hexadecimal digits.") }
      return CanonicalJSON.response(
        WebProofAnswer(proofs: web.keys.proofs(for: nonce, at: client.time)))
    }
    api.patch("web/keys/:key") { request, context in
      let named = try parameter("key", of: context)
      let body = try await decoded(WebNameRequest.self, from: request)
      guard try web.keys.setName(body.name, of: named) else { throw APIProblem.noBrowser(named) }
      return CanonicalJSON.response(webAnswer(context))
    }
    api.delete("web/keys/:key") { _, context in
      let named = try parameter("key", of: context)
      let revoked = try web.keys.revoke(named)
      guard !revoked.browsers.isEmpty else { throw APIProblem.noBrowser(named) }
      // The browser that asks still gets its answer, but its key no longer counts.
      web.cutOff(revoked.browsers, except: ObjectIdentifier(context.channel))
      var answer = webAnswer(context)
      if !revoked.codes.isEmpty {
        answer.codes = revoked.codes.map { WebAnswer.Code(role: $0.role, createdAt: $0.createdAt) }
      }
      return CanonicalJSON.response(answer)
    }
  }

  /// Serves the page at the address of the present setting.
  func followWeb() async {
    await web.follow(settings.current.web, api: self).value
  }

  private func webAnswer(_ context: Context) -> WebAnswer {
    let served = web.served
    let browsers = web.keys.list(at: client.time)
    return WebAnswer(
      address: served?.address.description, elsewhere: served?.elsewhere?.description,
      problem: web.problem,
      browsers: browsers.map { browser in
        WebAnswer.Browser(
          id: browser.id, name: browser.name,
          createdAt: browser.createdAt, lastUsedAt: browser.lastUsedAt,
          expiresAt: browser.expiresAt, isCurrent: browser.id == context.browser,
          letInBy: browser.by.map { id in browsers.first { $0.id == id }?.name ?? id })
      })
  }

  /// Serves the page if it is not served yet, and makes a ticket.
  private func openWeb(_ request: WebRequest) async throws -> WebTicketAnswer {
    try settings.set(request.changes(to: settings.current.web?.address), apply: client.apply)
    let current = settings.current
    guard let wanted = current.web, request.port == nil || wanted.address.port == request.port,
      request.address == nil || wanted.address.host == request.address
    else {
      throw APIProblem(
        .conflict, code: "webFixed",
        message:
          "The setting web comes from \(current.effective(.web).origin.rawValue), with the "
          + "value \(current.text(.web) ?? WebAddress.off). Change it there.",
        exitCode: ExitStatus.conflict)
    }
    await web.follow(wanted, api: self).value
    guard let served = web.served else {
      throw APIProblem(
        .conflict, code: "webNotServed",
        message: web.problem ?? "The daemon is stopping. Try again later.",
        exitCode: ExitStatus.failed)
    }
    return ticket(for: served, by: nil)
  }

  private func ticket(for served: WebSettings, by browser: String?) -> WebTicketAnswer {
    let (ticket, end) = web.keys.makeTicket(by: browser, at: client.time)
    let elsewhere = served.elsewhere.map { "\($0)/#t=\(ticket)" }
    let url = served.address.isLoopback ? "http://\(served.address)/#t=\(ticket)" : elsewhere
    return WebTicketAnswer(
      address: served.address.description, url: url ?? "", elsewhere: elsewhere,
      code: elsewhere.flatMap(QRCode.init)?.text, expiresAt: end)
  }
}

extension WebRequest {
  /// The settings to change for it; empty if the request matches them already.
  fileprivate func changes(
    to current: WebAddress?
  ) throws -> [(name: SettingName, value: SettingValue?)] {
    var changes: [(name: SettingName, value: SettingValue?)] = []
    let named: [(SettingName, String?)] = [
      (.webURL, url), (.webCertificate, certificate), (.webKey, key),
    ]
    for case (let name, let text?) in named {
      changes.append((name: name, value: SettingValue.text(text)))
    }
    guard port != nil || self.address != nil || current == nil else { return changes }
    if let port, !(0...Int(UInt16.max)).contains(port) {
      throw APIProblem(
        .unprocessableContent, code: "invalidPort", message: "The port must be 0 to 65535.",
        exitCode: ExitStatus.usage)
    }
    var address = current ?? WebAddress()
    if let host = self.address {
      let text = host.contains(":") ? "[\(host)]:\(address.port)" : "\(host):\(address.port)"
      guard let named = WebAddress(text) else {
        throw APIProblem(
          .unprocessableContent, code: "invalidAddress",
          message:
            "\(host) is not a numeric address such as 127.0.0.1. If browsers use a name for "
            + "this machine, set it with --url.", exitCode: ExitStatus.usage)
      }
      address = named
    }
    if let port { address.port = port }
    changes.append((name: .web, value: SettingValue.text("\(address)")))
    return changes
  }
}

extension APIProblem {
  static let notOverTheWeb = APIProblem(
    .forbidden, code: "notOverTheWeb",
    message: "A browser cannot do this. Run the command on that machine.",
    exitCode: ExitStatus.authentication)

  static let notElsewhere = APIProblem(
    .conflict, code: "webNotElsewhere",
    message:
      "The page is served only to this machine. To open it on other devices: cospool web --help",
    exitCode: ExitStatus.failed)

  static func noBrowser(_ named: String) -> APIProblem {
    APIProblem(
      .notFound, code: "browserNotFound",
      message: "There is no browser \"\(named)\". cospool web status shows them.",
      exitCode: ExitStatus.failed)
  }

  static let ticketUnknown = APIProblem(
    .unauthorized, code: "ticketUnknown",
    message: "The link was already used, or is older than a minute. Run cospool web again.",
    exitCode: ExitStatus.authentication)
}
