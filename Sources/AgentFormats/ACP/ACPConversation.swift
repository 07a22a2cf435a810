/// One turn of an agent that speaks the Agent Client Protocol, version 1, over its standard input
/// and output (agentclientprotocol.com): the steps for every line that the agent writes.
///
/// | state | sent | leaves it |
/// |---|---|---|
/// | opening | `initialize`; `session/new`, `session/resume` or `session/load` | the session's id |
/// | prompting | `session/prompt` | its answer, with a stop reason |
/// | over | nothing | – |
///
/// Only the answer to `session/prompt` ends a turn with success. Nothing that the agent writes can
/// trap, and memory is bounded by `AgentLimits` and the limits here.
package struct ACPConversation: Sendable {
  enum Phase: Hashable, Sendable {
    case initializing
    /// - Parameter loaded: the id of the conversation that is continued.
    case opening(loaded: String?)
    case prompting(session: String)
    case over
  }

  /// The version of the protocol.
  package static let version: Int64 = 1
  /// The maximum number of open requests of the agent.
  static let requestsMax = 64

  let turn: ACPTurn
  var phase = Phase.initializing
  var updates = ACPUpdates()
  var requests = ACPRequests()
  private var lines = LineSplitter(bytesMax: AgentLimits.lineBytesMax)
  private var isCancelled = false
  /// Whether the stop of the turn answered a request of the agent.
  private var didDismiss = false
  private var takesPictures = false

  package init(_ turn: ACPTurn) { self.turn = turn }

  /// The ids of this side's requests.
  private enum Own {
    static let initialize: Int64 = 1
    static let session: Int64 = 2
    static let prompt: Int64 = 3
  }

  private static func request(_ id: Int64, _ method: String, _ params: JSONTree) -> String {
    ACPMessage.request(id: .whole(id), method: method, params: params).line
  }

  /// Begins the turn.
  package func began() -> [ACPStep] {
    let params: JSONTree = [
      "protocolVersion": .whole(ACPConversation.version),
      "clientCapabilities": [
        "fs": ["readTextFile": false, "writeTextFile": false], "terminal": false,
        "elicitation": ["form": [:], "url": [:]],
      ],
      "clientInfo": ["name": "cospool", "title": "Cospool", "version": "0.1.0"],
    ]
    return [.send(Self.request(Own.initialize, "initialize", params))]
  }

  /// Reads the agent's output.
  package mutating func received(_ bytes: some Sequence<UInt8>) -> [ACPStep] {
    let dropped = lines.droppedCount
    var steps = lines.received(bytes).flatMap { line($0) }
    if lines.droppedCount > dropped {
      steps += problem("The agent wrote a line that is too long.")
    }
    return steps
  }

  /// The agent's output is complete.
  ///
  /// - Parameter end: how its process ended, for users.
  package mutating func closed(_ end: String) -> [ACPStep] {
    let steps = lines.ended().flatMap { line($0) }
    switch phase {
    case .initializing, .opening:
      return steps + over(.notSent("The agent ended before it took the prompt (\(end))."))
    case .prompting:
      return steps
        + over(.died("The agent ended before its turn was complete (\(end))."))
    case .over: return steps
    }
  }

  /// The turn must stop. Its end follows if the agent obeys the protocol.
  package mutating func cancelled() -> [ACPStep] {
    guard !isCancelled else { return [] }
    isCancelled = true
    switch phase {
    case .initializing, .opening: return over(.notSent("the agent was stopped"))
    case .prompting(let session):
      let note = ACPMessage.notification(
        method: "session/cancel", params: ["sessionId": .string(session)])
      didDismiss = requests.count > 0
      return [.send(note.line)] + requests.dismissAll() + updates.approvalsEnded()
    case .over: return []
    }
  }

  /// The users have decided.
  package mutating func answered(_ key: String, _ answer: ACPAnswer) -> [ACPStep] {
    guard phase != .over, let key = requests.key(ofAsked: key) else { return [] }
    let steps = requests.answered(key, answer)
    return steps + (requests.isOpen(key) ? [] : updates.approvalEnded(key))
  }

  // MARK: - Lines

  private mutating func line(_ line: [UInt8]) -> [ACPStep] {
    guard phase != .over else { return [] }
    guard let message = ACPMessage(line) else {
      guard !line.isEmpty else { return [] }
      return logged(line) + problem("The agent wrote a line that is not a JSON-RPC message.")
    }
    switch message {
    case .response(let id, let result, let error):
      return logged(line) + response(id, result, error)
    case .notification(let method, let params):
      return notification(method, params, line)
    case .request(let id, let method, let params):
      return logged(line) + asked(id, method, params, line)
    }
  }

  /// Lines before the prompt report earlier turns.
  private func logged(_ line: [UInt8]) -> [ACPStep] {
    if case .prompting = phase { [.wrote(line + [UInt8(ascii: "\n")])] } else { [] }
  }

  /// A user reads in the log why a request was denied.
  private func problem(_ text: String) -> [ACPStep] {
    [.said(.problem(text)), .wrote(Array("\(text)\n".utf8))]
  }

  private mutating func notification(
    _ method: String, _ params: JSONTree, _ line: [UInt8]
  ) -> [ACPStep] {
    switch method {
    case "session/update":
      guard case .prompting(let session) = phase, params["sessionId"]?.text == session,
        let update = params["update"]
      else { return [] }
      return logged(line) + updates.received(update, in: line) + changed(update, in: line)
    case "$/cancel_request":
      guard let key = params["requestId"].flatMap(ACPRequests.key) else { return [] }
      return requests.withdrawn(key) + updates.approvalEnded(key)
    default: return logged(line)
    }
  }

  private mutating func asked(
    _ id: JSONTree, _ method: String, _ params: JSONTree, _ line: [UInt8]
  ) -> [ACPStep] {
    guard let key = ACPRequests.key(id), !requests.isOpen(key) else {
      return problem("The agent used an id twice, or one that is none.")
    }
    func refused(_ code: ACPMessage.ErrorCode, _ reason: String) -> [ACPStep] {
      [.send(ACPMessage.refusal(id, code, reason).line)]
    }
    guard requests.count < ACPConversation.requestsMax else {
      return refused(.invalidRequest, "too many requests are open")
    }
    var own: String?
    if case .prompting(let session) = phase { own = session }
    switch method {
    case "session/request_permission":
      guard let own, params["sessionId"]?.text == own, let call = params["toolCall"],
        let options = ACPOptions(params["options"])
      else { return refused(.invalidParameters, "no such session, tool call or options") }
      return permission(key, id, call, options, line)
    case "elicitation/create":
      // Before the session has an id, it names another request instead.
      if let named = params["sessionId"]?.text, named != own {
        return refused(.invalidParameters, "no such session")
      }
      guard !isCancelled else {
        didDismiss = true
        return [requests.dismissed(id, .address)]
      }
      if params["mode"]?.text == "url", let request = ACPRequests.address(params) {
        return [requests.opened(key, id, .address, request)]
      }
      guard let form = ACPForm(params), ACPRequests.isShown(form.text, line) else {
        return refused(.invalidParameters, "this form cannot be shown")
      }
      return [requests.opened(key, id, .form(form), .form(form))]
    default:
      return refused(.methodNotFound, "this client has no \(method.cut(to: 100))")
    }
  }

  private mutating func permission(
    _ key: String, _ id: JSONTree, _ call: JSONTree, _ options: ACPOptions, _ line: [UInt8]
  ) -> [ACPStep] {
    guard !isCancelled else {
      didDismiss = true
      return [requests.dismissed(id, .permission(options, nil))]
    }
    // A request's fields for its call may change what other requests ask about.
    let steps = changed(call, in: line)
    func denied(_ reason: String) -> [ACPStep] {
      steps + [requests.answer(id, options, isAllowed: false)] + problem(reason)
    }
    guard let wanted = updates.wanted(call, in: line) else {
      return denied("A request was denied because it cannot be shown in full.")
    }
    guard options.offersYes else {
      return denied("A request was denied because the agent offers no way to allow this.")
    }
    return steps + updates.approvalBegan(key, tool: wanted.tool, input: wanted.input)
      + [requests.opened(key, id, .permission(options, wanted.call), options.matter(of: wanted))]
  }

  private mutating func changed(_ update: JSONTree, in line: [UInt8]) -> [ACPStep] {
    let (steps, denied) = requests.changed(by: update, in: line)
    return steps
      + denied.flatMap { key in
        updates.approvalEnded(key)
          + problem("A request was denied because its tool call changed while it was open.")
      }
  }

  // MARK: - Answers of the agent

  private mutating func response(
    _ id: JSONTree, _ result: JSONTree, _ error: JSONTree?
  ) -> [ACPStep] {
    switch (phase, Self.own(id)) {
    case (.initializing, Own.initialize): return initialized(result, error)
    case (.opening(let loaded), Own.session): return opened(loaded, result, error)
    case (.prompting, Own.prompt): return ended(result, error)
    default: return problem("The agent answered a request that does not exist.")
    }
  }

  /// nil if this side uses no such ids.
  private static func own(_ id: JSONTree) -> Int64? {
    switch id {
    case .whole(let id): id
    case .number(let id): Int64(exactly: id)
    default: nil
    }
  }

  private mutating func initialized(_ result: JSONTree, _ error: JSONTree?) -> [ACPStep] {
    if let error { return over(.notSent(Self.text(of: error, "initialize"))) }
    guard result["protocolVersion"]?.integer == ACPConversation.version else {
      return over(
        .notSent(
          "The agent does not speak version \(ACPConversation.version) of the Agent Client "
            + "Protocol: install another version of it."))
    }
    let abilities = result["agentCapabilities"]
    takesPictures = abilities?["promptCapabilities"]?["image"]?.flag == true
    var members: [String: JSONTree] = ["cwd": .string(turn.folder), "mcpServers": []]
    var method = "session/new"
    var loaded: String?
    if let conversation = turn.conversation {
      // Resuming does not repeat earlier turns.
      if case .object = abilities?["sessionCapabilities"]?["resume"] {
        method = "session/resume"
        loaded = conversation
      } else if abilities?["loadSession"]?.flag == true {
        method = "session/load"
        loaded = conversation
      }
    }
    if let loaded { members["sessionId"] = .string(loaded) }
    phase = .opening(loaded: loaded)
    return [.send(Self.request(Own.session, method, .object(members)))]
  }

  private mutating func opened(
    _ loaded: String?, _ result: JSONTree, _ error: JSONTree?
  ) -> [ACPStep] {
    if let error {
      guard loaded != nil, error["code"]?.integer != ACPMessage.authenticationRequired else {
        return over(.notSent(Self.text(of: error, "session/new")))
      }
      let reason = "The agent cannot continue its conversation; a retry begins a new one. "
      return [.said(.sessionLost)]
        + over(.verdict(.failed(reason: reason + Self.text(of: error, "the conversation"))))
    }
    guard let id = loaded ?? result["sessionId"]?.text, !id.isEmpty,
      id.utf8.count <= AgentLimits.sessionIDBytesMax
    else { return over(.notSent("The agent gave its conversation no id.")) }
    phase = .prompting(session: id)
    let prompt = (takesPictures ? turn.promptWithPictures : nil) ?? turn.prompt
    let params: JSONTree = ["sessionId": .string(id), "prompt": .array(prompt)]
    return [
      .said(.session(id)), .sendPrompt(Self.request(Own.prompt, "session/prompt", params)),
    ]
  }

  private mutating func ended(_ result: JSONTree, _ error: JSONTree?) -> [ACPStep] {
    let events = updates.ended().map { ACPStep.said($0) }
    return events + over(end(result, error))
  }

  private func end(_ result: JSONTree, _ error: JSONTree?) -> ACPEnd {
    if let error {
      // A stopped agent may report the stop as a failure.
      if isCancelled || error["code"]?.integer == Int64(ACPMessage.ErrorCode.cancelled.rawValue) {
        return .cancelled
      }
      let text = Self.text(of: error, "the prompt")
      return .verdict(
        Self.isLimit(error) ? .tryLater(reason: text, until: nil) : .failed(reason: text))
    }
    switch result["stopReason"]?.text {
    // It ended because the stop took away an answer.
    case "end_turn" where didDismiss: return .cancelled
    case "end_turn": return .verdict(.succeeded(summary: updates.summary))
    case "cancelled": return .cancelled
    case "refusal": return .verdict(.failed(reason: "The agent refused to continue (refusal)."))
    case "max_tokens":
      return .verdict(.failed(reason: "The agent reached its limit of tokens (max_tokens)."))
    case "max_turn_requests":
      return .verdict(
        .failed(reason: "The agent reached its limit of requests (max_turn_requests)."))
    case let other?:
      return .verdict(.failed(reason: "The agent stopped: \(other.cut(to: 100))."))
    case nil: return .verdict(.failed(reason: "The agent did not say how its turn ended."))
    }
  }

  private mutating func over(_ end: ACPEnd) -> [ACPStep] {
    phase = .over
    return requests.withdrawAll() + updates.ended().map { .said($0) } + [.ended(end)]
  }

  private static func text(of error: JSONTree, _ matter: String) -> String {
    if error["code"]?.integer == ACPMessage.authenticationRequired {
      return "The agent wants you to log in: start it in a terminal once."
    }
    let all = words(of: error).joined(separator: ": ")
    return "The agent refused \(matter): \(all)".cut(to: AgentLimits.textBytesMax)
  }

  private static func words(of error: JSONTree) -> [String] {
    // Many agents give details only there.
    let details = (error["data"]?["details"] ?? error["data"]?["message"] ?? error["data"])?.text
    return [error["message"]?.text ?? "no reason", details].compactMap(\.self)
  }

  /// Whether the agent's provider refuses work temporarily: too many requests, or overloaded.
  private static func isLimit(_ error: JSONTree) -> Bool {
    let data = error["data"]
    let numbers = [error["code"], data?["status"], data?["statusCode"], data?["code"]]
    if numbers.contains(where: { ["429", "529"].contains($0?.text ?? $0?.line) }) { return true }
    return words(of: error).contains { text in
      let words = LimitWords(text.cut(to: AgentLimits.textBytesMax))
      return words.nameRateLimit || words.nameQuota
    }
  }
}
