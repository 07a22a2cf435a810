import ClientCore
import ClientStore

/// Whoever runs agents here, and its orders.
extension Engine {
  /// Lets somebody run agents; nil where somebody does already.
  func beginExecuting(
    _ event: @Sendable (inout ClientCore, EventContext, ClientStore) -> [Action]
  ) -> AsyncStream<TurnOrder>? {
    guard state.agents == nil, !state.isClosed else { return nil }
    let (stream, continuation) = AsyncStream<TurnOrder>.makeStream()
    state.agents = continuation
    note(event)
    return stream
  }

  func tell(_ order: AgentOrder) {
    guard let agents = state.agents else { return }
    switch order {
    case .start(let order):
      let memory = AgentMemory(of: order.session, in: store)
      agents.yield(.start(TurnStart(order, in: state.core.replica.workspace, memory: memory)))
    case .stop(let session, let attempt):
      agents.yield(.stop(session, attempt: attempt))
    case .askConsent(let session):
      agents.yield(.askConsent(session))
    case .consentSettled(let session):
      agents.yield(.consentSettled(session))
    case .drained:
      agents.yield(.drained)
      agents.finish()
    }
  }
}
