import Basics

/// The address and mode of the page; omitted fields stay unchanged.
package struct WebRequest: APIValue {
  package static let notes: [String: Note] = [
    "port": .range(0...65_535).saying("0 lets the system choose."),
    "address": .text("A numeric address. Any other than 127.0.0.1 needs certificate and key."),
    "url": .text("The https address of the page for browsers on other devices."),
    "certificate": .text("Path of a PEM file."), "key": .text("Path of a PEM file."),
  ]

  package var address: String?
  package var port: Int?
  package var url: String?
  package var certificate: String?
  package var key: String?

  package init(
    address: String? = nil, port: Int? = nil, url: String? = nil, certificate: String? = nil,
    key: String? = nil
  ) {
    self.address = address
    self.port = port
    self.url = url
    self.certificate = certificate
    self.key = key
  }
}

package struct WebKeyRequest: APIValue {
  package var ticket: String
  /// The browser's name for users.
  package var name: String?

  package init(ticket: String, name: String? = nil) {
    self.ticket = ticket
    self.name = name
  }
}

package struct WebNameRequest: APIValue {
  /// The browser's name for users.
  package var name: String

  package init(name: String) {
    self.name = name
  }
}

/// The address of the page, and the browsers that have a key.
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
    /// Whether it is the browser that sent the request.
    package var current: Bool?
    /// The browser that let it in, if there is one; revoking that one also revokes it.
    package var letInBy: String?

    package init(
      id: String, name: String, createdAt: Int64, lastUsedAt: Int64, expiresAt: Int64,
      isCurrent: Bool, letInBy: String?
    ) {
      self.id = id
      self.name = name
      self.createdAt = ISOTime.text(milliseconds: createdAt)
      self.lastUsedAt = ISOTime.text(milliseconds: lastUsedAt)
      self.expiresAt = ISOTime.text(milliseconds: expiresAt)
      current = isCurrent ? true : nil
      self.letInBy = letInBy
    }
  }

  /// A pairing code that a revoked browser made; the device that joined with it stays.
  package struct Code: APIValue {
    package static let notes: [String: Note] = ["createdAt": .time]

    package var role: String
    package var createdAt: String

    package init(role: String, createdAt: Int64) {
      self.role = role
      self.createdAt = ISOTime.text(milliseconds: createdAt)
    }
  }

  package var listening: Bool
  package var address: String?
  /// The address for browsers of other devices; absent if the page is only for this machine.
  package var elsewhere: String?
  /// Why the page is not served although it should be.
  package var problem: String?
  package var browsers: [Browser]
  /// After a revocation: the pairing codes made by the browser and by those that it let in.
  package var codes: [Code]?

  package init(address: String?, elsewhere: String?, problem: String?, browsers: [Browser]) {
    listening = address != nil
    self.address = address
    self.elsewhere = elsewhere
    self.problem = problem
    self.browsers = browsers
  }
}

/// The address at which a browser gets its key, once.
package struct WebTicketAnswer: APIValue {
  package static let notes: [String: Note] = [
    "url": .text("The link, with the ticket in its fragment; valid for a minute."),
    "expiresAt": .time,
    "elsewhere": .text("The same for other devices, if they can reach the page."),
    "code": .text("A QR code of that link as rows, with 1 for dark."),
  ]

  package var address: String
  package var url: String
  package var elsewhere: String?
  package var code: [String]?
  package var expiresAt: String

  package init(
    address: String, url: String, elsewhere: String?, code: [String]?, expiresAt: Int64
  ) {
    self.address = address
    self.url = url
    self.elsewhere = elsewhere
    self.code = code
    self.expiresAt = ISOTime.text(milliseconds: expiresAt)
  }
}

/// A browser's key; it is shown once.
package struct WebKeyAnswer: APIValue {
  package static let notes: [String: Note] = [
    "key": .text("For `Authorization: Bearer`; sent only once."), "expiresAt": .time,
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

/// Proofs that only a program with the list of browsers can compute: one for each browser, in no
/// meaningful order.
package struct WebProofAnswer: APIValue {
  package static let notes: [String: Note] = [
    "proofs": .text(
      "HMAC-SHA-256 of the nonce's digits, keyed with the SHA-256 of a key in hexadecimal.")
  ]

  package var proofs: [String]

  package init(proofs: [String]) { self.proofs = proofs }
}
