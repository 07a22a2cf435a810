/// Bugs that the simulation can put between the production cores and their world, to show that the
/// checkers find them. Those inside the cores are patches beside the tests.
package enum PlantedBug: String, Hashable, Sendable, CaseIterable, Comparable {
  /// The server's store says a batch is durable before it is.
  case ackBeforeFsync = "ack-before-fsync"
  /// A device's store loses its latest commits when the machine loses power.
  case commitBeforeFsync = "commit-before-fsync"
  /// A device takes a batch for acknowledged as soon as it is sent.
  case outboxClearedAtSend = "outbox-cleared-at-send"
  /// The server takes stamps however far ahead of its clock they are.
  case stampClampOff = "stamp-clamp-off"
  /// Observers are not told of moves.
  case moveEventMissing = "move-event-missing"
  /// Operations that wait for others are not stored.
  case pendingForgotten = "pending-forgotten"
  /// A batch that fans out misses one of its receivers.
  case fanOutSkipsOne = "fan-out-skips-one"

  package static func < (left: PlantedBug, right: PlantedBug) -> Bool {
    left.rawValue < right.rawValue
  }
}
