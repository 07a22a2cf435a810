import NIOCore
import QueueModel

/// Gives turns to workspaces with packing tasks, one task at a time. So another workspace waits
/// only for one task of each, however much one of them requests.
final class PackingTurns {
  /// The waiting workspaces, the next one first.
  private var workspaces: CircularBuffer<WorkspaceID> = []
  private var waiting: [WorkspaceID: CircularBuffer<() -> Void>] = [:]
  private var isTaken = false
  private var isGiving = false

  /// Calls `begin` when the workspace's turn starts: at once if no other has one. `ended` ends it.
  func wait(for workspace: WorkspaceID, begin: @escaping () -> Void) {
    if waiting[workspace] == nil { workspaces.append(workspace) }
    waiting[workspace, default: []].append(begin)
    if !isTaken { giveTurn() }
  }

  func ended() {
    isTaken = false
    giveTurn()
  }

  private func giveTurn() {
    // If the thread has ended, a turn ends as soon as it begins. Turns then follow one another, and
    // are not nested.
    guard !isGiving else { return }
    isGiving = true
    defer { isGiving = false }
    while !isTaken, let workspace = workspaces.popFirst(),
      let begin = waiting[workspace]?.popFirst()
    {
      if waiting[workspace]?.isEmpty == true {
        waiting[workspace] = nil
      } else {
        workspaces.append(workspace)
      }
      isTaken = true
      begin()
    }
  }
}
