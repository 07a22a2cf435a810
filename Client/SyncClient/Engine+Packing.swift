import ClientCore
import ProcessResources

/// Packing what nobody touches, so that memory follows from what waits and not from what was.
extension Engine {
  /// Sessions are packed once nothing has changed for so long.
  private static let restMilliseconds: Int64 = 10_000
  /// The same if something always changes.
  private static let unrestMilliseconds: Int64 = 60_000

  /// What is unpacked is packed once nothing has changed for a while.
  func packLater() {
    state.changedAt = now
    if state.unpackedSince != nil { return }
    state.unpackedSince = now
    soon(after: Engine.restMilliseconds) { $0.packIfAtRest() }
  }

  private func packIfAtRest() {
    guard !state.isClosed, let since = state.unpackedSince else { return }
    let due = min(
      state.changedAt + Engine.restMilliseconds, since + Engine.unrestMilliseconds)
    guard now >= due else { return soon(after: due - now) { $0.packIfAtRest() } }
    state.unpackedSince = nil
    state.core.pack()
    publish()
    Heap.giveBackFreed()
  }
}
