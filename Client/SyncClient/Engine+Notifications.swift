import ClientCore
import WireProtocol

/// Questions about this device's notifications, and what it wants of them.
extension Engine {
  /// Takes over what the device wants to be notified of; the server is told when it is there.
  func prefer(_ preferences: NotificationPreferences) {
    enqueue { state in
      guard !state.isClosed else { return }
      self.settle(
        &state, state.core.notificationPreferencesChanged(preferences, at: self.context()))
    }
  }

  /// Asks the server something about this device's notifications; `.unavailable` where it cannot be
  /// asked, or does not answer in time.
  func inquire(_ request: InboxRequest, within limit: Duration) async -> InboxAnswer {
    let id = Engine.randomValue()
    let (answers, continuation) = AsyncStream<InboxAnswer>.makeStream(
      bufferingPolicy: .bufferingOldest(1))
    let isAsked = await onQueue { state in
      guard !state.isClosed, let actions = state.core.inboxQuestionAsked(request, id: id)
      else { return false }
      state.inquiries[id] = continuation
      self.settle(&state, actions)
      return true
    }
    guard isAsked else { return .unavailable }
    let answer = await withTaskGroup(of: InboxAnswer?.self) { group in
      group.addTask {
        for await answer in answers { return answer }
        return nil
      }
      group.addTask {
        // Cancelled where the answer comes first.
        try? await Task.sleep(for: limit)
        return nil
      }
      defer { group.cancelAll() }
      return await group.next() ?? nil
    }
    await onQueue { _ = $0.inquiries.removeValue(forKey: id) }
    return answer ?? .unavailable
  }
}
