import AgentFormats
import Basics
import LocalAPI
import QueueModel

#if canImport(FoundationEssentials)
  import FoundationEssentials
#else
  import Foundation
#endif

/// The agent's side of the Agent Client Protocol, version 1: lines of an editor in, and the work that
/// each needs.
actor ACPServer {
  typealias Daemon = @Sendable (APIRequest) async throws -> Answer

  /// The number of earlier prompts that a loaded session shows.
  static let shownMax = 100
  /// How often a prompt is sent again to a daemon that does not answer.
  static let triesMax = 10

  private let editor: EditorLink
  private let changes: DaemonChanges
  private let session: String?
  private let runsHere: Bool
  private let ask: Daemon
  /// The conversations that the editor has opened.
  private var opened: Set<String> = []
  /// Those without a prompt, of which the daemon does not know yet, and their folders.
  private var empty: [String: String] = [:]
  /// The messages whose turns the editor waits for, by session.
  private var turns: [String: Set<String>] = [:]

  /// - Parameter session: the session for all prompts; nil for one for each conversation.
  init(
    _ editor: EditorLink, _ changes: DaemonChanges, session: String?, runsHere: Bool,
    ask: @escaping Daemon
  ) {
    self.editor = editor
    self.changes = changes
    self.session = session
    self.runsHere = runsHere
    self.ask = ask
  }

  /// Answers a line; a prompt is queued.
  ///
  /// - Returns: what takes as long as a turn; nil if nothing does.
  func step(_ line: [UInt8]) async -> (@Sendable () async -> Void)? {
    switch ACPMessage(line) {
    case .response(let id, let result, let error):
      editor.answered(id, error == nil ? result : .null)
    case .notification("session/cancel", let params):
      guard let session = params["sessionId"]?.text else { break }
      return { await self.cancel(session) }
    case .request(let id, "session/prompt", let params):
      do {
        let turn = try await queued(params)
        return { await self.follow(turn, answering: id) }
      } catch {
        refuse(id, error)
      }
    case .request(let id, let method, let params):
      do {
        guard let result = try await answer(to: method, params) else {
          editor.send(.refusal(id, .methodNotFound, "There is no method \(method)."))
          break
        }
        editor.send(.response(id: id, result: result, error: nil))
      } catch {
        refuse(id, error)
      }
    case .notification: break
    case nil:
      if !line.isEmpty {
        editor.send(.refusal(.null, .parseError, "The line is not a JSON-RPC message."))
      }
    }
    return nil
  }

  private func refuse(_ id: JSONTree, _ error: any Error) {
    let failure = CommandRunner.failure(of: error)
    let code: ACPMessage.ErrorCode =
      switch failure.code {
      case "usage": .invalidParameters
      case "sessionNotFound": .resourceNotFound
      default: .internalError
      }
    editor.send(.refusal(id, code, failure.message))
  }

  /// nil if there is no such method.
  private func answer(to method: String, _ params: JSONTree) async throws -> JSONTree? {
    switch method {
    case "initialize":
      let capabilities = params["clientCapabilities"]
      if case .object = capabilities?["elicitation"]?["form"] { editor.takesForms = true }
      return [
        "protocolVersion": .whole(ACPConversation.version), "authMethods": [],
        "agentInfo": ["name": "cospool", "title": "Cospool", "version": .string(Version.number)],
        "agentCapabilities": [
          "loadSession": true, "sessionCapabilities": ["resume": [:]],
          "promptCapabilities": ["image": true, "audio": false, "embeddedContext": true],
        ],
      ]
    case "authenticate": return [:]
    case "session/new":
      let id = try await begun(params)
      opened.insert(id)
      return ["sessionId": .string(id)]
    case "session/load", "session/resume":
      let id = try Self.needed("sessionId", params)
      _ = try await ask(APIRequest(.get, ["sessions", id]))
      opened.insert(id)
      if method == "session/load" { try await replay(id) }
      return [:]
    default: return nil
    }
  }

  private static func needed(_ name: String, _ params: JSONTree) throws -> String {
    guard let text = params[name]?.text, !text.isEmpty else {
      throw CommandFailure.usage("\(name) is missing.")
    }
    return text
  }

  // MARK: - Sessions

  private func begun(_ params: JSONTree) async throws -> String {
    let folder = try Self.needed("cwd", params)
    guard let session else {
      let id = UUID().uuidString.lowercased()
      empty[id] = folder
      return id
    }
    switch try await names(folder).wholeMatch(session) {
    case .one(let known): return known.id.rawValue
    case .several(let found): throw try await names(folder).ambiguous(session, found)
    case .none:
      empty[session] = folder
      return session
    }
  }

  private func names(_ folder: String) async throws -> SessionNames {
    let answer = try await ask(APIRequest(.get, ["sessions"])).decoded(SessionsAnswer.self)
    return SessionNames(
      sessions: answer.sessions, closed: Set(answer.closed ?? []), folder: folder)
  }

  /// Adds a session with its first prompt: an editor opens more conversations than its user needs.
  private func add(_ id: String, of folder: String) async throws {
    let base = id == session ? id : folder.split(separator: "/").last.map(String.init) ?? folder
    let names = try await names(folder)
    var name = base
    var number = 1
    while id != session, names.wholeMatch(name) != .none {
      number += 1
      name = "\(base)-\(number)"
    }
    _ = try await ask(
      APIRequest(.post, ["sessions"], body: SessionRequest(id: id, name: name, project: folder)))
    if runsHere {
      _ = try await ask(
        APIRequest(.put, ["sessions", id, "host"], body: HostRequest(device: "this")))
    }
    empty[id] = nil
  }

  /// Shows what was asked in a session before.
  private func replay(_ id: String) async throws {
    let request = APIRequest(.get, ["queues"], query: [("state", "done"), ("session", id)])
    let queues = try await ask(request).decoded(QueuesAnswer.self).queues
    for message in queues.flatMap(\.messages).suffix(Self.shownMax) {
      editor.say(id, message.content, as: "user_message_chunk")
      let words = message.lastError.map { ": \($0)" } ?? ""
      editor.say(id, "(\(message.status.rawValue)\(words))\n\n")
    }
  }

  // MARK: - Prompts

  private func queued(_ params: JSONTree) async throws -> EditorTurn {
    let session = try Self.needed("sessionId", params)
    guard opened.contains(session) else {
      throw CommandFailure(
        code: "sessionNotFound", message: "The conversation is not open. Load it first.",
        exitCode: ExitStatus.failed)
    }
    let prompt = try EditorPrompt(params["prompt"]?.elements ?? [])
    if let folder = empty[session] { try await add(session, of: folder) }
    let id = UUID().uuidString.lowercased()
    let request = try APIRequest(
      .post, ["sessions", session, "queue"],
      body: SendRequest(
        text: prompt.text, id: id,
        attachments: prompt.attachments.isEmpty ? nil : prompt.attachments))
    try await send(request)
    turns[session, default: []].insert(id)
    return EditorTurn(session: session, message: id, editor: editor, ask: ask)
  }

  /// Under its own id, a prompt is there once: it can be sent again to a daemon that restarts.
  private func send(_ request: APIRequest) async throws {
    for _ in 0..<Self.triesMax {
      do {
        _ = try await ask(request)
        return
      } catch let failure as CommandFailure where EditorTurn.awaitsDaemon.contains(failure.code) {
        try await Task.sleep(for: Watcher.reconnectDelay)
      }
    }
    _ = try await ask(request)
  }

  private func follow(_ turn: EditorTurn, answering id: JSONTree) async {
    var turn = turn
    do {
      let reason = try await turn.stopReason(changes.wakes())
      editor.send(.response(id: id, result: ["stopReason": .string(reason)], error: nil))
    } catch is CancellationError {
      return
    } catch {
      refuse(id, error)
    }
    turns[turn.session]?.remove(turn.message)
  }

  /// The editor's user stops: what waits is cancelled, and then what runs is stopped. In the other
  /// order, the next one could start in between.
  private func cancel(_ session: String) async {
    let ids = (turns[session] ?? []).sorted()
    for id in ids {
      await attempt(session) {
        try await ask(
          APIRequest(.post, ["messages", "cancel"], body: MessagesRequest(ids: [id])))
      }
    }
    for id in ids {
      await attempt(session) {
        let shown = try await ask(APIRequest(.get, ["messages", id])).decoded(MessageAnswer.self)
        guard shown.status == .running else { return nil }
        let stop = StopRequest(message: shown.id)
        return try await ask(APIRequest(.post, ["sessions", session, "stop"], body: stop))
      }
    }
    changes.wakeAll()
  }

  private func attempt(_ session: String, _ work: () async throws -> Answer?) async {
    do {
      _ = try await work()
    } catch let failure as CommandFailure where failure.code == "alreadyStarted" {
      // It is stopped.
    } catch {
      editor.say(session, "Not stopped: \(CommandRunner.failure(of: error).message)\n\n")
    }
  }
}
