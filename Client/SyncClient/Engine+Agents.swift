import ClientCore
import ClientStore
import Logging
import QueueModel

/// The code that runs agents here, and the orders for it.
extension Engine {
  struct Agents {
    var orders: AsyncStream<TurnOrder>.Continuation
    /// Whether they follow the device's settings, including later changes.
    var areAsSet: Bool
    /// The receiver of other devices' requests for output.
    var outputs: AsyncStream<OutputWish>.Continuation?
  }

  /// Registers the code that runs agents; returns nil if some is already registered.
  ///
  /// - Parameter isSetOnce: whether later changes to the device's settings do not apply.
  func beginExecuting(
    isSetOnce: Bool, _ event: @Sendable (inout ClientCore, EventContext, ClientStore) -> [Action]
  ) -> AsyncStream<TurnOrder>? {
    guard state.agents == nil, !state.isClosed else { return nil }
    let (stream, continuation) = AsyncStream<TurnOrder>.makeStream()
    state.agents = Agents(orders: continuation, areAsSet: !isSetOnce)
    note(event)
    return stream
  }

  /// The device's settings changed. They are read in the turn that processes the change: several
  /// changes may arrive in parallel, and the latest counts.
  func settingsChanged(_ device: DeviceState) {
    note { [areAsSet = state.agents?.areAsSet == true] core, context, store in
      let settings = device.settings
      core.retentionChanged(toDays: settings.retention, at: context)
      let actions = core.notificationPreferencesChanged(
        settings.notifications.preferences, at: context)
      guard areAsSet else { return actions }
      return actions
        + core.executionSettingsChanged(settings.execution, at: context, store: store)
    }
  }

  func tell(_ order: AgentOrder) {
    guard let agents = state.agents?.orders else { return }
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

  /// A new session with the name of a deleted one begins a new conversation.
  func forgetConversations(_ touched: TouchedQueues) {
    for session in touched.sessions
    where state.core.replica.workspace.host(of: session) == nil {
      do {
        try store.forgetConversations(of: session)
      } catch {
        logger.warning("cannot forget the conversation of a deleted session: \(error)")
      }
    }
  }
}
