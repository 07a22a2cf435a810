import AgentFormats
import Foundation
import NIOHTTP1
import QueueModel
import Synchronization

/// opencode's server (`opencode serve`) as an agent: a prompt is a request, and its answer says how
/// the turn ended. The event stream beside it gives busy signals alone.
struct OpencodeAgent: Agent {
  var host: String
  var port: Int
  var timeoutSeconds: Int?
  /// Asks people for what it asks leave for; nil leaves that to opencode's own prompt.
  var ask: Asker?
  /// Between two looks at a turn whose answer was lost.
  var pollPeriod = Duration.seconds(2)

  /// Where the server listens unless something else is said.
  static let addressDefault = "http://127.0.0.1:4096"
  /// Looks at a turn without the server's answering before it counts as lost.
  static let pollsMax = 30
  /// How long a turn waits for the event stream before it begins without it.
  static let streamLimit = Duration.seconds(5)
  /// How long opencode may take to be told to stop.
  static let abortLimit = Duration.seconds(5)

  /// - Parameter address: `http://host:port`; nil is opencode's own default.
  init(address: String?, timeoutSeconds: Int?) throws(CommandLineFault) {
    let text = address ?? OpencodeAgent.addressDefault
    guard let url = URLComponents(string: text), url.scheme == "http", let host = url.host,
      !host.isEmpty, url.path.isEmpty || url.path == "/"
    else {
      throw CommandLineFault(
        reason: "\"\(text)\" is no address of opencode: cospool config set command "
          + OpencodeAgent.addressDefault)
    }
    self.host = host
    port = url.port ?? 4_096
    self.timeoutSeconds = timeoutSeconds
  }

  func run(
    _ turn: AgentTurn, report: @escaping @Sendable (TurnEvent) -> Void
  ) async -> AgentResult {
    let conversation: String
    let known: Set<String>
    do {
      conversation = try await opened(turn)
      known = try await Set(messages(of: conversation).elements.compactMap(Self.id))
    } catch {
      // Nobody got the prompt yet.
      return .notStarted("opencode at \(host):\(port): \(error)")
    }
    report(.said(.session(conversation)))
    report(.started)
    let (connections, connected) = AsyncStream<Void>.makeStream(
      bufferingPolicy: .bufferingOldest(1))
    return await withTaskGroup(of: AgentResult?.self) { group in
      group.addTask {
        await first(of: connections)
        return await prompt(turn, conversation, known)
      }
      group.addTask {
        await listen(to: conversation, of: turn, connected: { connected.yield() }, report)
        return nil
      }
      if let timeoutSeconds {
        group.addTask {
          // A cancelled sleep ends with the turn.
          guard (try? await Task.sleep(for: .seconds(timeoutSeconds))) != nil else { return nil }
          return .failed("the agent took longer than \(timeoutSeconds) seconds and was stopped")
        }
      }
      var result: AgentResult?
      for await end in group where result == nil {
        guard let end else { continue }
        result = end
        group.cancelAll()
      }
      let wasCut = Task.isCancelled || result.map(Self.isTimeout) ?? true
      if wasCut { await abort(conversation) }
      return result ?? .died("the agent was stopped")
    }
  }

  /// Whatever it still does, it is to stop now. Where it cannot be told, nothing can be done.
  private func abort(_ conversation: String) async {
    let call = call(.POST, "/session/\(conversation)/abort", "{}")
    // A task of its own: this one may be cancelled, and could not even send.
    let telling = Task { _ = try? await call.answer() }
    let limit = Task {
      // A cancelled sleep means that it was told.
      guard (try? await Task.sleep(for: OpencodeAgent.abortLimit)) != nil else { return }
      telling.cancel()
    }
    await telling.value
    limit.cancel()
  }

  /// Waits until the event stream is there, so that nothing of the turn is missed; not for long, since
  /// it is an extra.
  private func first(of connections: AsyncStream<Void>) async {
    await withTaskGroup(of: Void.self) { group in
      group.addTask { for await _ in connections { return } }
      // A cancelled sleep ends the wait, too.
      group.addTask { try? await Task.sleep(for: OpencodeAgent.streamLimit) }
      await group.next()
      group.cancelAll()
    }
  }

  private static func isTimeout(_ result: AgentResult) -> Bool {
    if case .failed(let reason) = result { reason.contains("was stopped") } else { false }
  }

  private static func id(_ message: JSONTree) -> String? { message["info"]?["id"]?.text }

