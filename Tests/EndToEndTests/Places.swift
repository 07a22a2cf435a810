import Synchronization
import Testing

/// Lets few end-to-end tests run at a time: each starts several processes.
struct FewAtATime: SuiteTrait, TestTrait, TestScoping {
  let isRecursive = true

  func provideScope(
    for test: Test, testCase: Test.Case?,
    performing function: @Sendable @concurrent () async throws -> Void
  ) async throws {
    guard testCase != nil else {
      try await function()
      return
    }
    await Places.shared.take()
    defer { Places.shared.leave() }
    try await function()
  }
}

extension Trait where Self == FewAtATime {
  static var fewAtATime: Self { FewAtATime() }
}

/// The suites of this module: everything below runs real processes on the loopback interface.
@Suite(.fewAtATime) enum EndToEnd {}

final class Places: Sendable {
  static let shared = Places(count: 2)

  private struct State {
    var free: Int
    var waiting: [CheckedContinuation<Void, Never>] = []
  }

  private let state: Mutex<State>

  init(count: Int) {
    state = Mutex(State(free: count))
  }

  func take() async {
    await withCheckedContinuation { continuation in
      let isFree = state.withLock { state in
        guard state.free == 0 else {
          state.free -= 1
          return true
        }
        state.waiting.append(continuation)
        return false
      }
      if isFree { continuation.resume() }
    }
  }

  func leave() {
    let next = state.withLock { state -> CheckedContinuation<Void, Never>? in
      guard state.waiting.isEmpty else { return state.waiting.removeFirst() }
      state.free += 1
      return nil
    }
    next?.resume()
  }
}
