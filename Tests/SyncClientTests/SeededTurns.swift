import Dispatch
import SyncTestSupport
import Synchronization

@testable import SyncClient

/// Runs turns one at a time in an order that a seed draws: any waiting one may be next.
final class SeededTurns: TurnQueue {
  private struct Waiting {
    var isBehind: Bool
    var body: @Sendable () -> Void
  }

  private struct State {
    var generator: SeededGenerator
    var waiting: [Waiting] = []
  }

  private let queue = DispatchQueue(label: "cospool.seeded")
  private let state: Mutex<State>

  init(seed: UInt64) { state = Mutex(State(generator: SeededGenerator(seed: seed))) }

  func run(_ turn: @escaping @Sendable () -> Void) { add(Waiting(isBehind: false, body: turn)) }

  func runBehind(_ body: @escaping @Sendable () -> Void) {
    add(Waiting(isBehind: true, body: body))
  }

  func run(after milliseconds: Int64, _ body: @escaping @Sendable () -> Void) {
    DispatchQueue.global().asyncAfter(
      deadline: .now() + .milliseconds(Int(clamping: max(0, milliseconds)))
    ) { self.runBehind(body) }
  }

  func checkIsTurn() { dispatchPrecondition(condition: .onQueue(queue)) }

  private func add(_ waiting: Waiting) {
    state.withLock { $0.waiting.append(waiting) }
    queue.async { self.runOne() }
  }

  /// Turns before something that must come after them are not overtaken by later ones.
  private func runOne() {
    let body = state.withLock { state in
      let end = state.waiting.firstIndex(where: \.isBehind) ?? state.waiting.count
      let index = end == 0 ? 0 : state.generator.below(end)
      return state.waiting.remove(at: index).body
    }
    body()
  }
}
