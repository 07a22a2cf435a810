/// The choices that a request for permission offers.
struct ACPOptions: Hashable, Sendable {
  /// The option that an approval of this turn chooses; nil if none is offered.
  private let allow: JSONTree?
  /// The option that a denial chooses.
  private let reject: JSONTree?
  private let isPlain: Bool

  /// nil if that is not a list.
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

  /// The input, with the option that an approval chooses if it is more than a single permission.
  func shown(in input: JSONTree) -> JSONTree {
    guard !isPlain, case .object(var members) = input else { return input }
    var free = "allowing it chooses"
    while members[free] != nil { free = "toolCall.\(free)" }
    members[free] = allow ?? "nothing: the agent offers no yes"
    return .object(members)
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
    case permission(ACPOptions)
    case form(ACPForm)
    case address
  }

  private struct Open: Sendable {
    var id: JSONTree
    var kind: Kind
    var request: ACPRequest
    var faults = 0
  }

  /// The maximum number of invalid answers to one form.
  private static let faultsMax = 3
  /// UTF-8 bytes of a question that users see in full.
  private static let questionBytesMax = 2_000
  private static let addressOptions = ["opened", "decline"]

  private var open: [String: Open] = [:]

  var count: Int { open.count }

  func isOpen(_ key: String) -> Bool { open[key] != nil }

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

  /// A question for an address; nil if it cannot be shown in full.
  static func address(_ params: JSONTree) -> ACPRequest.Matter? {
    guard let message = params["message"]?.text, let address = params["url"]?.text,
      address.utf8.allSatisfy({ $0 > 0x20 && $0 < 0x7F })
    else { return nil }
    let parts = address.split(separator: "/", maxSplits: 2, omittingEmptySubsequences: false)
    guard parts.count == 3, parts[1].isEmpty, parts[0] == "https:" || parts[0] == "http:" else {
      return nil
    }
    let authority = parts[2].prefix { !"/?#".contains($0) }
    let host = authority.split(separator: "@").last ?? ""
    let text = "\(message)\nOpen \(address)\nIts host is \(host)."
    guard !host.isEmpty, isShown(text, Array("{}".utf8)) else { return nil }
    return .address(text, options: addressOptions)
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
    case (.permission(let options), .allowed): return [close(key, options.outcome(isAllowed: true))]
    case (.permission(let options), .denied), (.permission(let options), .dismissed):
      return [close(key, options.outcome(isAllowed: false))]
    case (.address, .text(let text)):
      let isOpened = text == ACPRequests.addressOptions[0]
      return [close(key, ["action": isOpened ? "accept" : "decline"])]
    case (.form, .text(ACPForm.decline)): return [close(key, ["action": "decline"])]
    case (.form(let form), .text(let text)):
      do throws(ACPForm.Fault) {
        let content = try form.content(of: text)
        return [close(key, ["action": "accept", "content": content])]
      } catch {
        open[key]?.faults += 1
        guard asked.faults + 1 < ACPRequests.faultsMax else {
          return [close(key, ["action": "cancel"])]
        }
        return [.askAgain(asked.request, reason: error.reason)]
      }
    case (.address, _), (.form, _): return [close(key, ["action": "cancel"])]
    case (.permission(let options), .text):
      return [close(key, options.outcome(isAllowed: false))]
    }
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
      .withdraw(key: key), .send(ACPMessage.refusal(asked.id, .cancelled, "Cancelled").line),
    ]
  }

  /// The turn was cancelled.
  mutating func dismissAll() -> [ACPStep] {
    defer { open = [:] }
    return open.sorted { $0.key < $1.key }.flatMap { key, asked in
      [.withdraw(key: key), dismissed(asked.id, asked.kind)]
    }
  }

  /// The turn has ended.
  mutating func withdrawAll() -> [ACPStep] {
    defer { open = [:] }
    return open.keys.sorted().map { .withdraw(key: $0) }
  }
}
