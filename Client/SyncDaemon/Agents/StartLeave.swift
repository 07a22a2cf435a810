import Synchronization

/// Whether a turn that is made ready may begin: its first decision counts.
final class StartLeave: Sendable {
  private struct State {
    var isGiven: Bool?
    var waiting: [CheckedContinuation<Bool, Never>] = []
  }

  private let state: Mutex<State>

  /// - Parameter isGiven: nil where it is decided later.
  init(isGiven: Bool? = nil) {
    state = Mutex(State(isGiven: isGiven))
  }

  func decide(_ isGiven: Bool) {
    let waiting = state.withLock { state in
      guard state.isGiven == nil else { return [CheckedContinuation<Bool, Never>]() }
      defer { state.waiting = [] }
      state.isGiven = isGiven
      return state.waiting
    }
    for continuation in waiting { continuation.resume(returning: isGiven) }
  }

  var isRefused: Bool { state.withLock { $0.isGiven == false } }

  /// Waits for the decision; a task that is cancelled has no leave.
  var isGiven: Bool {
    get async {
      await withTaskCancellationHandler {
        await withCheckedContinuation { continuation in
          let decided = state.withLock { state in
            if state.isGiven == nil { state.waiting.append(continuation) }
            return state.isGiven
          }
          if let decided { continuation.resume(returning: decided) }
        }
      } onCancel: {
        decide(false)
      }
    }
  }
}
