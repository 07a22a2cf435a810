import Foundation
import LocalAPI
import QueueModel
import SyncClient
import Synchronization

/// The conversations of agents that users started in terminals, and the session of each.
///
/// A terminal keeps its session, whatever id the agent gives the conversation in it: after `/clear`
/// and `/branch`, the agent ends one conversation and starts another in the same process. The
/// session has the first id as its own, and the store keeps the latest one. A conversation that the
/// agent resumes elsewhere is found by its id.
final class TerminalConversations: Sendable {
  /// A conversation that ended because its agent is about to start another one.
  private struct Handover {
    var session: SessionID
    var folder: String?
    var process: AgentProcess?
    var endedAt: ContinuousClock.Instant
  }

  private struct State {
    /// Set after the store was read.
    var isLoaded = false
    /// By the agent's id.
    var sessions: [String: SessionID] = [:]
    /// Sessions whose terminals were closed.
    var ended: Set<SessionID> = []
    var handovers: [Handover] = []
  }

  /// The names in the store, beside those of agents, under which it keeps these data.
  private static let name = AgentKind.hooks.rawValue
  private static let endedName = "hooks.ended"
  /// The time within which an agent starts the next conversation.
  private static let handoverLimit = Duration.seconds(60)
  private static let handoversMax = 100

  private let client: QueueClient
  private let state = Mutex(State())

  init(client: QueueClient) {
    self.client = client
  }

  /// The session of a conversation; records its beginning or end.
  func session(
    of conversation: String, _ request: ConversationRequest
  ) async throws -> SessionID {
    try await load()
    let named = try request.session.map { try SessionID($0) }
    let own = try SessionID(conversation)
    switch request.type.flatMap(ConversationRequest.Event.init) {
    case nil: return named ?? known(own)
    case .ended:
      let session = named ?? known(own)
      if request.isContinued == true { expectAnother(after: session, request) }
      try await note(session, isEnded: true)
      return session
    case .started:
      let session = if let named { named } else { try await started(own, request) }
      try await note(session, isEnded: false)
      return session
    }
  }

  /// Sessions whose terminals were closed and not opened again.
  func ended() async throws -> Set<SessionID> {
    try await load()
    return state.withLock(\.ended)
  }

  /// A conversation's session has the conversation's id, unless a different session is known.
  private func known(_ own: SessionID) -> SessionID {
    guard let session = state.withLock({ $0.sessions[own.rawValue] }), exists(session) else {
      return own
    }
    return session
  }

  private func exists(_ session: SessionID) -> Bool {
    client.workspace().session(session) != nil
  }

  private func started(_ own: SessionID, _ request: ConversationRequest) async throws -> SessionID {
    let session = known(own)
    guard request.isContinued == true, session == own, !exists(own),
      let before = handover(to: request), exists(before)
    else { return session }
    try await client.execution.setConversation(own.rawValue, of: before, with: Self.name)
    state.withLock { $0.sessions[own.rawValue] = before }
    return before
  }

  private func expectAnother(after session: SessionID, _ request: ConversationRequest) {
    let handover = Handover(
      session: session, folder: request.folder, process: request.process, endedAt: .now)
    state.withLock { state in
      if state.handovers.count >= Self.handoversMax { state.handovers.removeFirst() }
      state.handovers.append(handover)
    }
  }

  /// Takes the latest one of the same agent, or, if the system names no processes, of the same
  /// folder.
  private func handover(to request: ConversationRequest) -> SessionID? {
    state.withLock { state in
      state.handovers.removeAll { .now - $0.endedAt > Self.handoverLimit }
      let index = state.handovers.lastIndex { handover in
        if let ours = handover.process, let theirs = request.process { return ours == theirs }
        return handover.folder != nil && handover.folder == request.folder
      }
      return index.map { state.handovers.remove(at: $0).session }
    }
  }

  private func note(_ session: SessionID, isEnded: Bool) async throws {
    guard state.withLock({ $0.ended.contains(session) }) != isEnded else { return }
    try await client.execution.setConversation(
      isEnded ? "ended" : "", of: session, with: Self.endedName)
    state.withLock { state in
      if isEnded { state.ended.insert(session) } else { state.ended.remove(session) }
    }
  }

  private func load() async throws {
    guard !state.withLock(\.isLoaded) else { return }
    let latest = try await client.execution.conversations(with: Self.name)
    let ended = try await client.execution.conversations(with: Self.endedName)
    state.withLock { state in
      guard !state.isLoaded else { return }
      state.isLoaded = true
      for (session, conversation) in latest { state.sessions[conversation] = session }
      state.ended.formUnion(ended.filter { !$0.value.isEmpty }.keys)
    }
  }
}

extension ConversationRequest {
  /// nil if the system names none, or if it has ended.
  fileprivate var process: AgentProcess? {
    guard let agentProcess, let agentStart else { return nil }
    return AgentProcess(id: agentProcess, start: agentStart)
  }
}
