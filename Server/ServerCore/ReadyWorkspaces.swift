import QueueModel

/// Workspaces with waiting batches, and whose batch is looked at next: of the one that had the least work
/// done of those that wait (start-time fair queueing, Goyal, Vin and Cheng 1996).
///
/// So one that always has something waiting holds nobody up, and what is dear goes behind what others
/// send meanwhile.
struct ReadyWorkspaces: Sendable {
  /// In order of arrival; each once.
  private var waiting: [WorkspaceID] = []
  /// The work that was done for each, counted from what `level` was when it came.
  private var places: [WorkspaceID: Int] = [:]
  /// The place of the workspace that had its turn last: who comes begins there, and whoever was silent has
  /// saved nothing up.
  private(set) var level = 0

  var isEmpty: Bool { waiting.isEmpty }

  mutating func enter(_ id: WorkspaceID) {
    if !waiting.contains(id) { waiting.append(id) }
  }

  mutating func takeAll() -> [WorkspaceID] {
    defer { waiting = [] }
    return waiting
  }

  /// Puts back those who were not reached, before those that came since.
  mutating func putBack(_ ids: [WorkspaceID]) {
    waiting = ids + waiting
  }

  /// Takes the one whose turn it is out of some.
  ///
  /// - Parameter end: nil is returned where its place is this or later.
  /// - Complexity: O(workspaces).
  mutating func next(of ids: inout [WorkspaceID], before end: Int) -> WorkspaceID? {
    let standings = ids.map { max(places[$0] ?? 0, level) }
    guard let place = standings.min(), place < end, let index = standings.firstIndex(of: place)
    else { return nil }
    level = place
    return ids.remove(at: index)
  }

  /// Work was done for the one whose turn it was.
  mutating func worked(_ units: Int, for id: WorkspaceID) {
    places[id] = level + units
    if places.count > 1_000 { places = places.filter { $0.value > level } }
  }
}
