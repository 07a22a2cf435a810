import QueueModel
import SequenceCRDT

/// Workspaces with waiting batches, and whose batch is looked at next: of the one that had the least work
/// done of those that wait (start-time fair queueing, Goyal, Vin and Cheng 1996).
///
/// So one that always has something waiting holds nobody up, and what is dear goes behind what others
/// send meanwhile.
struct ReadyWorkspaces: Sendable {
  private struct Turn: Sendable {
    var workspace: WorkspaceID
    /// How much work was done for it, and as the how-manieth it came: the lesser is first.
    var place: Int
    var arrival: Int
  }

  /// Who waits for the next round, and as the how-manieth each came.
  private var waiting: [WorkspaceID: Int] = [:]
  private var arrivals = 0
  /// Who has a turn in this round, the first one last.
  private var turns: [Turn] = []
  /// The work that was done for each, counted from what `level` was when it came.
  private var places: [WorkspaceID: Int] = [:]
  /// So many places are kept until those are dropped that say nothing any more.
  private var placesMax = 1_000
  /// The place of the workspace that had its turn last: who comes begins there, and whoever was silent has
  /// saved nothing up.
  private(set) var level = 0

  var isEmpty: Bool { waiting.isEmpty }

  mutating func enter(_ id: WorkspaceID) {
    guard waiting[id] == nil else { return }
    waiting[id] = arrivals
    arrivals += 1
  }

  /// Those who wait, in order of arrival; they wait no more.
  mutating func takeAll() -> [WorkspaceID] {
    defer { waiting = [:] }
    return waiting.sorted { $0.value < $1.value }.map(\.key)
  }

  /// Begins a round of turns for those who wait. Who enters meanwhile waits for the next one.
  ///
  /// - Complexity: O(workspaces · log).
  mutating func beginRound() {
    turns = waiting.map { id, arrival in
      Turn(workspace: id, place: max(places[id] ?? 0, level), arrival: arrival)
    }
    turns.sort { ($0.place, $0.arrival) > ($1.place, $1.arrival) }
    waiting = [:]
  }

  /// Takes the one whose turn it is.
  ///
  /// - Parameter end: nil is returned if its place is this or later.
  mutating func next(before end: Int) -> WorkspaceID? {
    guard let turn = turns.last, turn.place < end else { return nil }
    turns.removeLast()
    level = turn.place
    return turn.workspace
  }

  /// Work was done for the one whose turn it was.
  ///
  /// - Parameter hasMore: it has another turn in this round.
  /// - Complexity: O(1), and a search among the turns if it has more.
  mutating func worked(_ units: Int, for id: WorkspaceID, hasMore: Bool) {
    let place = level + units
    places[id] = place
    if places.count > placesMax {
      places = places.filter { $0.value > level }
      placesMax = max(1_000, 2 * places.count)
    }
    guard hasMore else { return }
    // It stands behind those of its place.
    let index = turns.indices.partitioningIndex { turns[$0].place <= place }
    turns.insert(Turn(workspace: id, place: place, arrival: arrivals), at: index)
    arrivals += 1
  }

  /// Ends the round: who had no turn waits for the next one.
  ///
  /// - Returns: whether there are any.
  mutating func endRound() -> Bool {
    for turn in turns {
      waiting[turn.workspace] = min(waiting[turn.workspace] ?? turn.arrival, turn.arrival)
    }
    defer { turns = [] }
    return !turns.isEmpty
  }
}
