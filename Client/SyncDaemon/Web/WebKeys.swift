import Basics
import Crypto
import Foundation
import Hummingbird
import LocalAPI
import Synchronization
import SystemPackage

/// Access to the page: one-time tickets, and the keys that browsers got for them.
///
/// A ticket exists only in memory. Only the hash of a key is kept, in `browsers.json` in the data
/// directory; the key itself is in the browser's storage.
final class WebKeys: Sendable {
  static let fileName = "browsers.json"
  static let ticketsMax = 5
  static let browsersMax = 20
  static let ticketMilliseconds: Int64 = 60_000
  /// A browser that was not used for this time needs a new ticket.
  static let keyMilliseconds: Int64 = 30 * 86_400_000
  /// The minimum time between two writes of the last use.
  static let usePrecision: Int64 = 3_600_000
  static let nameBytesMax = 64
  /// The maximum number of pairing codes that are recorded for one browser.
  static let codesMax = 50

  /// One browser's entry.
  struct Browser: Codable, Equatable, Sendable {
    /// Eight hexadecimal digits.
    var id: String
    var name: String
    /// SHA-256 of the key, hexadecimal.
    var hash: String
    var createdAt: Int64
    var lastUsedAt: Int64
    /// The browser that added it; nil if the command line did. Its access ends with that browser's.
    var by: String?
    /// The latest pairing codes that it made; nil if it made none.
    var codes: [Code]?

    var expiresAt: Int64 { lastUsedAt + WebKeys.keyMilliseconds }
  }

  /// A pairing code. A device that was paired with it stays when the browser is revoked.
  struct Code: Codable, Equatable, Sendable {
    var role: String
    var createdAt: Int64
  }

  private struct Content {
    var browsers: [Browser] = []
    /// When each ticket ends, and which browser requested it, by the ticket's hash.
    var tickets: [(hash: String, end: Int64, by: String?)] = []
  }

  private let file: URL
  private let content: Mutex<Content>

  /// Reads the file; if it cannot be read, no browser has access.
  init(dataDirectory: String) {
    file = URL(filePath: dataDirectory).appending(path: WebKeys.fileName)
    let browsers = (try? Data(contentsOf: file)).flatMap {
      try? JSONDecoder().decode([Browser].self, from: $0)
    }
    content = Mutex(Content(browsers: browsers ?? []))
  }

  /// A new ticket; if there are too many, the oldest one ends.
  ///
  /// - Parameter browser: the browser that requests it, if any.
  func makeTicket(by browser: String? = nil, at now: Int64) -> (ticket: String, end: Int64) {
    let ticket = WebKeys.random(bytes: 16)
    let end = now + WebKeys.ticketMilliseconds
    content.withLock { content in
      content.tickets.removeAll { $0.end <= now }
      if content.tickets.count >= WebKeys.ticketsMax { content.tickets.removeFirst() }
      content.tickets.append((WebKeys.hash(of: ticket), end, browser))
    }
    return (ticket, end)
  }

  /// Gives a key for a ticket, once; nil if the ticket is unknown, was used, or is too old.
  ///
  /// If there are too many browsers, the one that was unused the longest is removed.
  ///
  /// - Returns: `gone`: the ids of the browsers whose keys are no longer valid.
  func redeem(
    _ ticket: String, name: String, at now: Int64
  ) throws -> (key: String, browser: Browser, gone: [String])? {
    let hash = WebKeys.hash(of: ticket)
    let key = WebKeys.random(bytes: 32)
    return try content.withLock { content in
      guard let index = content.tickets.firstIndex(where: { $0.hash == hash }) else { return nil }
      let (_, end, by) = content.tickets.remove(at: index)
      guard end > now else { return nil }
      var browsers = content.browsers.filter { $0.expiresAt > now }
      browsers.sort { ($0.lastUsedAt, $0.id) < ($1.lastUsedAt, $1.id) }
      browsers.removeFirst(max(0, browsers.count - WebKeys.browsersMax + 1))
      let browser = Browser(
        id: Hex.text(WebKeys.randomBytes(4)), name: WebKeys.free(name, among: browsers),
        hash: WebKeys.hash(of: key), createdAt: now, lastUsedAt: now, by: by)
      try write(browsers + [browser])
      let gone = Set(content.browsers.map(\.id)).subtracting(browsers.map(\.id))
      content.browsers = browsers + [browser]
      return (key, browser, gone.sorted())
    }
  }

  /// The browser that a key belongs to; nil if it is unknown, revoked, or too old.
  func browser(withKey key: String, at now: Int64) -> Browser? {
    let hash = WebKeys.hash(of: key)
    return content.withLock { content in
      guard
        let index = content.browsers.firstIndex(where: { $0.hash == hash && $0.expiresAt > now })
      else { return nil }
      if now - content.browsers[index].lastUsedAt >= WebKeys.usePrecision {
        content.browsers[index].lastUsedAt = now
        // A failed write is repeated the next time; the key is valid without it.
        try? write(content.browsers)
      }
      return content.browsers[index]
    }
  }

  /// The proof to each browser that the daemon listens that gave it access: only that daemon has
  /// the hash of its key. The proofs do not reveal the key.
  func proofs(for nonce: String, at now: Int64) -> [String] {
    list(at: now).map { browser in
      let key = SymmetricKey(data: Data(browser.hash.utf8))
      return Hex.text(HMAC<SHA256>.authenticationCode(for: Data(nonce.utf8), using: key))
    }.sorted()
  }

