import Basics

/// One route as the description has it: what it takes and answers.
struct APIOperation: Sendable {
  struct Parameter: Sendable {
    var name: String
    var summary: String
    var schema: JSONValue = Schema.text
    var isHeader = false
  }

  enum Body: Sendable {
    /// JSON with the fields of a schema, and no others.
    case fields(String, isRequired: Bool, bytesMax: Int = APIHandlers.bodyBytesMax)
    /// JSON that the library reads, of this size at most.
    case document(String, bytesMax: Int)
    /// Something else, by media type.
    case bytes(mediaType: String, bytesMax: Int)
  }

  enum Answer: Sendable {
    case json(String)
    case events
    case bytes(mediaType: String)
  }

  var method: String
  /// As OpenAPI writes it: `/v1/messages/{message}`.
  var path: String
  /// A name for programs that are made from the description.
  var id: String
  var summary: String
  var parameters: [Parameter] = []
  var body: Body?
  var status = 200
  var answer: Answer
  /// Refusals besides those that every route may give.
  var refusals: Set<Int> = []

  /// `PARAMETER` for each one in the path.
  var pathParameters: [String] {
    path.split(separator: "/").compactMap { part in
      part.hasPrefix("{") ? String(part.dropFirst().dropLast()) : nil
    }
  }

  var queryNames: [String] { parameters.filter { !$0.isHeader }.map(\.name) }

  /// The statuses of all refusals: the daemon's trouble may meet any route, a wrong parameter those
  /// that take some, and a body brings its own.
  var refusalStatuses: Set<Int> {
    var statuses = refusals.union([400, 500, 503])
    if body != nil { statuses.formUnion([413, 415]) }
    if method != "GET" { statuses.insert(507) }
    if path.contains("{session}") { statuses.insert(422) }
    if path.contains("{message}") { statuses.formUnion([404, 409]) }
    return statuses
  }

  /// Whether a path is one of this template's, by its parts.
  func matches(_ path: String) -> Bool {
    let parts = path.split(separator: "/")
    let template = self.path.split(separator: "/")
    return parts.count == template.count
      && zip(parts, template).allSatisfy { $1.hasPrefix("{") || $0 == $1 }
  }
}
