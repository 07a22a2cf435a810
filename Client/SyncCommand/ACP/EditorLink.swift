import AgentFormats
import Synchronization

/// The way to an editor that speaks the Agent Client Protocol.
final class EditorLink: Sendable {
  private struct State {
    var number: Int64 = 0
    var open: [Int64: AsyncStream<JSONTree>.Continuation] = [:]
    var takesForms = false
  }

  private let state = Mutex(State())
  private let write: @Sendable (String) -> Void

  /// - Parameter write: writes a line, which has no end yet.
  init(write: @escaping @Sendable (String) -> Void) {
    self.write = write
  }

  /// Whether the editor shows forms.
  var takesForms: Bool {
    get { state.withLock { $0.takesForms } }
    set { state.withLock { $0.takesForms = newValue } }
  }

  func send(_ message: ACPMessage) { write(message.line) }

  func update(_ session: String, _ kind: String, _ members: [String: JSONTree]) {
    var update = members
    update["sessionUpdate"] = .string(kind)
    let params: JSONTree = ["sessionId": .string(session), "update": .object(update)]
    send(.notification(method: "session/update", params: params))
  }

  /// Shows a text as the agent's.
  func say(_ session: String, _ text: String, as kind: String = "agent_message_chunk") {
    update(session, kind, ["content": Self.shown(text)])
  }

  /// A text that an agent wrote; some editors are terminals.
  static func shown(_ text: String) -> JSONTree {
    ["type": "text", "text": .string(TextStyle.block(text))]
  }

  /// Asks the editor's user. If the task is cancelled, the editor takes the request back.
  ///
  /// - Returns: nil without an answer.
  func ask(_ method: String, _ params: JSONTree) async -> JSONTree? {
    let (answers, answer) = AsyncStream<JSONTree>.makeStream()
    let id = state.withLock { state in
      state.number += 1
      state.open[state.number] = answer
      return state.number
    }
    send(.request(id: .whole(id), method: method, params: params))
    for await result in answers { return result }
    if state.withLock({ $0.open.removeValue(forKey: id) }) != nil {
      send(.notification(method: "$/cancel_request", params: ["requestId": .whole(id)]))
    }
    return nil
  }

  /// The editor has answered; an answer to no open request is ignored.
  func answered(_ id: JSONTree, _ result: JSONTree) {
    guard let id = id.integer else { return }
    let open = state.withLock { $0.open.removeValue(forKey: id) }
    open?.yield(result)
    open?.finish()
  }
}
