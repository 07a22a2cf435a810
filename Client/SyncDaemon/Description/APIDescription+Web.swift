import Basics
import LocalAPI

/// The page, and who may use it.
extension APIDescription {
  static let webOperations = [
    APIOperation(
      method: "GET", path: "/v1/web", id: "readWeb",
      summary: "Where the page is served, and the browsers that have a key.", answer: .json("Web"),
      refusals: webRefusals),
    APIOperation(
      method: "POST", path: "/v1/web", id: "openWeb",
      summary: "Serves the page on this machine, and makes a link that lets one browser in, once.",
      body: .fields("WebRequest", isRequired: false), status: 201, answer: .json("WebTicket"),
      refusals: webRefusals.union([409, 422])),
    APIOperation(
      method: "DELETE", path: "/v1/web", id: "closeWeb", summary: "Serves it no more.",
      answer: .json("Web"), refusals: webRefusals.union([422])),
    APIOperation(
      method: "POST", path: "/v1/web/keys", id: "redeemTicket",
      summary: "Gives a browser its key for a ticket.",
      body: .fields("WebKeyRequest", isRequired: true), status: 201, answer: .json("WebKey"),
      refusals: webRefusals),
    APIOperation(
      method: "DELETE", path: "/v1/web/keys/{key}", id: "revokeBrowser",
      summary: "Lets a browser in no more, by its id or name.", answer: .json("Web"),
      refusals: webRefusals.union([404])),
  ]

  /// Over the page's listener every route may refuse with these.
  private static let webRefusals: Set<Int> = [401, 403, 421]

  static let webSchemas: [String: JSONValue] = [
    "WebRequest": Schema.body(
      [:],
      optional: [
        "port": Schema.described(
          ["type": "integer", "minimum": 0, "maximum": 65_535], "0 lets the system choose.")
      ]),
    "WebKeyRequest": Schema.body(["ticket": Schema.text], optional: ["name": Schema.text]),
    "Web": Schema.object(
      [
        "listening": Schema.flag,
        "browsers": Schema.list(
          Schema.object(
            [
              "id": Schema.text, "name": Schema.text, "createdAt": Schema.time,
              "lastUsedAt": Schema.time, "expiresAt": Schema.time,
            ], optional: ["current": Schema.flag])),
      ], optional: ["address": Schema.text, "problem": Schema.text]),
    "WebTicket": Schema.object([
      "address": Schema.text,
      "url": Schema.described(Schema.text, "With the ticket in its fragment; good for a minute."),
      "expiresAt": Schema.time,
    ]),
    "WebKey": Schema.object([
      "key": Schema.described(Schema.text, "For `Authorization: Bearer`; told once."),
      "id": Schema.text, "name": Schema.text, "expiresAt": Schema.time,
    ]),
  ]
}
