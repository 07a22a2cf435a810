import QueueModel
import SequenceCRDT

/// Workspaces with waiting batches, and the order of their turns: the one with the least work done
/// is next (start-time fair queueing, Goyal, Vin and Cheng 1996).
///
/// So a workspace that always has batches does not delay the others, and expensive batches come
/// after those that others send meanwhile.
struct ReadyWorkspaces: Sendable {
  private struct Turn: Sendable {
    var workspace: WorkspaceID
    /// The work done for it, and its order of arrival: the least comes first.
    var place: Int
    var arrival: Int
  }

  /// The workspaces that wait for the next round, and each one's order of arrival.
  private var waiting: [WorkspaceID: Int] = [:]
  private var arrivals = 0
  /// The workspaces with a turn in this round, the first one last.
  private var turns: [Turn] = []
  /// The work that was done for each, counted from `level` at its arrival.
  private var places: [WorkspaceID: Int] = [:]
  /// The number of places at which outdated ones are dropped.
  private var placesMax = 1_000
  /// The place of the workspace that last had a turn. New arrivals begin there, so silence earns no
  /// advantage.
  private(set) var level = 0

  var isEmpty: Bool { waiting.isEmpty }

  mutating func enter(_ id: WorkspaceID) {
    guard waiting[id] == nil else { return }
    waiting[id] = arrivals
    arrivals += 1
  }

  /// Removes and returns the waiting workspaces, in order of arrival.
  mutating func takeAll() -> [WorkspaceID] {
    defer { waiting = [:] }
    return waiting.sorted { $0.value < $1.value }.map(\.key)
  }

  /// Begins a round of turns for the waiting workspaces. Later arrivals wait for the next one.
  ///
  /// - Complexity: O(workspaces · log).
  mutating func beginRound() {
    turns = waiting.map { id, arrival in
      Turn(workspace: id, place: max(places[id] ?? 0, level), arrival: arrival)
    }
    turns.sort { ($0.place, $0.arrival) > ($1.place, $1.arrival) }
    waiting = [:]
  }

  /// Removes and returns the workspace whose turn it is.
  ///
  /// - Parameter end: nil is returned if its place is this or later.
  mutating func next(before end: Int) -> WorkspaceID? {
    guard let turn = turns.last, turn.place < end else { return nil }
    turns.removeLast()
    level = turn.place
    return turn.workspace
  }

  /// Records work for the workspace whose turn it was.
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
    // It comes after those with the same place.
    let index = turns.indices.partitioningIndex { turns[$0].place <= place }
    turns.insert(Turn(workspace: id, place: place, arrival: arrivals), at: index)
    arrivals += 1
  }

  /// Ends the round: workspaces without a turn wait for the next one.
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
