import ClientCore
import Dispatch
import HeapMemory
import Synchronization

/// Packing what nobody touches, so that memory follows from what waits and not from what was.
extension Engine {
  /// Sessions are packed once nothing has changed for so long.
  private static let restMilliseconds: Int64 = 10_000
  /// The same where something always changes.
  private static let unrestMilliseconds: Int64 = 60_000

  /// Says how many days to keep what is over; 0 is for ever.
  func keep(days: Int) {
    enqueue { state in
      guard !state.isClosed else { return }
      state.core.retentionChanged(toDays: days, at: self.context())
      self.settle(&state, [])
    }
  }

  /// What is unpacked is packed once nothing has changed for a while.
  func packLater(_ state: inout State) {
    state.changedAt = now
    if state.unpackedSince != nil { return }
    state.unpackedSince = now
    packAfter(Engine.restMilliseconds)
  }

  private func packAfter(_ milliseconds: Int64) {
    queue.asyncAfter(deadline: .now() + .milliseconds(Int(milliseconds))) { [weak self] in
      self?.packIfAtRest()
    }
  }

  private func packIfAtRest() {
    state.withLock { state in
      guard !state.isClosed, let since = state.unpackedSince else { return }
      let due = min(
        state.changedAt + Engine.restMilliseconds, since + Engine.unrestMilliseconds)
      guard now >= due else { return packAfter(due - now) }
      state.unpackedSince = nil
      state.core.pack()
      publish(state.core)
      Heap.giveBackFreed()
    }
  }
}
