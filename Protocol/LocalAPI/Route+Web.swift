import Basics

/// The page, and its access.
extension Route {
  static let webRoutes = [
    Route(
      method: "GET", path: "/v1/web", id: "readWeb",
      summary: "Shows where the page is served, and the browsers that have a key.",
      answer: .json(WebAnswer.self),
      refusals: webRefusals),
    Route(
      method: "POST", path: "/v1/web", id: "openWeb",
      summary: "Serves the page, and makes a link that gives one browser access, once.",
      body: .fields(WebRequest.self, isRequired: false), status: 201,
      answer: .json(WebTicketAnswer.self),
      refusals: webRefusals.union([409, 422])),
    Route(
      method: "DELETE", path: "/v1/web", id: "closeWeb", summary: "Stops serving the page.",
      answer: .json(WebAnswer.self), refusals: webRefusals.union([422])),
    Route(
      method: "POST", path: "/v1/web/tickets", id: "makeTicket",
      summary: "Makes a link that gives one browser of another device access, once.", status: 201,
      answer: .json(WebTicketAnswer.self),
      refusals: webRefusals.union([409])),
    Route(
      method: "POST", path: "/v1/web/keys", id: "redeemTicket",
      summary: "Gives a browser its key for a ticket.",
      body: .fields(WebKeyRequest.self, isRequired: true, bytesMax: Route.ticketBytesMax),
      status: 201,
      answer: .json(WebKeyAnswer.self),
      refusals: webRefusals),
    Route(
      method: "GET", path: "/v1/web/proof", id: "proveListener",
      summary: "Proves to a browser that it has reached this daemon, before it sends its key.",
      parameters: [
        Route.Parameter(
          name: "nonce", summary: "32 hexadecimal digits that you never used before.",
          schema: ["type": "string", "pattern": "^[0-9A-Fa-f]{32}$"])
      ],
      answer: .json(WebProofAnswer.self), refusals: webRefusals),
    Route(
      method: "PATCH", path: "/v1/web/keys/{key}", id: "renameBrowser",
      summary: "Renames a browser, by its id or name.",
      body: .fields(WebNameRequest.self, isRequired: true), answer: .json(WebAnswer.self),
      refusals: webRefusals.union([404, 409])),
    Route(
      method: "DELETE", path: "/v1/web/keys/{key}", id: "revokeBrowser",
      summary: "Revokes a browser's access, by its id or name.", answer: .json(WebAnswer.self),
      refusals: webRefusals.union([404])),
  ]

  /// On the page's listener, every route may refuse with these.
  private static let webRefusals: Set<Int> = [401, 403, 421]
}
