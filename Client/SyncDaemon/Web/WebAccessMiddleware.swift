import Basics
import Hummingbird
import LocalAPI
import NIOCore
import SyncClient

/// Runs before every route of the page's listener, and checks whether the request is from the page
/// itself, and has a browser's key.
///
/// Any website may send requests to this machine, and its own name may lead here. So only fields
/// that browsers write and pages cannot change count: Host, Origin and the Sec-Fetch fields.
struct WebAccessMiddleware: RouterMiddleware {
  typealias Context = APIHandlers.Context

  var listener: WebListener
  /// The current time, in milliseconds since 1970.
  var now: @Sendable () -> Int64

  /// The parts of a request that the rules look at.
  struct Question {
    var method: String
    var path: String
    var host: String?
    /// Fields by lower-case names, each with all its values.
    var fields: [String: [String]]
    /// The origins of the page, by the value of Host.
    var origins: [String: String]

    func field(_ name: String) -> String? { fields[name]?.first }

    /// Every path except the files, in any spelling: a path may be written in several ways.
    var isOfAPI: Bool { !WebPage.paths.contains(path) }

    var writes: Bool { method != "GET" }
  }

  /// One rule: a request that breaks it is refused with its text.
  struct Rule: Sendable {
    var code: String
    var message: String
    var status: HTTPResponse.Status = .forbidden
    var isBroken: @Sendable (Question) -> Bool
  }

  /// The rules, in this order, before any route and before the key.
  static let rules: [Rule] = [
    // Another name that leads here has a different owner, like its pages.
    Rule(
      code: "foreignHost",
      message: "Open the page at the address that cospool web prints.",
      status: .misdirectedRequest
    ) { question in
      guard let host = question.host?.lowercased(), question.fields["host"] == nil else {
        return true
      }
      return question.origins[host] == nil
    },
    Rule(code: "foreignOrigin", message: "Only the page itself can send this request.") {
      question in
      guard let origins = question.fields["origin"] else { return false }
      return origins != [question.origins[question.host?.lowercased() ?? ""] ?? ""]
    },
    Rule(code: "foreignSite", message: "Only the page itself can send this request.") { question in
      guard let site = question.fields["sec-fetch-site"] else { return false }
      if site == ["same-origin"] || (site == ["none"] && !question.isOfAPI) { return false }
      // The page shows nothing without its key, so a link may lead to it.
      return
        !(question.path == "/" && question.field("sec-fetch-mode") == "navigate"
        && question.field("sec-fetch-dest") == "document")
    },
    Rule(code: "foreignMode", message: "Only the page itself can send this request.") { question in
      guard question.isOfAPI, let mode = question.fields["sec-fetch-mode"] else { return false }
      return mode != ["cors"] && mode != ["same-origin"]
    },
    Rule(
      code: "methodNotAllowed", message: "The page's routes do not support this method.",
      status: .methodNotAllowed
    ) {
      let allowed = $0.isOfAPI ? ["GET", "POST", "PUT", "PATCH", "DELETE"] : ["GET"]
      return !allowed.contains($0.method)
    },
    // A browser sends one of them with every write of a page.
    Rule(code: "unknownOrigin", message: "The request needs the header Origin or Sec-Fetch-Site.") {
      $0.writes && $0.field("origin") == nil && $0.field("sec-fetch-site") == nil
    },
    // Types that a form can send without a preflight request are refused.
    Rule(
      code: "unsupportedMediaType", message: "Send application/json.",
      status: .unsupportedMediaType
    ) { question in
      let hasBody =
        question.field("transfer-encoding") != nil
        || question.field("content-length").map { $0 != "0" } ?? false
      guard question.writes, hasBody else { return false }
      let type = question.fields["content-type"] ?? []
      return type.count != 1
        || type[0].prefix { $0 != ";" }.filter { !$0.isWhitespace }.lowercased()
          != "application/json"
    },
  ]

  /// The rule that a request breaks.
  static func broken(by question: Question) -> Rule? { rules.first { $0.isBroken(question) } }

  func handle(
    _ request: Request, context: Context,
    next: @concurrent (Request, Context) async throws -> Response
  ) async throws -> Response {
    let question = question(of: request)
    if let rule = WebAccessMiddleware.broken(by: question) {
      throw APIProblem(
        rule.status, code: rule.code, message: rule.message, exitCode: ExitStatus.authentication)
    }
    guard question.isOfAPI else { return try await next(request, context) }
    let path = context.endpointPath
    let route = path.flatMap { Route.named(question.method, $0) }
    guard route?.browserAccess != .keyless else { return try await next(request, context) }
    guard let browser = browser(of: question) else { throw APIProblem.webKeyUnknown }
    listener.note(context.channel, of: browser.id)
    // A path without a route is reported as unknown; a path with a route is in the table.
    guard path == nil || route.map({ $0.browserAccess != .refused }) == true else {
      throw APIProblem.notOverTheWeb
    }
    var context = context
    context.browser = browser.id
    return try await next(request, context)
  }

  private func browser(of question: Question) -> WebKeys.Browser? {
    guard let words = question.fields["authorization"], words.count == 1,
      words[0].hasPrefix("Bearer ")
    else { return nil }
    return listener.keys.browser(withKey: String(words[0].dropFirst(7)), at: now())
  }

  private func question(of request: Request) -> Question {
    Question(
      method: request.method.rawValue, path: request.uri.path, host: request.head.authority,
      fields: Dictionary(grouping: request.headers, by: { $0.name.canonicalName })
        .mapValues { $0.map(\.value) },
      origins: listener.origins)
  }
}

/// The headers of every answer of the page's listener.
struct WebHeaders: RouterMiddleware {
  typealias Context = APIHandlers.Context

  static let all: [(name: String, value: String)] = [
    (
      "Content-Security-Policy",
      "default-src 'none'; script-src 'self'; style-src 'self'; img-src 'self' data: blob:; "
        + "connect-src 'self'; manifest-src 'self'; worker-src 'self'; base-uri 'none'; "
        + "form-action 'none'; frame-ancestors 'none'; "
        // The one policy gives the address of the service worker, and nothing else.
        + "require-trusted-types-for 'script'; trusted-types cospool"
    ),
    ("X-Content-Type-Options", "nosniff"),
    ("Referrer-Policy", "no-referrer"),
    ("Cross-Origin-Opener-Policy", "same-origin"),
    ("Cross-Origin-Resource-Policy", "same-origin"),
    ("Permissions-Policy", "geolocation=(), microphone=(), payment=()"),
    ("Cache-Control", "no-store"),
    // A browser keeps connections that it may need again: a few pages would take all of them.
    ("Connection", "close"),
  ]

  func handle(
    _ request: Request, context: Context,
    next: @concurrent (Request, Context) async throws -> Response
  ) async throws -> Response {
    var response = try await next(request, context)
    for (name, value) in WebHeaders.all {
      if let name = HTTPFields.Element.Name(name) { response.headers[name] = value }
    }
    return response
  }
}

extension APIProblem {
  static let webKeyUnknown = APIProblem(
    .unauthorized, code: "webKeyUnknown",
    message:
      "This browser has no key: the key was revoked, was not used for 30 days, or was "
      + "replaced by a newer one. Run cospool web and open the link that it prints.",
    exitCode: ExitStatus.authentication)
}
