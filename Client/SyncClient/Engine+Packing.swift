import ClientCore
import ProcessResources

/// Packs unused sessions, so that memory depends on waiting messages and not on the past.
extension Engine {
  /// Sessions are packed after this time without changes.
  private static let restMilliseconds: Int64 = 10_000
  /// The same time if there are always changes.
  private static let busyMilliseconds: Int64 = 60_000

  /// Packs unpacked sessions after a while without changes.
  func packLater() {
    state.changedAt = now
    if state.unpackedSince != nil { return }
    state.unpackedSince = now
    soon(after: Engine.restMilliseconds) { $0.packIfAtRest() }
  }

  private func packIfAtRest() {
    guard !state.isClosed, let since = state.unpackedSince else { return }
    let due = min(
      state.changedAt + Engine.restMilliseconds, since + Engine.busyMilliseconds)
    guard now >= due else { return soon(after: due - now) { $0.packIfAtRest() } }
    state.unpackedSince = nil
    state.core.pack()
    publish()
    Heap.giveBackFreed()
  }
}
