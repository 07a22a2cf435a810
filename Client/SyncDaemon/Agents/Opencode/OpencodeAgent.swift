import AgentFormats
import Basics
import Foundation
import NIOHTTP1
import QueueModel
import Synchronization

/// opencode's server (`opencode serve`) as an agent: a prompt is a request, and its answer shows
/// how the turn ended. The event stream beside it gives only busy signals.
struct OpencodeAgent: Agent {
  var host: String
  var port: Int
  var timeoutSeconds: Int?
  /// The authorization that its server requires with each request; nil if it has no password.
  var authorization: String?
  /// Shows opencode's permission requests to users; nil leaves them at opencode's own prompt.
  var ask: Asker?
  /// The pause between two checks of a turn whose answer was lost.
  var pollPeriod = Duration.seconds(2)
  /// The wait before the first check of a turn that has not answered; it doubles with each check.
  var watchPeriod = Duration.seconds(10)

  /// The default address of the server.
  static let addressDefault = "http://127.0.0.1:4096"
  /// The number of unanswered checks after which a turn counts as lost.
  static let pollsMax = 30
  /// How long a turn waits for the event stream before it begins without it.
  static let streamLimit = Duration.seconds(5)
  /// The time limit for opening a conversation.
  static let openingLimit = Duration.seconds(60)
  /// The longest pause between two checks of a turn that has not answered.
  static let watchPeriodMax = Duration.seconds(120)
  /// The time limit for the list of messages.
  static let lookLimit = Duration.seconds(20)
  /// The time limit for a request to stop.
  static let abortLimit = Duration.seconds(5)

  /// - Parameters:
  ///   - address: `http://host:port`; nil is opencode's own default.
  ///   - environment: the daemon's, with the password that opencode's server was started with, under the
  ///     names that it reads them by.
  init(
    address: String?, timeoutSeconds: Int?, environment: [String: String] = [:]
  ) throws(CommandLineFault) {
    if let password = environment["OPENCODE_SERVER_PASSWORD"], !password.isEmpty {
      let user = environment["OPENCODE_SERVER_USERNAME"].flatMap { $0.isEmpty ? nil : $0 }
      let words = Data("\(user ?? "opencode"):\(password)".utf8)
      authorization = "Basic \(words.base64EncodedString())"
    }
    let text = address ?? OpencodeAgent.addressDefault
    guard let url = URLComponents(string: text), url.scheme == "http", let host = url.host,
      !host.isEmpty, url.path.isEmpty || url.path == "/"
    else {
      throw CommandLineFault(
        reason: "\"\(text)\" is not an address of opencode: cospool config set command "
          + OpencodeAgent.addressDefault)
    }
    // The brackets belong to the address, not to the host.
    let isBracketed = host.hasPrefix("[") && host.hasSuffix("]")
    self.host = isBracketed ? String(host.dropFirst().dropLast()) : host
    port = url.port ?? 4_096
    self.timeoutSeconds = timeoutSeconds
  }

  /// Its server has folders of its own. Without a project it works in the folder in which it was
  /// started. The folders of a server on another machine cannot be checked here.
  func folder(
    of project: String?, otherwise: String
  ) throws(ProjectFolder.Missing) -> String? {
    guard let project, !project.isEmpty else { return nil }
    if isHere { return try ProjectFolder.here(project, otherwise: otherwise).path }
    guard project.hasPrefix("/") else { throw ProjectFolder.Missing(project: project) }
    return project
  }

  /// Whether its server is on this machine.
  var isHere: Bool { ["127.0.0.1", "localhost", "::1"].contains(host) }

  func run(
    _ turn: AgentTurn, report: @escaping @Sendable (TurnEvent) -> Void
  ) async -> TurnResult {
    let begun = Mutex<String?>(nil)
    let noting: @Sendable (TurnEvent) -> Void = { event in
      if case .said(.session(let id)) = event { begun.withLock { $0 = id } }
      report(event)
    }
    return await withTaskGroup(of: Part.self) { group in
      group.addTask { .ended(await begin(turn, noting)) }
      if let timeoutSeconds {
        group.addTask {
          // A cancelled sleep ends with the turn.
          guard (try? await Task.sleep(for: .seconds(timeoutSeconds))) != nil else { return .over }
          return .timedOut(seconds: timeoutSeconds)
        }
      }
      var result: TurnResult?
      var wasCut = false
      for await part in group where result == nil {
        switch part {
        case .over: continue
        case .ended(let end): result = end
        case .timedOut(let seconds):
          result = .failed("the agent took longer than \(seconds) seconds and was stopped")
          wasCut = true
        }
        group.cancelAll()
      }
      if wasCut || Task.isCancelled, let conversation = begun.withLock({ $0 }) {
        await abort(conversation, of: turn)
      }
      return result ?? .died("the agent was stopped")
    }
  }

