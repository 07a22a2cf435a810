import ClientCore
import ClientStore
import Foundation

/// Whoever runs agents here, and its orders.
extension Engine {
  /// Lets somebody run agents; nil where somebody does already.
  func beginExecuting(
    _ event: @escaping @Sendable (inout ClientCore, Occasion, ClientStore) -> [Action]
  ) async -> AsyncStream<ExecutionOrder>? {
    let (stream, continuation) = AsyncStream<ExecutionOrder>.makeStream()
    return await onQueue { state -> AsyncStream<ExecutionOrder>? in
      guard state.agents == nil, !state.isClosed else { return nil }
      state.agents = OrderStream(continuation)
      self.settle(&state, event(&state.core, self.occasion(), self.store))
      return stream
    }
  }

  func tell(_ order: AgentOrder, _ state: inout State) {
    guard let agents = state.agents else { return }
    switch order {
    case .prepare(let start):
      let start = ExecutionStart(start, in: state.core.replica.workspace, store: store)
      let leave = StartLeave()
      state.prepared[start.session] = (start, leave)
      // The disk gets the intent first; while it takes it, the agent is made ready.
      agents.giveSoon(.prepare(start, leave))
    case .begin(let order):
      let prepared = state.prepared.removeValue(forKey: order.session)
      prepared?.leave.decide(true)
      // Whoever has leave may stand behind this thread, which has news to tell and nothing urgent.
      sched_yield()
      holdBack(&state)
      agents.give(
        .begin(
          prepared?.start
            ?? ExecutionStart(order, in: state.core.replica.workspace, store: store)))
    case .stop(let session, let attempt):
      if let prepared = state.prepared[session], prepared.start.attempt == attempt {
        state.prepared[session] = nil
        prepared.leave.decide(false)
      }
      agents.give(.stop(session, attempt: attempt))
    case .drained:
      agents.give(.drained)
      agents.finish()
    }
  }

  /// How long frames wait while an agent begins, in milliseconds.
  private static let heldBackMilliseconds = 5

  /// An agent begins: the processor is its own first, and the news of it follows. Frames wait, in
  /// order, and not for longer because another agent begins meanwhile.
  private func holdBack(_ state: inout State) {
    guard state.held == nil else { return }
    state.held = []
    enqueue(after: Engine.heldBackMilliseconds) { self.letGo(&$0) }
  }

  /// Sends what was held back.
  func letGo(_ state: inout State) {
    guard let held = state.held else { return }
    state.held = nil
    for (id, frame) in held { state.transports[id]?.send(frame) }
  }
}
