/// The choices that a request for permission offers.
struct ACPOptions: Hashable, Sendable {
  /// The option that an approval of this turn chooses; nil if none is offered.
  private let allow: JSONTree?
  /// The option that a denial chooses.
  private let reject: JSONTree?
  private let isPlain: Bool

  /// Returns nil if the JSON is not a list.
  init?(_ options: JSONTree?) {
    guard case .array(let options) = options else { return nil }
    func first(_ kinds: String...) -> JSONTree? {
      kinds.lazy.compactMap { kind in
        options.first { $0["kind"]?.text == kind && $0["optionId"]?.text != nil }
      }.first
    }
    allow = first("allow_once", "allow_always")
    reject = first("reject_once", "reject_always")
    isPlain =
      allow?["kind"]?.text == "allow_once"
      && options.count { $0["kind"]?.text == "allow_once" } == 1
  }

  var offersYes: Bool { allow != nil }

  /// The request as users see it.
  func matter(of wanted: ACPToolCalls.Wanted) -> ACPRequest.Matter {
    .permission(tool: wanted.tool, input: shown(in: wanted.input), choice: choice)
  }

  /// The input. If an approval is more than a single permission, its option is included.
  private func shown(in input: JSONTree) -> JSONTree {
    guard !isPlain, let allow, case .object(var members) = input else { return input }
    var free = "allowing it chooses"
    while members[free] != nil { free = "toolCall.\(free)" }
    members[free] = allow
    return .object(members)
  }

  /// UTF-8 bytes of an option's name that are shown before its effect.
  private static let nameBytesMax = 60

  /// The effect of an approval in words, if it is more than a single permission. The agent chooses
  /// the name, so the kind comes first.
  private var choice: String? {
    guard !isPlain, let allow else { return nil }
    let kind = allow["kind"]?.text == "allow_always" ? "Always" : "Once"
    let words = (allow["name"]?.text ?? "").split(whereSeparator: \.isWhitespace)
    let name = JSONTree.escaped(words.joined(separator: " "), JSONTree.isUnseen)
    guard !name.isEmpty, name != kind else { return kind }
    let cut = name.cut(to: ACPOptions.nameBytesMax)
    return "\(kind) (\(cut)\(cut == name ? "" : "…"))"
  }

  /// The result for a decision.
  func outcome(isAllowed: Bool) -> JSONTree {
    guard let id = (isAllowed ? allow : reject)?["optionId"] else { return ACPOptions.cancelled }
    return ["outcome": ["outcome": "selected", "optionId": id]]
  }

  static let cancelled: JSONTree = ["outcome": ["outcome": "cancelled"]]
}

/// The agent's requests that wait for users.
struct ACPRequests: Sendable {
  enum Kind: Hashable, Sendable {
    /// - Parameter call: the call as the user sees it; nil for a request that no user sees.
    case permission(ACPOptions, ACPToolCalls.Shown?)
    case form(ACPForm)
    case address
  }

  private struct Open: Sendable {
    var id: JSONTree
    var kind: Kind
    var request: ACPRequest
    var faults = 0
    /// The number of times that another tool call replaced its own.
    var changes = 0
  }

  /// The maximum number of invalid answers to one form.
  private static let faultsMax = 3
  /// The number of changes to a tool call that users are asked about; further changes are denied.
  private static let changesMax = 3
  /// UTF-8 bytes of a question that users see in full.
  private static let questionBytesMax = 2_000
  private static let addressOptions = ["opened", "decline"]
  /// Characters of an address besides letters and digits (RFC 3986). Browsers read some others as
  /// these, such as `\` as `/`.
  private static let addressCharacters = Set("-._~:/?#[]@!$&'()*+,;=%".utf8)

  private var open: [String: Open] = [:]

  var count: Int { open.count }

  func isOpen(_ key: String) -> Bool { open[key] != nil }

  /// The key of the open request that users know by this name; nil if there is none.
  ///
  /// - Complexity: O(open requests).
  func key(ofAsked name: String) -> String? {
    open.first { $0.value.request.key == name }?.key
  }

  /// The name of a request; nil if the id is not valid.
  static func key(_ id: JSONTree) -> String? {
    switch id {
    case .string, .number, .whole: break
    case .null, .boolean, .array, .object: return nil
    }
    let line = id.line
    return line.utf8.count <= ACPMessage.idBytesMax ? line : nil
  }

  /// Whether a question can be shown to users in full.
  static func isShown(_ text: String, _ line: [UInt8]) -> Bool {
    text.utf8.count <= questionBytesMax && JSONTree(line, isShown: true) != nil
      && !text.unicodeScalars.contains(where: JSONTree.isUnseen)
  }

  /// A question for an address; nil if it cannot be shown in full, or if a browser may read a
  /// different host in it than a user.
  static func address(_ params: JSONTree) -> ACPRequest.Matter? {
    guard let message = params["message"]?.text, let address = params["url"]?.text,
      address.utf8.allSatisfy({ isPlain($0) || addressCharacters.contains($0) })
    else { return nil }
    let parts = address.split(separator: "/", maxSplits: 2, omittingEmptySubsequences: false)
    guard parts.count == 3, parts[1].isEmpty, parts[0] == "https:" || parts[0] == "http:" else {
      return nil
    }
    let host = parts[2].prefix { !"/?#".contains($0) }
    let text = "\(message)\nOpen \(address)\nIts host is \(host)."
    guard isHost(host), isShown(text, Array("{}".utf8)) else { return nil }
    return .address(text, options: addressOptions)
  }

  private static func isPlain(_ byte: UInt8) -> Bool {
    switch byte {
    case UInt8(ascii: "a")...UInt8(ascii: "z"), UInt8(ascii: "A")...UInt8(ascii: "Z"),
      UInt8(ascii: "0")...UInt8(ascii: "9"):
      true
    default: false
    }
  }

