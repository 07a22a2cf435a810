import QueueModel
import SequenceCRDT
import WireProtocol

extension ConnectionMachine {
  /// Sends outgoing operations while the window has room.
  mutating func sendBatches(at context: EventContext, store: some ReplicaStore) -> [Action] {
    guard case .live(var live) = state else { return [] }
    var actions: [Action] = []
    do {
      // Offline typing gets its edition before any of its letters is sent.
      if live.maySend { actions += try endTypingApart(at: context, store: store) }
      while live.maySend, live.window.voidedAnswers == 0, live.window.hasRoom,
        live.window.cursor < replica.lastEntry
      {
        let sent = try nextBatch(&live, at: context, store: store)
        if sent.isEmpty { break }
        actions += sent
      }
    } catch {
      return failed(error, at: context)
    }
    state = .live(live)
    noteIfSynced(at: context)
    return actions
  }

  private func nextBatch(
    _ live: inout LiveConnection, at context: EventContext, store: some ReplicaStore
  ) throws(Replica.Fault) -> [Action] {
    let outbox = replica.record.outbox
    guard !outbox.isEmpty else {
      live.window.cursor = replica.lastEntry
      return []
    }
    let only = replica.onlyEntry(after: live.window.cursor)
    let entries =
      if let only { [only] } else {
        try entries(in: outbox.ranges, after: live.window.cursor, store)
      }
    guard !entries.isEmpty else {
      live.window.cursor = replica.lastEntry
      return []
    }
    let bytesMax = min(ClientLimits.batchBytesMax, live.window.bytesMax)
    var commands: [[Operation]] = []
    var units = 0
    var bytes = 0
    for entry in entries {
      let fresh = entry.operations.filter { $0.lastID.map(outbox.contains) ?? false }
      let entryUnits = fresh.reduce(0) { $0 + $1.length }
      let entryBytes = fresh.reduce(0) { $0 + $1.sizeEstimate }
      // The operations of one entry belong to one command and are sent together.
      if !commands.isEmpty,
        units + entryUnits > ClientLimits.batchUnitsMax
          || bytes + entryBytes > bytesMax
      {
        break
      }
      if !fresh.isEmpty { commands.append(fresh) }
      units += entryUnits
      bytes += entryBytes
      live.window.cursor = entry.id
    }
    guard !commands.isEmpty else { return [] }
    let operations = commands.flatMap { $0 }
    let parts =
      if let packed = only?.packed, packed.count <= WireLimits.deltaBytesMax,
        only?.operations.count == operations.count
      {
        [packed]
      } else {
        PackedDelta.pack(commands: commands, bytesMax: WireLimits.deltaBytesMax)
      }
    let ranges = operations.ranges
    var actions: [Action] = []
    for (index, part) in parts.enumerated() {
      let isLast = index == parts.count - 1
      let batch = live.window.send(isLast ? ranges : [], bytes: part.count, at: context.now)
      actions.append(.send(live.id, .changes(Changes(batch: batch, delta: part))))
    }
    return actions
  }

  private func entries(
    in outgoing: [OperationRange], after cursor: Int64, _ store: some ReplicaStore
  ) throws(Replica.Fault) -> [StoredOperations] {
    do throws(StoreError) {
      return try store.entries(
        in: outgoing, after: cursor, countMax: ClientLimits.batchEntriesMax)
    } catch {
      throw .store(error)
    }
  }

  /// Whether the server has everything, and the device has all that the server is known to have.
  var isSynced: Bool {
    guard case .live(let live) = state else { return false }
    return live.maySend && live.window.isEmpty && live.assembly == nil
      && replica.record.outbox.isEmpty
  }

  mutating func noteIfSynced(at context: EventContext) {
    if isSynced { lastSyncedWall = time(at: context) }
  }

  mutating func acknowledged(
    _ ack: Ack, _ live: LiveConnection, at context: EventContext, store: some ReplicaStore
  ) throws(Replica.Fault) -> [Action] {
    var live = live
    guard let flight = live.window.takeFlight(ack.batch, at: context.now) else {
      state = .live(live)
      return sendBatches(at: context, store: store)
    }
    live.head = max(live.head, ack.prefix.position)
    problem = nil
    try replica.acknowledge(flight.ranges, prefix: ack.prefix, store: store)
    let actions =
      live.window.flights.isEmpty
      ? acknowledgementFollowing(&live, at: context, store: store) : []
    state = .live(live)
    return actions + sendBatches(at: context, store: store)
  }
}

extension Operation {
  /// The approximate uncompressed size of the operation, in bytes.
  var sizeEstimate: Int {
    switch body {
    case .insertText(let insertion): 24 + insertion.text.utf8.count
    case .openSession(_, let clears), .addTag(_, _, let clears, _), .clearTags(_, _, let clears):
      48 + 12 * clears.count
    default: 64
    }
  }
}
