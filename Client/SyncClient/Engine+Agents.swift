import ClientCore
import ClientStore

/// Whoever runs agents here, and its orders.
extension Engine {
  /// Lets somebody run agents; nil where somebody does already.
  func beginExecuting(
    _ event: @escaping @Sendable (inout ClientCore, Occasion, ClientStore) -> [Action]
  ) async -> AsyncStream<ExecutionOrder>? {
    let (stream, continuation) = AsyncStream<ExecutionOrder>.makeStream()
    return await onQueue { state -> AsyncStream<ExecutionOrder>? in
      guard state.agents == nil, !state.isClosed else { return nil }
      state.agents = continuation
      self.settle(&state, event(&state.core, self.occasion(), self.store))
      return stream
    }
  }

  func tell(_ order: AgentOrder, _ state: inout State) {
    guard let agents = state.agents else { return }
    switch order {
    case .prepare(let start):
      let start = ExecutionStart(start, in: state.core.replica.workspace, store: store)
      state.prepared[start.session] = start
      agents.yield(.prepare(start))
    case .begin(let order):
      let start = state.prepared.removeValue(forKey: order.session)
      agents.yield(
        .begin(start ?? ExecutionStart(order, in: state.core.replica.workspace, store: store)))
    case .stop(let session, let attempt):
      state.prepared[session] = nil
      agents.yield(.stop(session, attempt: attempt))
    case .drained:
      agents.yield(.drained)
      agents.finish()
    }
  }
}
