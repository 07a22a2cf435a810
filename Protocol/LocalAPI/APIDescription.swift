package import Basics

/// The OpenAPI document, derived from the table of routes and the types that it names.
package enum APIDescription {
  package static let document: JSONValue = {
    let catalog = SchemaCatalog()
    _ = catalog.schema(of: RefusalAnswer.self)
    let paths = APIDescription.paths(catalog)
    return [
      "openapi": "3.1.0",
      "info": [
        "title": "Cospool local API", "version": .string(Version.number),
        "summary": "Work queues of coding agents on this device, in sync with your other devices.",
        "description": .string(introduction),
        "license": ["name": "Apache 2.0", "identifier": "Apache-2.0"],
      ],
      "servers": [
        ["url": "http://localhost", "description": "Over the Unix socket DIR/cospool.sock."]
      ],
      "paths": paths,
      "components": ["schemas": .object(catalog.components)],
    ]
  }()

  private static let introduction = """
    The API uses a Unix socket that only its owner can open. New versions add fields of answers and \
    kinds of events, and remove none. The daemon refuses a request with a field or parameter that \
    is not described here. Every error has the shape Refusal, with a stable code.
    """

  private static func paths(_ catalog: SchemaCatalog) -> JSONValue {
    var paths: [String: [String: JSONValue]] = [:]
    for route in Route.all {
      paths[route.path, default: [:]][route.method.lowercased()] = item(route, catalog)
    }
    return .object(paths.mapValues { .object($0) })
  }

  private static func item(_ route: Route, _ catalog: SchemaCatalog) -> JSONValue {
    var item: [String: JSONValue] = [
      "operationId": .string(route.id), "summary": .string(route.summary),
      "responses": responses(of: route, catalog),
    ]
    let parameters =
      route.pathParameters.map { parameter($0, in: "path", pathSchema($0), summary: nil) }
      + route.parameters.map {
        parameter($0.name, in: $0.isHeader ? "header" : "query", $0.schema, summary: $0.summary)
      }
    if !parameters.isEmpty { item["parameters"] = .array(parameters) }
    if let body = route.body { item["requestBody"] = requestBody(body, catalog) }
    return .object(item)
  }

  private static func pathSchema(_ name: String) -> JSONValue {
    switch name {
    case "session": Note.sessionID.schema
    case "message": Note.messageName.schema
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

  private static func requestBody(_ body: Route.Body, _ catalog: SchemaCatalog) -> JSONValue {
    switch body {
    case .fields(let type, let isRequired, _):
      [
        "required": .bool(isRequired),
        "content": ["application/json": ["schema": catalog.schema(of: type)]],
      ]
    case .document(let type, _):
      ["required": true, "content": ["application/json": ["schema": catalog.document(type)]]]
    case .bytes(let mediaType, _):
      ["required": false, "content": .object([mediaType: [:]])]
    }
  }

  private static func responses(of route: Route, _ catalog: SchemaCatalog) -> JSONValue {
    let schema: JSONValue =
      switch route.answer {
      case .json(let type): ["application/json": ["schema": catalog.schema(of: type)]]
      case .description: ["application/json": ["schema": ["type": "object"]]]
      case .events: ["text/event-stream": ["schema": ["type": "string"]]]
      case .bytes(let mediaType): .object([mediaType: [:]])
      }
    var responses: [String: JSONValue] = [
      "\(route.status)": ["description": "Done.", "content": schema]
    ]
    for status in route.refusalStatuses {
      responses["\(status)"] = [
        "description": .string(refusalText(status)),
        "content": ["application/json": ["schema": catalog.schema(of: RefusalAnswer.self)]],
      ]
    }
    return .object(responses)
  }

  private static func refusalText(_ status: Int) -> String {
    switch status {
    case 400: "The request does not match the description of the route."
    case 401: "The browser has no valid key, or the ticket is not valid."
    case 403:
      "The request does not come from the page itself, or the server lets this device change nothing."
    case 404: "What the request names does not exist."
    case 409: "The current state does not allow the request; `current` shows that state."
    case 412: "The base is too old to edit against; `current` shows the message."
    case 413: "The request exceeds a limit."
    case 415: "The body is not JSON."
    case 421: "The page has a different address."
    case 422: "A value cannot be used."
    case 502: "The sync server refused the request or cannot be reached."
    case 503: "The daemon is stopping, or has too many readers."
    case 504: "The request took too long."
    case 507: "The disk is full."
    default: "The daemon failed."
    }
  }
}