  /// A name or number with or without a port: no user's name before it, and nothing that a browser
  /// decodes.
  private static func isHost(_ text: Substring) -> Bool {
    var name = text
    var port: Substring?
    // The colons of an IPv6 address are in brackets.
    if let colon = text.lastIndex(of: ":"), !text.hasSuffix("]") {
      name = text[..<colon]
      port = text[text.index(after: colon)...]
    }
    let isNumber = name.hasPrefix("[") && name.hasSuffix("]")
    let allowed = Set((isNumber ? ":." : "-._").utf8)
    if isNumber { name = name.dropFirst().dropLast() }
    return !name.isEmpty && name.utf8.allSatisfy { isPlain($0) || allowed.contains($0) }
      && port?.isEmpty != true && port?.allSatisfy { $0.isASCII && $0.isNumber } != false
  }

  mutating func opened(
    _ key: String, _ id: JSONTree, _ kind: Kind, _ matter: ACPRequest.Matter
  ) -> ACPStep {
    let request = ACPRequest(key: key, matter: matter)
    open[key] = Open(id: id, kind: kind, request: request)
    return .ask(request)
  }

  mutating func answered(_ key: String, _ answer: ACPAnswer) -> [ACPStep] {
    guard let asked = open[key] else { return [] }
    switch (asked.kind, answer) {
    case (.permission(let options, _), _):
      return [close(key, options.outcome(isAllowed: answer == .allowed))]
    case (.address, .text(let text)):
      switch text.split(whereSeparator: \.isWhitespace).joined(separator: " ").lowercased() {
      case ACPRequests.addressOptions[0]: return [close(key, ["action": "accept"])]
      case ACPRequests.addressOptions[1], ACPForm.decline:
        return [close(key, ["action": "decline"])]
      default: return again(key, asked, "Answer \"opened\" or \"decline\".")
      }
    case (.form, .text(ACPForm.decline)): return [close(key, ["action": "decline"])]
    case (.form(let form), .text(let text)):
      do throws(ACPForm.Fault) {
        let content = try form.content(of: text)
        return [close(key, ["action": "accept", "content": content])]
      } catch {
        return again(key, asked, error.reason)
      }
    case (.address, _), (.form, _): return [close(key, ["action": "cancel"])]
    }
  }

  /// An answer was invalid.
  private mutating func again(_ key: String, _ asked: Open, _ reason: String) -> [ACPStep] {
    open[key]?.faults += 1
    guard asked.faults + 1 < ACPRequests.faultsMax else {
      return [close(key, ["action": "cancel"])]
    }
    return [.askAgain(asked.request, reason: reason)]
  }

  /// Asks again for permissions whose tool call changed: an approval is for the shown call.
  ///
  /// - Parameter line: the line that the update came in.
  /// - Returns: the steps, and the keys of the denied permissions.
  mutating func changed(
    by update: JSONTree, in line: [UInt8]
  ) -> (steps: [ACPStep], denied: [String]) {
    var steps: [ACPStep] = []
    var denied: [String] = []
    for (key, asked) in open.sorted(by: { $0.key < $1.key }) {
      guard case .permission(let options, let call?) = asked.kind else { continue }
      let change = call.change(by: update, in: line)
      guard change != .none else { continue }
      steps.append(.withdraw(key: asked.request.key))
      guard case .other(let wanted) = change, asked.changes < ACPRequests.changesMax else {
        steps.append(close(key, options.outcome(isAllowed: false)))
        denied.append(key)
        continue
      }
      // An answer that is on its way applies to the request with the earlier name.
      let changes = asked.changes + 1
      let request = ACPRequest(key: "\(key)#\(changes + 1)", matter: options.matter(of: wanted))
      open[key] = Open(
        id: asked.id, kind: .permission(options, wanted.call), request: request, changes: changes)
      steps.append(.ask(request))
    }
    return (steps, denied)
  }

  private mutating func close(_ key: String, _ result: JSONTree) -> ACPStep {
    let id = open.removeValue(forKey: key)?.id ?? .null
    return .send(ACPMessage.response(id: id, result: result, error: nil).line)
  }

  /// The answer to a request that no user sees.
  func answer(_ id: JSONTree, _ options: ACPOptions, isAllowed: Bool) -> ACPStep {
    let result = options.outcome(isAllowed: isAllowed)
    return .send(ACPMessage.response(id: id, result: result, error: nil).line)
  }

  func dismissed(_ id: JSONTree, _ kind: Kind) -> ACPStep {
    .send(ACPMessage.response(id: id, result: Self.dismissal(of: kind), error: nil).line)
  }

  private static func dismissal(of kind: Kind) -> JSONTree {
    switch kind {
    case .permission: ACPOptions.cancelled
    case .form, .address: ["action": "cancel"]
    }
  }

  /// The agent no longer wants an answer.
  mutating func withdrawn(_ key: String) -> [ACPStep] {
    guard let asked = open.removeValue(forKey: key) else { return [] }
    return [
      .withdraw(key: asked.request.key),
      .send(ACPMessage.refusal(asked.id, .cancelled, "Cancelled").line),
    ]
  }

  /// The turn was cancelled.
  mutating func dismissAll() -> [ACPStep] {
    defer { open = [:] }
    return open.sorted { $0.key < $1.key }.flatMap { key, asked in
      [.withdraw(key: asked.request.key), dismissed(asked.id, asked.kind)]
    }
  }

  /// The turn has ended.
  mutating func withdrawAll() -> [ACPStep] {
    defer { open = [:] }
    return open.values.map(\.request.key).sorted().map { .withdraw(key: $0) }
  }
}
