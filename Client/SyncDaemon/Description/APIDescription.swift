import Basics
import Foundation

/// The local API, described once: what is served as its OpenAPI document is also what requests are
/// checked by.
enum APIDescription {
  static let operations: [APIOperation] =
    deviceOperations + sessionOperations + messageOperations + threadOperations
    + historyOperations + settingsOperations + activityOperations + draftOperations
    + attachmentOperations + queueFileOperations + executionOperations + taskOperations
    + notificationOperations + webOperations

  private static let byRoute = Dictionary(
    operations.map { ("\($0.method) \($0.path)", $0) }
  ) { first, _ in first }

  /// The operation of a route of the router, which writes parameters as the description does.
  static func operation(method: String, routerPath: String) -> APIOperation? {
    byRoute["\(method) \(routerPath)"]
  }

  /// The methods that a path has, for answers to those it has not.
  static func methods(of path: String) -> [String] {
    operations.filter { $0.matches(path) }.map(\.method).sorted()
  }

  private static let fieldNames: [String: Set<String>] = schemas.compactMapValues { schema in
    guard case .object(let properties)? = schema["properties"] else { return nil }
    return Set(properties.keys)
  }

  /// The names that the body of an operation may have; nil where they are not known here.
  static func fieldNames(of operation: APIOperation) -> Set<String>? {
    guard case .fields(let name, _, _) = operation.body else { return nil }
    return fieldNames[name]
  }

  // MARK: - The document

  /// The OpenAPI document.
  static let document: JSONValue = [
    "openapi": "3.1.0",
    "info": [
      "title": "Cospool local API", "version": .string(DaemonOptions.version),
      "summary": "Work queues of coding agents, on this device and in sync with the others.",
      "description": .string(introduction),
      "license": ["name": "Apache 2.0", "identifier": "Apache-2.0"],
    ],
    "servers": [
      ["url": "http://localhost", "description": "Over the Unix socket DIR/cospool.sock."]
    ],
    "paths": paths,
    "components": ["schemas": .object(schemas)],
  ]

  private static let introduction = """
    Spoken over a Unix socket that only its owner may open. Fields of answers and kinds of events \
    are only ever added; a request with a field or parameter that is not described is refused. \
    Every refusal has the shape Refusal, with a stable code.
    """

  private static var paths: JSONValue {
    var paths: [String: [String: JSONValue]] = [:]
    for operation in operations {
      paths[operation.path, default: [:]][operation.method.lowercased()] = item(operation)
    }
    return .object(paths.mapValues { .object($0) })
  }

  private static func item(_ operation: APIOperation) -> JSONValue {
    var item: [String: JSONValue] = [
      "operationId": .string(operation.id), "summary": .string(operation.summary),
      "responses": responses(of: operation),
    ]
    let parameters =
      operation.pathParameters.map { parameter($0, in: "path", pathSchema($0), summary: nil) }
      + operation.parameters.map {
        parameter($0.name, in: $0.isHeader ? "header" : "query", $0.schema, summary: $0.summary)
      }
    if !parameters.isEmpty { item["parameters"] = .array(parameters) }
    if let body = operation.body { item["requestBody"] = requestBody(body) }
    return .object(item)
  }

  private static func pathSchema(_ name: String) -> JSONValue {
    switch name {
    case "session": Schema.sessionID
    case "message": Schema.messageName
    default: ["type": "string", "minLength": 1]
    }
  }

  private static func parameter(
    _ name: String, in place: String, _ schema: JSONValue, summary: String?
  ) -> JSONValue {
    var parameter: [String: JSONValue] = [
      "name": .string(name), "in": .string(place), "schema": schema,
    ]
    if place == "path" { parameter["required"] = true }
    if let summary { parameter["description"] = .string(summary) }
    return .object(parameter)
  }

  private static func requestBody(_ body: APIOperation.Body) -> JSONValue {
    switch body {
    case .fields(let name, let isRequired, _):
      [
        "required": .bool(isRequired),
        "content": ["application/json": ["schema": Schema.reference(name)]],
      ]
    case .document(let name, _):
      ["required": true, "content": ["application/json": ["schema": Schema.reference(name)]]]
    case .bytes(let mediaType, _):
      ["required": false, "content": .object([mediaType: [:]])]
    }
  }

  private static func responses(of operation: APIOperation) -> JSONValue {
    let schema: JSONValue =
      switch operation.answer {
      case .json(let name): ["application/json": ["schema": Schema.reference(name)]]
      case .events: ["text/event-stream": ["schema": Schema.text]]
      case .bytes(let mediaType): .object([mediaType: [:]])
      }
    var responses: [String: JSONValue] = [
      "\(operation.status)": ["description": "Done.", "content": schema]
    ]
    for status in operation.refusalStatuses {
      responses["\(status)"] = [
        "description": .string(refusalText(status)),
        "content": ["application/json": ["schema": Schema.reference("Refusal")]],
      ]
    }
    return .object(responses)
  }

  private static func refusalText(_ status: Int) -> String {
    switch status {
    case 400: "The request is not what the route takes."
    case 401: "The browser has no key, or the ticket is none."
    case 403: "The request does not come from the page itself."
    case 404: "There is no such thing."
    case 409: "The present state does not allow it; `current` shows that state."
    case 412: "The base is too old to edit against; `current` shows the message."
    case 413: "Too much."
    case 415: "The body is not JSON."
    case 421: "The page has another address."
    case 422: "A value cannot be used."
    case 502: "The sync server refused or cannot be reached."
    case 503: "The daemon is stopping, or has too many readers."
    case 504: "It took too long."
    case 507: "The disk is full."
    default: "The daemon failed."
    }
  }
}
