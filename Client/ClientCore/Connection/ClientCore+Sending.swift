import QueueModel
import SequenceCRDT
import WireProtocol

extension ClientCore {
  /// Sends outgoing operations while the window has room.
  mutating func pumped(at occasion: Occasion, store: some ReplicaStore) -> [Action] {
    guard case .exchanging(var exchange) = link else { return [] }
    var actions: [Action] = []
    do {
      while exchange.maySend, exchange.voidedAnswers == 0,
        exchange.hasRoom, exchange.cursor < replica.lastEntry
      {
        let sent = try nextBatch(&exchange, at: occasion, store: store)
        if sent.isEmpty { break }
        actions += sent
      }
    } catch {
      return failed(error, at: occasion)
    }
    link = .exchanging(exchange)
    noteIfSynced(at: occasion)
    return actions
  }

  private func nextBatch(
    _ exchange: inout Exchange, at occasion: Occasion, store: some ReplicaStore
  ) throws(Replica.Fault) -> [Action] {
    let outbox = replica.record.outbox
    guard !outbox.isEmpty else {
      exchange.cursor = replica.lastEntry
      return []
    }
    let only = replica.onlyEntry(after: exchange.cursor)
    let entries = if let only { [only] } else { try entries(in: outbox.ranges, exchange, store) }
    guard !entries.isEmpty else {
      exchange.cursor = replica.lastEntry
      return []
    }
    let bytesMax = min(ClientLimits.batchBytesMax, exchange.windowBytes)
    var commands: [[Operation]] = []
    var units = 0
    var bytes = 0
    for entry in entries {
      let fresh = entry.operations.filter { $0.lastID.map(outbox.contains) ?? false }
      let entryUnits = fresh.reduce(0) { $0 + $1.length }
      let entryBytes = fresh.reduce(0) { $0 + $1.sizeEstimate }
      // What one entry holds was done by one command and travels together.
      if !commands.isEmpty,
        units + entryUnits > ClientLimits.batchUnitsMax
          || bytes + entryBytes > bytesMax
      {
        break
      }
      if !fresh.isEmpty { commands.append(fresh) }
      units += entryUnits
      bytes += entryBytes
      exchange.cursor = entry.id
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
      exchange.lastBatch += 1
      let isLast = index == parts.count - 1
      exchange.flights.append(
        Exchange.Flight(
          batch: exchange.lastBatch, ranges: isLast ? ranges : [], sentAt: occasion.now,
          bytes: part.count, load: exchange.bytesUnderWay + part.count))
      let changes = Changes(batch: exchange.lastBatch, delta: part)
      actions.append(.send(exchange.connection, .changes(changes)))
    }
    return actions
  }

  private func entries(
    in outgoing: [OperationRange], _ exchange: Exchange, _ store: some ReplicaStore
  ) throws(Replica.Fault) -> [LogEntry] {
    do throws(StoreError) {
      return try store.entries(
        in: outgoing, after: exchange.cursor, countMax: ClientLimits.batchEntriesMax)
    } catch {
      throw .store(error)
    }
  }

  /// Whether the server has everything and the device all that is known to be there.
  package var isSynced: Bool {
    guard case .exchanging(let exchange) = link else { return false }
    return exchange.hasCaughtUp && exchange.flights.isEmpty && exchange.voidedAnswers == 0
      && exchange.assembly == nil && exchange.maySend && replica.record.outbox.isEmpty
  }

  mutating func noteIfSynced(at occasion: Occasion) {
    if isSynced { lastSyncedWall = time(at: occasion) }
  }

  mutating func acknowledged(
    _ ack: Ack, _ exchange: Exchange, at occasion: Occasion, store: some ReplicaStore
  ) throws(Replica.Fault) -> [Action] {
    var exchange = exchange
    guard let flight = exchange.takeFlight(ack.batch, at: occasion.now) else {
      // An answer to a batch that goes again; that one's answer will count.
      exchange.voidedAnswers = max(0, exchange.voidedAnswers - 1)
      link = .exchanging(exchange)
      return pumped(at: occasion, store: store)
    }
    exchange.head = max(exchange.head, ack.prefix.position)
    trouble = nil
    try replica.acknowledge(flight.ranges, prefix: ack.prefix, store: store)
    let actions =
      exchange.flights.isEmpty
      ? acknowledgementFollowing(&exchange, at: occasion, store: store) : []
    link = .exchanging(exchange)
    return actions + pumped(at: occasion, store: store)
  }
}

extension Operation {
  /// About how many bytes the operation takes uncompressed.
  var sizeEstimate: Int {
    switch body {
    case .insertText(let insertion): 24 + insertion.text.utf8.count
    case .openSession(_, let clears), .addTag(_, _, let clears, _), .clearTags(_, _, let clears):
      48 + 12 * clears.count
    default: 64
    }
  }
}
