import ClientCore
import ClientStore

/// Whoever runs agents here, and its orders.
extension Engine {
  /// Lets somebody run agents; nil where somebody does already.
  func beginExecuting(
    _ event: @escaping @Sendable (inout ClientCore, EventContext, ClientStore) -> [Action]
  ) async -> AsyncStream<TurnOrder>? {
    let (stream, continuation) = AsyncStream<TurnOrder>.makeStream()
    return await onQueue { state -> AsyncStream<TurnOrder>? in
      guard state.agents == nil, !state.isClosed else { return nil }
      state.agents = continuation
      self.settle(&state, event(&state.core, self.context(), self.store))
      return stream
    }
  }

  func tell(_ order: AgentOrder, _ state: inout State) {
    guard let agents = state.agents else { return }
    switch order {
    case .start(let order):
      agents.yield(.start(TurnStart(order, in: state.core.replica.workspace, store: store)))
    case .stop(let session, let attempt):
      agents.yield(.stop(session, attempt: attempt))
    case .drained:
      agents.yield(.drained)
      agents.finish()
    }
  }
}
