import Basics

package struct WebRequest: APIValue {
  package static let notes = [
    "port": Note.range(0...65_535).saying("0 lets the system choose.")
  ]

  /// Where it is to listen.
  package var port: Int?

  package init(port: Int?) { self.port = port }
}

package struct WebKeyRequest: APIValue {
  package var ticket: String
  /// What people call the browser.
  package var name: String?

  package init(ticket: String, name: String? = nil) {
    self.ticket = ticket
    self.name = name
  }
}

/// Where the page is served, and the browsers that have a key.
package struct WebAnswer: APIValue {
  package struct Browser: APIValue {
    package static let notes: [String: Note] = [
      "createdAt": .time, "lastUsedAt": .time, "expiresAt": .time,
    ]

    package var id: String
    package var name: String
    package var createdAt: String
    package var lastUsedAt: String
    package var expiresAt: String
    /// Whether it is the one that asks.
    package var current: Bool?

    package init(
      id: String, name: String, createdAt: Int64, lastUsedAt: Int64, expiresAt: Int64,
      isCurrent: Bool
    ) {
      self.id = id
      self.name = name
      self.createdAt = ISOTime.text(milliseconds: createdAt)
      self.lastUsedAt = ISOTime.text(milliseconds: lastUsedAt)
      self.expiresAt = ISOTime.text(milliseconds: expiresAt)
      current = isCurrent ? true : nil
    }
  }

  package var listening: Bool
  package var address: String?
  /// Why the page is not served although it should be.
  package var problem: String?
  package var browsers: [Browser]

  package init(address: String?, problem: String?, browsers: [Browser]) {
    listening = address != nil
    self.address = address
    self.problem = problem
    self.browsers = browsers
  }
}

/// Where a browser gets its key, once.
package struct WebTicketAnswer: APIValue {
  package static let notes: [String: Note] = [
    "url": .text("With the ticket in its fragment; good for a minute."), "expiresAt": .time,
  ]

  package var address: String
  package var url: String
  package var expiresAt: String

  package init(address: String, url: String, expiresAt: Int64) {
    self.address = address
    self.url = url
    self.expiresAt = ISOTime.text(milliseconds: expiresAt)
  }
}

/// A browser's key; it is told once.
package struct WebKeyAnswer: APIValue {
  package static let notes: [String: Note] = [
    "key": .text("For `Authorization: Bearer`; told once."), "expiresAt": .time,
  ]

  package var key: String
  package var id: String
  package var name: String
  package var expiresAt: String

  package init(key: String, id: String, name: String, expiresAt: Int64) {
    self.key = key
    self.id = id
    self.name = name
    self.expiresAt = ISOTime.text(milliseconds: expiresAt)
  }
}
