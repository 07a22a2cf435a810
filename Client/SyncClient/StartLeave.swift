import Synchronization

/// Whether a turn that is made ready may begin: its first decision counts.
///
/// It comes with `ExecutionOrder.prepare`, and is decided the moment the disk has the attempt's intent,
/// without the way through the stream of orders.
public final class StartLeave: Sendable {
  private struct State {
    var isGiven: Bool?
    var waiting: [@Sendable (Bool) -> Void] = []
  }

  private let state: Mutex<State>

  /// - Parameter isGiven: nil where it is decided later.
  public init(isGiven: Bool? = nil) {
    state = Mutex(State(isGiven: isGiven))
  }

  /// Gives leave or refuses it; later decisions do nothing.
  public func decide(_ isGiven: Bool) {
    let waiting = state.withLock { state in
      guard state.isGiven == nil else { return [@Sendable (Bool) -> Void]() }
      defer { state.waiting = [] }
      state.isGiven = isGiven
      return state.waiting
    }
    for hear in waiting { hear(isGiven) }
  }

  /// Whether it was refused by now.
  public var isRefused: Bool { state.withLock { $0.isGiven == false } }

  /// Hears the decision on the thread that decides, or at once where it was decided; it must not wait
  /// for anything.
  public func whenDecided(_ hear: @escaping @Sendable (Bool) -> Void) {
    let decided = state.withLock { state in
      if state.isGiven == nil { state.waiting.append(hear) }
      return state.isGiven
    }
    if let decided { hear(decided) }
  }

  /// Waits for the decision; a task that is cancelled has no leave.
  public var isGiven: Bool {
    get async {
      await withTaskCancellationHandler {
        await withCheckedContinuation { continuation in
          whenDecided { continuation.resume(returning: $0) }
        }
      } onCancel: {
        decide(false)
      }
    }
  }
}

extension StartLeave: Hashable {
  /// The same leave, whatever was decided.
  public static func == (one: StartLeave, other: StartLeave) -> Bool { one === other }

  /// Hashes what it is, as opposed to what was decided.
  public func hash(into hasher: inout Hasher) { hasher.combine(ObjectIdentifier(self)) }
}