  /// The ways in which a turn ends.
  private enum Part: Sendable {
    case ended(TurnResult)
    case timedOut(seconds: Int)
    case over
  }

  /// A turn, from the opening of its conversation.
  private func begin(
    _ turn: AgentTurn, _ report: @escaping @Sendable (TurnEvent) -> Void
  ) async -> TurnResult {
    let conversation: String
    let known: Set<String>
    let owners = isHere ? PortOwner.users(of: port) : []
    guard owners.allSatisfy({ $0 == geteuid() || $0 == 0 }) else {
      return .failed(
        "port \(port) is another user's: it would get the prompt. Start opencode serve yourself, on "
          + "another port (cospool config set command http://127.0.0.1:PORT)")
    }
    do {
      (conversation, known) = try await within(OpencodeAgent.openingLimit) {
        let conversation = try await opened(turn)
        do {
          let messages = try await self.messages(of: conversation, turn)
          return (conversation, Set(messages.elements.compactMap(Self.id)))
        } catch HTTPCall.Failure.tooLarge {
          // Its files are in its messages; a conversation that is too large to read is not continued.
          var fresh = turn
          fresh.conversation = nil
          return (try await opened(fresh), [])
        }
      }
    } catch {
      // The prompt was not received by opencode yet.
      return .notStarted("opencode at \(host):\(port): \(error)")
    }
    report(.said(.session(conversation)))
    report(.started)
    let (connections, connected) = AsyncStream<Void>.makeStream(
      bufferingPolicy: .bufferingOldest(1))
    return await withTaskGroup(of: TurnResult?.self) { group in
      group.addTask {
        await first(of: connections)
        return await carried(turn, conversation, known)
      }
      group.addTask {
        await listen(to: conversation, of: turn, connected: { connected.yield() }, report)
        return nil
      }
      for await case let end? in group {
        group.cancelAll()
        return end
      }
      return .died("the agent was stopped")
    }
  }

  /// Stops what it still does. If it cannot be reached, it continues.
  private func abort(_ conversation: String, of turn: AgentTurn) async {
    let call = call(.POST, "/session/\(conversation)/abort", "{}", of: turn)
    // It is a task of its own, because this one may be cancelled and could not even send.
    let sending = Task {
      try? await within(OpencodeAgent.abortLimit) { _ = try await call.answer() }
    }
    await sending.value
  }

  /// - Throws: as `body`, `HTTPCall.Failure.silent` after the limit.
  func within<Value: Sendable>(
    _ limit: Duration, _ body: @escaping @Sendable () async throws -> Value
  ) async throws -> Value {
    try await withThrowingTaskGroup(of: Value.self) { group in
      defer { group.cancelAll() }
      group.addTask { try await body() }
      group.addTask {
        try await Task.sleep(for: limit)
        throw HTTPCall.Failure.silent(limit)
      }
      guard let value = try await group.next() else { throw CancellationError() }
      return value
    }
  }

  /// Waits until the event stream is open, so that no event of the turn is missed. The wait is
  /// short, since the events are optional.
  private func first(of connections: AsyncStream<Void>) async {
    await withTaskGroup(of: Void.self) { group in
      group.addTask { for await _ in connections { return } }
      // A cancelled sleep ends the wait, too.
      group.addTask { try? await Task.sleep(for: OpencodeAgent.streamLimit) }
      await group.next()
      group.cancelAll()
    }
  }

  static func id(_ message: JSONTree) -> String? { message["info"]?["id"]?.text }

  /// A request for the project of a turn: its server keeps sessions and events apart by folder, and
  /// uses its own folder if a request names none.
  func call(
    _ method: HTTPMethod, _ path: String, _ body: String? = nil, of turn: AgentTurn
  ) -> HTTPCall {
    let query = turn.folder.map { "?directory=\(ASCII.percentEncoded($0))" } ?? ""
    return HTTPCall(
      host: host, port: port, method: method, path: path + query, body: body,
      authorization: authorization)
  }