  /// The browsers with access, the most recently used first.
  func list(at now: Int64) -> [Browser] {
    content.withLock { content in
      content.browsers.filter { $0.expiresAt > now }
        .sorted { ($1.lastUsedAt, $1.id) < ($0.lastUsedAt, $0.id) }
    }
  }

  /// Records that a browser made a pairing code; if there are too many, the oldest is forgotten.
  func noteCode(role: String, by browser: String, at now: Int64) throws {
    try content.withLock { content in
      var browsers = content.browsers
      guard let index = browsers.firstIndex(where: { $0.id == browser }) else { return }
      let codes = (browsers[index].codes ?? []) + [Code(role: role, createdAt: now)]
      browsers[index].codes = codes.suffix(WebKeys.codesMax)
      try write(browsers)
      content.browsers = browsers
    }
  }

  /// Renames a browser, by its id or name.
  ///
  /// - Throws: `APIProblem` if the name is blank, too long, has control characters, or is another
  ///   browser's: names show who it is.
  /// - Returns: whether there is such a browser.
  func setName(_ name: String, of named: String) throws -> Bool {
    try content.withLock { content in
      var browsers = content.browsers
      guard let index = WebKeys.index(of: named, in: browsers) else { return false }
      let others = browsers.filter { $0.id != browsers[index].id }
      guard !others.contains(where: { $0.name == name || $0.id == name }) else {
        throw APIProblem(
          .conflict, code: "nameTaken",
          message: "Another browser is called \"\(name)\". Choose another name.",
          exitCode: ExitStatus.conflict)
      }
      guard WebKeys.free(name, among: []) == name else {
        throw APIProblem.badRequest(
          "A browser's name has 1 to \(WebKeys.nameBytesMax) bytes, and no control characters.")
      }
      browsers[index].name = name
      try write(browsers)
      content.browsers = browsers
      return true
    }
  }

  /// Revokes a browser's access, by its id or name, and that of all browsers that it added.
  ///
  /// - Returns: their ids, its own first; empty if there is no such browser; and the pairing codes
  ///   that they made.
  func revoke(_ named: String) throws -> (browsers: [String], codes: [Code]) {
    try content.withLock { content in
      let browsers = content.browsers
      guard let index = WebKeys.index(of: named, in: browsers) else { return ([], []) }
      var ids = [browsers[index].id]
      // The list also includes the browsers that its later members added.
      var asked = 0
      while asked < ids.count {
        let more = content.browsers.filter { $0.by == ids[asked] && !ids.contains($0.id) }
        ids += more.map(\.id)
        asked += 1
      }
      let rest = content.browsers.filter { !ids.contains($0.id) }
      try write(rest)
      content.browsers = rest
      content.tickets.removeAll { ticket in ticket.by.map { ids.contains($0) } ?? false }
      return (ids, browsers.filter { ids.contains($0.id) }.flatMap { $0.codes ?? [] })
    }
  }

  /// A browser by its id, or else by its name; nil if there is none.
  private static func index(of named: String, in browsers: [Browser]) -> Int? {
    browsers.firstIndex { $0.id == named } ?? browsers.firstIndex { $0.name == named }
  }

  private func write(_ browsers: [Browser]) throws {
    let path = FilePath(file.path(percentEncoded: false))
    let part = FilePath("\(path).part")
    do {
      let data = try CanonicalJSON.data(browsers)
      unlink(part.string)
      // Private from its first moment, whatever file was there before.
      let descriptor = try FileDescriptor.open(
        part, .writeOnly, options: [.create, .exclusiveCreate, .closeOnExec],
        permissions: [.ownerReadWrite])
      _ = try descriptor.closeAfter { try descriptor.writeAll(data) }
      guard rename(part.string, path.string) == 0 else { throw CocoaError(.fileWriteUnknown) }
    } catch {
      throw APIProblem(
        .internalServerError, code: "storage",
        message: "\(file.path(percentEncoded: false)) cannot be written. Free space on the disk "
          + "and try again.", exitCode: ExitStatus.disk)
    }
  }

  /// The name without control characters, with a number if another browser has it.
  private static func free(_ name: String, among browsers: [Browser]) -> String {
    var plain = String(
      String.UnicodeScalarView(
        name.unicodeScalars.filter { $0.properties.generalCategory != .control }))
    while plain.utf8.count > nameBytesMax { plain.removeLast() }
    if plain.allSatisfy(\.isWhitespace) { plain = "browser" }
    let names = Set(browsers.map(\.name))
    guard names.contains(plain) else { return plain }
    // There are as many names as there may be browsers, so one of them is free.
    return (2...browsersMax + 1).lazy.map { "\(plain) \($0)" }.first { !names.contains($0) }
      ?? plain
  }

  static func hash(of secret: String) -> String {
    Hex.text(SHA256.hash(data: Data(secret.utf8)))
  }

  private static func randomBytes(_ count: Int) -> [UInt8] {
    var generator = SystemRandomNumberGenerator()
    return (0..<count).map { _ in UInt8.random(in: .min ... .max, using: &generator) }
  }

  /// As base64 with the letters that a URL allows.
  private static func random(bytes count: Int) -> String {
    Data(randomBytes(count)).base64EncodedString()
      .replacing("+", with: "-").replacing("/", with: "_").replacing("=", with: "")
  }
}
