import WireProtocol

/// The ends of a workspace's log, durable and staged, and the length of the part after the latest
/// snapshot.
struct WorkspaceLog: Sendable {
  /// The durable log.
  private(set) var head = LogPrefix.empty
  /// The log with the staged entries; equal to `head` if nothing is in flight.
  private(set) var stagedHead = LogPrefix.empty
  private var stagedBytes = 0
  /// Entries after the latest snapshot, and their bytes.
  private var tailEntries = 0
  private var tailBytes = 0
  private(set) var snapshotBytes = 0
  /// The entries and bytes that the snapshot being saved covers.
  private var snapshotInFlight: (entries: Int, bytes: Int)?

  /// Whether nothing is in flight.
  var isQuiet: Bool { stagedHead == head }
  /// Its bytes in the store, including staged ones.
  var storedBytes: Int { snapshotBytes + tailBytes + stagedBytes }

  /// Adopts the state read from the store.
  mutating func refresh(from loaded: LoadedWorkspace) {
    head = loaded.header.head
    stagedHead = head
    stagedBytes = 0
    tailEntries = loaded.tailEntries
    tailBytes = loaded.tailBytes
    snapshotBytes = loaded.snapshotBytes
  }

  /// The next entry is handed to the store.
  mutating func stage(_ delta: [UInt8]) {
    stagedHead = stagedHead.appending(delta)
    stagedBytes += delta.count
  }

  /// The store has a staged entry.
  mutating func becameDurable(_ entry: LogEntry) {
    let bytes = entry.content.bytes.count
    head = entry.prefix
    stagedBytes -= bytes
    tailEntries += 1
    tailBytes += bytes
  }

  /// The store lost the staged entries.
  mutating func stagedWasLost() {
    stagedHead = head
    stagedBytes = 0
  }

  // MARK: - Snapshots

  /// Whether a snapshot would save a good part of the next load.
  ///
  /// - Parameter tailBytesMax: bytes after which one is due, whatever the number of entries.
  func wantsSnapshot(_ rules: ServerConfiguration.Log, tailBytesMax: Int) -> Bool {
    guard isQuiet, snapshotInFlight == nil else { return false }
    return tailEntries >= rules.snapshotEntriesMax
      || tailEntries >= rules.snapshotEntries && tailBytes >= snapshotBytes / 2
      || isTailLong(tailBytesMax)
  }

  /// Whether a load would read much after the latest snapshot.
  func isTailLong(_ bytesMax: Int) -> Bool {
    tailBytes > 0 && tailBytes >= bytesMax && tailBytes >= snapshotBytes / 2
  }

  /// A snapshot of the state at `head` was handed to the store.
  mutating func snapshotBegan() {
    snapshotInFlight = (tailEntries, tailBytes)
  }

  /// The snapshot was stored; nil if that failed, and it is tried again after the next commit.
  mutating func snapshotEnded(bytes: Int?) {
    guard let covered = snapshotInFlight else { return }
    snapshotInFlight = nil
    guard let bytes else { return }
    tailEntries = max(tailEntries - covered.entries, 0)
    tailBytes = max(tailBytes - covered.bytes, 0)
    snapshotBytes = bytes
  }
}