  /// The conversation to continue if the server knows it, otherwise a new one.
  private func opened(_ turn: AgentTurn) async throws -> String {
    if let id = turn.resumed,
      id.allSatisfy({ $0.isASCII && ($0.isLetter || $0.isNumber || $0 == "_") })
    {
      do {
        _ = try await call(.GET, "/session/\(id)", of: turn).answer()
        return id
      } catch HTTPCall.Failure.status(404) {
        // It was deleted there.
      }
    }
    let title = JSONTree.object(["title": .string(turn.session.rawValue)]).line
    let answer = try await call(.POST, "/session", title, of: turn).answer()
    guard let id = JSONTree(answer)?["id"]?.text,
      !id.isEmpty, id.allSatisfy({ $0.isASCII && ($0.isLetter || $0.isNumber || $0 == "_") })
    else { throw HTTPCall.Failure.broken("it gave no session id") }
    return id
  }

  func messages(of conversation: String, _ turn: AgentTurn) async throws -> JSONTree {
    let bytes = try await call(.GET, "/session/\(conversation)/message", of: turn).answer()
    guard let tree = JSONTree(bytes) else { throw HTTPCall.Failure.broken("it gave no JSON") }
    return tree
  }

  /// Sends the prompt and waits for its answer. If no answer arrives, the list of messages counts.
  private func carried(
    _ turn: AgentTurn, _ conversation: String, _ known: Set<String>
  ) async -> TurnResult {
    await withTaskGroup(of: TurnResult?.self) { group in
      group.addTask { await prompt(turn, conversation, known) }
      group.addTask {
        // A connection can be dead without a sign.
        await watched(turn, conversation, known)
      }
      for await case let end? in group {
        group.cancelAll()
        return end
      }
      return .died("the agent was stopped")
    }
  }

  private func prompt(
    _ turn: AgentTurn, _ conversation: String, _ known: Set<String>
  ) async -> TurnResult {
    let body: String
    do {
      body = try JSONTree.object(["parts": .array(parts(of: turn))]).line
    } catch let fault as FilesFault {
      // Another attempt would not help.
      return .failed("\(fault)")
    } catch {
      return .notStarted("\(error)")
    }
    do {
      let bytes = try await call(
        .POST, "/session/\(conversation)/message", body, of: turn
      ).answer()
      if let verdict = JSONTree(bytes).flatMap(OpencodeReader.verdict) {
        return result(verdict, of: turn)
      }
      return .died("opencode answered without saying how the turn ended")
    } catch let failure as HTTPCall.Failure where failure.isUnsent {
      return .notStarted("opencode at \(host):\(port): \(failure)")
    } catch HTTPCall.Failure.status(let code) where (400..<500).contains(code) {
      return .failed("opencode refused the prompt with status \(code)")
    } catch is CancellationError {
      return .died("the agent was stopped")
    } catch {
      return await found(turn, conversation, known)
    }
  }

  /// Busy signals and requests until the turn ends. The stream is optional: without it, the turn
  /// continues, and the stream is opened again.
  private func listen(
    to conversation: String, of turn: AgentTurn, connected: @escaping @Sendable () -> Void,
    _ report: @escaping @Sendable (TurnEvent) -> Void
  ) async {
    let (events, passing) = AsyncStream<AgentEvent>.makeStream()
    async let passed: Void = passOn(events, of: turn, in: conversation)
    var children: Set<String> = []
    while !Task.isCancelled {
      // An incomplete message does not continue with the next one.
      let reader = Mutex(OpencodeReader(session: conversation, children: children))
      try? await call(.GET, "/event", of: turn).pieces { bytes in
        connected()
        let (said, own) = reader.withLock { ($0.received(bytes), $0.takeOwn()) }
        if !own.isEmpty { report(.wrote(own)) }
        for event in said {
          report(.said(event))
          passing.yield(event)
        }
      }
      for event in reader.withLock({ $0.ended() }) { report(.said(event)) }
      children = reader.withLock { $0.children }
      // The end of the turn cuts the wait short.
      try? await Task.sleep(for: pollPeriod)
    }
    passing.finish()
    await passed
  }
}
