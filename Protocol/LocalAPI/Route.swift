package import Basics

/// One route: its request and its answer. `all` is the local API.
package struct Route: Sendable {
  package struct Parameter: Sendable {
    package var name: String
    package var summary: String
    package var schema: JSONValue = ["type": "string"]
    package var isHeader = false
  }

  /// A message of the maximum size fits even if every byte of it is escaped.
  package static let bodyBytesMax = 8 << 20
  /// A file of the maximum size fits as base64.
  package static let attachmentBodyBytesMax = 15 << 20
  /// The sender has no key yet.
  package static let ticketBytesMax = 4 << 10
  /// Documents and queue files.
  package static let documentBytesMax = 256 << 20

  package enum Body: Sendable {
    /// JSON with the fields of a request, and no others.
    case fields(any APIValue.Type, isRequired: Bool, bytesMax: Int = Route.bodyBytesMax)
    /// JSON that the library reads, of this size at most.
    case document(any APIValue.Type, bytesMax: Int)
    /// Other content, by media type.
    case bytes(mediaType: String, bytesMax: Int)
  }

  package enum Answer: Sendable {
    case json(any APIValue.Type)
    /// The text that `APIDescription` shows.
    case description
    case events
    case bytes(mediaType: String)
  }

  package var method: String
  /// As OpenAPI writes it: `/v1/messages/{message}`.
  package var path: String
  /// A name for generated client code.
  package var id: String
  package var summary: String
  package var parameters: [Parameter] = []
  package var body: Body?
  package var status = 200
  package var answer: Answer
  /// Refusals in addition to those that every route may give.
  package var refusals: Set<Int> = []

  /// `PARAMETER` for each parameter of the path.
  package var pathParameters: [String] {
    path.split(separator: "/").compactMap { part in
      part.hasPrefix("{") ? String(part.dropFirst().dropLast()) : nil
    }
  }

  package var queryNames: [String] { parameters.filter { !$0.isHeader }.map(\.name) }

  /// The statuses of all refusals. Every route may fail because of a fault of the daemon or missing
  /// access; routes with parameters refuse wrong ones, and a body adds its own.
  package var refusalStatuses: Set<Int> {
    var statuses = refusals.union([400, 401, 403, 500, 503])
    if body != nil { statuses.formUnion([413, 415]) }
    if method != "GET" { statuses.insert(507) }
    if path.contains("{session}") { statuses.insert(422) }
    if path.contains("{message}") { statuses.formUnion([404, 409]) }
    return statuses
  }

  /// Whether a path matches this template, given its parts.
  package func matches(_ path: String) -> Bool {
    let parts = path.split(separator: "/")
    let template = self.path.split(separator: "/")
    return parts.count == template.count
      && zip(parts, template).allSatisfy { $1.hasPrefix("{") || $0 == $1 }
  }

  /// All routes.
  package static let all: [Route] =
    deviceRoutes + sessionRoutes + messageRoutes + threadRoutes + historyRoutes + settingsRoutes
    + activityRoutes + draftRoutes + attachmentRoutes + queueFileRoutes + executionRoutes
    + taskRoutes + notificationRoutes + webRoutes

  private static let byPath = Dictionary(all.map { ("\($0.method) \($0.path)", $0) }) { first, _ in
    first
  }

  /// A route by its method and template; nil if there is none.
  package static func named(_ method: String, _ template: String) -> Route? {
    byPath["\(method) \(template)"]
  }

  /// The methods of a path, for answers to other methods.
  package static func methods(of path: String) -> [String] {
    all.filter { $0.matches(path) }.map(\.method).sorted()
  }
}