  func call(_ method: HTTPMethod, _ path: String, _ body: String? = nil) -> HTTPCall {
    HTTPCall(host: host, port: port, method: method, path: path, body: body)
  }

  /// The conversation to go on with, where the server knows it, else a new one.
  private func opened(_ turn: AgentTurn) async throws -> String {
    if let id = turn.resumed,
      id.allSatisfy({ $0.isASCII && ($0.isLetter || $0.isNumber || $0 == "_") })
    {
      do {
        _ = try await call(.GET, "/session/\(id)").answer()
        return id
      } catch HTTPCall.Failure.status(404) {
        // It was deleted there.
      }
    }
    let title = JSONTree.object(["title": .string(turn.session.rawValue)]).line
    let query = turn.folder.map { "?directory=\(Self.encoded($0))" } ?? ""
    let answer = try await call(.POST, "/session\(query)", title).answer()
    guard let id = JSONTree(answer)?["id"]?.text,
      !id.isEmpty, id.allSatisfy({ $0.isASCII && ($0.isLetter || $0.isNumber || $0 == "_") })
    else { throw HTTPCall.Failure.broken("it gave no session id") }
    return id
  }

  private static func encoded(_ text: String) -> String {
    text.addingPercentEncoding(withAllowedCharacters: .alphanumerics) ?? ""
  }

  private func messages(of conversation: String) async throws -> JSONTree {
    let bytes = try await call(.GET, "/session/\(conversation)/message").answer()
    guard let tree = JSONTree(bytes) else { throw HTTPCall.Failure.broken("it gave no JSON") }
    return tree
  }

  private func prompt(
    _ turn: AgentTurn, _ conversation: String, _ known: Set<String>
  ) async -> AgentResult {
    let parts = JSONTree.object([
      "parts": .array([.object(["type": "text", "text": .string(turn.prompt)])])
    ])
    do {
      let bytes = try await call(
        .POST, "/session/\(conversation)/message", parts.line
      ).answer()
      if let verdict = JSONTree(bytes).flatMap(OpencodeReader.verdict) { return result(verdict) }
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

  /// The answer was lost: the list of messages tells what became of the prompt.
  private func found(
    _ turn: AgentTurn, _ conversation: String, _ known: Set<String>
  ) async -> AgentResult {
    var silent = 0
    while silent < OpencodeAgent.pollsMax, !Task.isCancelled {
      do {
        let messages = try await messages(of: conversation)
        silent = 0
        let prompt = messages.elements.last { message in
          message["info"]?["role"]?.text == "user"
            && Self.id(message).map { !known.contains($0) } ?? false
        }
        guard let id = prompt.flatMap(Self.id) else {
          return .died("the connection to opencode broke, and it does not have the prompt")
        }
        if let verdict = OpencodeReader.verdict(onPrompt: id, in: messages) {
          return result(verdict)
        }
      } catch {
        silent += 1
      }
      // A cancelled sleep ends the loop.
      try? await Task.sleep(for: pollPeriod)
    }
    return .died("opencode does not answer any more")
  }

  private func result(_ verdict: AgentVerdict) -> AgentResult {
    switch verdict {
    case .succeeded(let summary): .succeeded(summary: summary)
    case .failed(let reason): .failed(reason)
    case .tryLater(let reason, let until):
      .tryingLater(until: until, reason: reason)
    }
  }

  /// Busy signals and requests until the turn ends. The stream is an extra: without it the turn goes
  /// on, and it is opened again.
  private func listen(
    to conversation: String, of turn: AgentTurn, connected: @escaping @Sendable () -> Void,
    _ report: @escaping @Sendable (TurnEvent) -> Void
  ) async {
    let (events, passing) = AsyncStream<AgentEvent>.makeStream()
    async let passed: Void = passOn(events, of: turn, in: conversation)
    while !Task.isCancelled {
      // What was cut off in the middle does not go on with the next one.
      let reader = Mutex(OpencodeReader(session: conversation))
      try? await call(.GET, "/event").pieces { bytes in
        connected()
        let (said, own) = reader.withLock { ($0.received(bytes), $0.takeOwn()) }
        if !own.isEmpty { report(.wrote(own)) }
        for event in said {
          report(.said(event))
          passing.yield(event)
        }
      }
      for event in reader.withLock({ $0.ended() }) { report(.said(event)) }
      // The end of the turn cuts the wait short.
      try? await Task.sleep(for: pollPeriod)
    }
    passing.finish()
    await passed
  }
}
