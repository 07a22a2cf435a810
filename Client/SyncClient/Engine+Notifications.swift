import ClientCore
import ClientStore
import WireProtocol

/// Requests about this device's notifications.
extension Engine {
  /// Sends the server a request about this device's notifications; `.unavailable` if that is
  /// impossible, or no answer arrives in time.
  func inquire(_ request: InboxRequest, within limit: Duration) async -> InboxAnswer {
    let id = DeviceClock.randomValue()
    guard !state.isClosed, let actions = state.core.inboxQuestionAsked(request, id: id)
    else { return .unavailable }
    return await withTaskCancellationHandler {
      await withCheckedContinuation { continuation in
        state.inquiries[id] = continuation
        settle(actions)
        // Set after the request, because an immediate time limit must find it.
        soon(after: DeviceClock.milliseconds(limit)) { $0.giveUp(id) }
      }
    } onCancel: {
      soon { $0.giveUp(id) }
    }
  }

  private func giveUp(_ inquiry: UInt64) {
    state.inquiries.removeValue(forKey: inquiry)?.resume(returning: .unavailable)
  }
}
