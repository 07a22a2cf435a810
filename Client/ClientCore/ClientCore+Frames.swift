import QueueModel
import SequenceCRDT
package import WireProtocol

extension ClientCore {
  /// Frames came in together. What follows from each for the agents is done before the next; what
  /// follows from the last is the driver's to ask for, as after every event.
  package mutating func framesReceived(
    _ frames: [Frame], on id: ConnectionID, at occasion: Occasion, store: some ReplicaStore
  ) -> [Action] {
    var actions: [Action] = []
    for (index, frame) in frames.enumerated() {
      var followed = frameReceived(frame, on: id, at: occasion, store: store)
      if index + 1 < frames.count {
        followed += executionFollowing(followed, at: occasion, store: store)
      }
      actions += followed
    }
    return actions
  }

  /// A frame came in.
  package mutating func frameReceived(
    _ frame: Frame, on id: ConnectionID, at occasion: Occasion, store: some ReplicaStore
  ) -> [Action] {
    // Frames of a connection that was given up may still be under way.
    guard link.connection == id else { return [] }
    connectionHeard(id, at: occasion)
    do {
      switch frame {
      case .welcome(let welcome):
        return try welcomed(welcome, at: occasion, store: store)
      case .refused(let refusal):
        return try refused(refusal, at: occasion, store: store)
      case .goAway(let goAway):
        return sentAway(goAway, at: occasion)
      case .error(let fault):
        return fail(
          Trouble(message: "the server reports error \(fault.code): \(fault.message)"),
          at: occasion)
      case .notification(let notification):
        guard case .exchanging = link else {
          return fail(Trouble(message: "the server sent data before its welcome"), at: occasion)
        }
        return try notificationReceived(notification, on: id, at: occasion, store: store)
      case .unknownOptional:
        return []
      case .answered(let notice):
        tasks.verdicts.append((notice.request, notice.given))
        tasks.noteTold(notice.request, notice.given)
        return try requestEnded(notice.request, store: store)
      case .response(let response):
        if let actions = inboxAnswered(response) { return actions }
        execution.responses.append(response)
        return []
      case .changes, .ack, .missing, .snapshot, .presence, .compact:
        guard case .exchanging(let exchange) = link else {
          return fail(Trouble(message: "the server sent data before its welcome"), at: occasion)
        }
        return try exchanged(frame, exchange, at: occasion, store: store)
      case .pair, .paired, .hello, .request, .epoch, .notified:
        return fail(Trouble(message: "the server sent a frame out of turn"), at: occasion)
      }
    } catch {
      return failed(error, at: occasion)
    }
  }

  private mutating func exchanged(
    _ frame: Frame, _ exchange: Exchange, at occasion: Occasion, store: some ReplicaStore
  ) throws(Replica.Fault) -> [Action] {
    // A server that lost data takes over this device's state and then ends the connection.
    if exchange.isOffering { return [] }
    switch frame {
    case .changes(let changes):
      return try changesReceived(changes, exchange, at: occasion, store: store)
    case .ack(let ack):
      return try acknowledged(ack, exchange, at: occasion, store: store)
    case .missing(let ranges):
      return try reportedMissing(ranges, exchange, at: occasion, store: store)
    case .snapshot(let part):
      return try snapshotReceived(part, exchange, at: occasion, store: store)
    case .compact(let compaction):
      return try compactReceived(compaction, exchange, at: occasion, store: store)
    case .presence(let list):
      devices = list
      return []
    default:
      return []
    }
  }

  /// A fault of the replica ends the connection; nothing was applied or acknowledged.
  mutating func failed(_ fault: Replica.Fault, at occasion: Occasion) -> [Action] {
    let message =
      switch fault {
      case .store(let error): "cannot store: \(error.message)"
      case .merge(let error): "the server sent operations that do not fit: \(error)"
      case .queue(let error): error.description
      case .history(let error): error.description
      case .snapshotBehind:
        "the server's snapshot lacks operations that this device holds; restore the server from "
          + "a newer backup, or let the other devices connect first"
      }
    return fail(Trouble(message: message), at: occasion)
  }

  private mutating func sentAway(_ goAway: GoAway, at occasion: Occasion) -> [Action] {
    let open = link.connection
    let low = Int64(goAway.reconnectAfterMillisecondsMin)
    let high = max(low, Int64(goAway.reconnectAfterMillisecondsMax))
    let delay = low + Int64(occasion.random(4) % UInt64(high - low + 1))
    link = .waiting(until: occasion.now + delay)
    trouble = Trouble(message: "the server asked to reconnect later: \(goAway.reason)")
    return open.map { [.close($0)] } ?? []
  }

  // MARK: Welcome

  private mutating func welcomed(
    _ welcome: Welcome, at occasion: Occasion, store: some ReplicaStore
  ) throws(Replica.Fault) -> [Action] {
    guard case .greeting(let id, _) = link, let credentials else {
      return fail(Trouble(message: "the server sent a second welcome"), at: occasion)
    }
    guard ProtocolVersion.spoken.contains(welcome.version) else {
      return fail(
        Trouble(message: "the server chose version \(welcome.version), which was not offered"),
        at: occasion)
    }
    noteServerClock(welcome.serverMilliseconds, at: occasion)
    backoffMinimum = min(
      Int64(welcome.backoffMillisecondsMin), ClientLimits.backoffMillisecondsMax)
    let assessment = replica.assess(welcome)
    var target = VersionVector()
    for entry in welcome.known { target[entry.replica] = entry.seq }
    if !needsSnapshot, !target.includes(replica.record.floor) {
      return offerState(welcome, on: id, at: occasion)
    }
    let awaitsBase = needsSnapshot || welcome.epoch != replica.record.epoch
    if !awaitsBase {
      var found = try replica.disputed(
        by: welcome.known.filter { !disputed.contains($0.replica) }, store: store)
      if replica.hasToBeGivenBack(to: welcome) { found.formUnion(replica.uncompared(by: welcome)) }
      if !found.isSubset(of: disputed) { return compareAnew(found, at: occasion) }
    }
    try replica.accept(
      welcome, assessment: assessment, disputed: awaitsBase ? nil : disputed,
      workspace: credentials.workspace, store: store)
    if assessment.isRestoredCopy {
      try replica.takeFreshReplica(at: occasion, store: store)
    }
    var exchange = exchange(welcome, on: id, at: occasion)
    exchange.awaitsBase = awaitsBase
    exchange.compared = awaitsBase ? [] : disputed
    exchange.unverified = welcome.known.filter { entry in
      awaitsBase || disputed.contains(entry.replica)
        || entry.seq > replica.workspace.vector[entry.replica]
    }
    for replica in exchange.compared { exchange.disputed[replica] = target[replica] }
    settleDisputes(&exchange)
    if !exchange.disputed.isEmpty {
      let told = try replica.known(without: disputed, store: store)
      exchange.gathered = Exchange.Gathering(
        reach: VersionVector(
          Dictionary(told.map { ($0.replica, $0.seq) }) { first, _ in first }))
    }
    exchange.hasCaughtUp =
      assessment.hasEverything && exchange.disputed.isEmpty && !exchange.awaitsBase
    trouble = nil
    link = .exchanging(exchange)
    var actions: [Action] = []
    if exchange.hasCaughtUp { actions.append(acknowledgement(on: id)) }
    return actions + pumped(at: occasion, store: store)
  }

  /// The server has something else under some ids: connects again, so that it sends what it has.
  mutating func compareAnew(
    _ replicas: Set<ReplicaID>, at occasion: Occasion
  ) -> [Action] {
    disputed.formUnion(replicas)
    refusedBatches = 0
    reauthorings += 1
    guard reauthorings <= ClientLimits.reauthoringsMax else {
      reauthorings = 0
      return fail(
        Trouble(message: "the server has other operations under the same ids"),
        retryAfter: ClientLimits.backoffMillisecondsMax, at: occasion)
    }
    return leave(for: .stopped) + connectIfPossible(at: occasion)
  }

  /// Forgets disputes that were compared to the end.
  private mutating func settleDisputes(_ exchange: inout Exchange) {
    for (id, last) in exchange.disputed
    where replica.record.acknowledged[id] >= min(last, replica.workspace.vector[id]) {
      exchange.disputed[id] = nil
      disputed.remove(id)
    }
  }

  private func exchange(
    _ welcome: Welcome, on id: ConnectionID, at occasion: Occasion
  ) -> Exchange {
    var target = VersionVector()
    for entry in welcome.known { target[entry.replica] = entry.seq }
    let frameBytes = min(Int(welcome.frameBytesMax), WireLimits.frameBytesMax)
    return Exchange(
      connection: id, since: occasion.now, sinceWall: time(at: occasion),
      deltaBytesMax: max(1_024, frameBytes - ClientLimits.frameOverheadBytesMax),
      pingMilliseconds: welcome.pingSeconds == 0
        ? ClientLimits.pingMilliseconds
        : min(Int64(welcome.pingSeconds) * 1_000, ClientLimits.pingMilliseconds),
      target: target, head: welcome.logPosition,
      lastHeard: occasion.now, lastPing: occasion.now)
  }

  /// The server lacks what this device has as state alone: it gets the state.
  private mutating func offerState(
    _ welcome: Welcome, on id: ConnectionID, at occasion: Occasion
  ) -> [Action] {
    var exchange = exchange(welcome, on: id, at: occasion)
    exchange.isOffering = true
    trouble = Trouble(message: "the server lost data; this device gives it back")
    link = .exchanging(exchange)
    let bytes = PackedSnapshot.pack(replica.workspace)
    let epoch = replica.record.epoch == EpochName.own ? EpochName.none : replica.record.epoch
    let starts = Array(stride(from: 0, to: bytes.count, by: exchange.deltaBytesMax))
    return starts.enumerated().map { index, start in
      .send(
        id,
        .snapshot(
          SnapshotPart(
            epoch: epoch, logPosition: replica.record.logPosition,
            index: UInt32(index), count: UInt32(starts.count),
            bytes: Array(bytes[start..<min(start + exchange.deltaBytesMax, bytes.count)]))))
    }
  }

  func acknowledgement(on id: ConnectionID) -> Action {
    .send(id, .ack(Ack(batch: 0, logPosition: replica.record.logPosition)))
  }

  /// Tells the server how far the device is, now or soon: acknowledged means on disk, and one wait for
  /// the disk serves all that comes until then.
  func acknowledgementFollowing(
    _ exchange: inout Exchange, at occasion: Occasion, store: some ReplicaStore
  ) -> [Action] {
    guard store.isSynchronized else {
      if exchange.acknowledgeAt == nil {
        exchange.acknowledgeAt = occasion.now + ClientLimits.synchronizeMilliseconds
      }
      return []
    }
    exchange.acknowledgeAt = nil
    return [acknowledgement(on: exchange.connection)]
  }

  // MARK: Data

  private mutating func changesReceived(
    _ changes: Changes, _ exchange: Exchange, at occasion: Occasion, store: some ReplicaStore
  ) throws(Replica.Fault) -> [Action] {
    let operations: [Operation]
    do {
      operations = try PackedDelta.unpack(changes.delta)
    } catch {
      return fail(Trouble(message: "the server sent a broken delta: \(error)"), at: occasion)
    }
    if exchange.suspectsFork { return [] }
    var exchange = exchange
    let isCompared = exchange.gathered != nil
    let delivery = Replica.Delivery(
      operations: operations, packed: changes.delta, logPosition: changes.logPosition)
    guard let deliveries = exchange.gathering(delivery) else {
      if let gathered = exchange.gathered, gathered.bytes > ClientLimits.gatheredBytesMax {
        return fail(
          Trouble(message: "the server sends more operations than can be compared at once"),
          at: occasion)
      }
      link = .exchanging(exchange)
      return []
    }
    let touched: TouchedQueues
    let changed = (replica.record.ownReplicas, replica.record.repairs)
    do {
      touched = try replica.merge(deliveries, at: occasion, store: store)
    } catch .merge(let error) {
      let doubtful = replica.comparable(exchange.unverified).subtracting(disputed)
      if !doubtful.isEmpty { return compareAnew(doubtful, at: occasion) }
      guard replica.mayBeForked, exchange.awaitsAnswers else { throw .merge(error) }
      exchange.suspectsFork = true
      link = .exchanging(exchange)
      return []
    }
    if changed != (replica.record.ownReplicas, replica.record.repairs) {
      // What is under way is no longer what is here; the log is numbered anew.
      exchange.voidFlights(alreadyAnswered: 0)
    }
    exchange.lastHeard = occasion.now
    exchange.head = max(exchange.head, changes.logPosition)
    if isCompared, replica.record.logPosition > exchange.head {
      // The server lost what was behind: positions count anew.
      try replica.remember(store: store) { $0.logPosition = exchange.head }
    }
    var actions: [Action] = []
    let missing = replica.workspace.missingRanges
    if missing != exchange.reportedMissing {
      exchange.reportedMissing = missing
      if !missing.isEmpty { actions.append(.send(exchange.connection, .missing(missing))) }
    }
    return try received(touched, exchange, actions, at: occasion, store: store)
  }

  private mutating func received(
    _ touched: TouchedQueues, _ exchange: Exchange, _ actions: [Action], at occasion: Occasion,
    store: some ReplicaStore
  ) throws(Replica.Fault) -> [Action] {
    var exchange = exchange
    settleDisputes(&exchange)
    if !exchange.hasCaughtUp, exchange.disputed.isEmpty, !exchange.awaitsBase,
      replica.workspace.vector.includes(exchange.target)
    {
      let found = try replica.disputed(by: exchange.unverified, store: store)
      if !found.isEmpty {
        // All that the log holds is the server's by now, so what differs is in the base.
        if !found.isDisjoint(with: exchange.compared) { needsSnapshot = true }
        return actions + [.changed(touched)] + compareAnew(found, at: occasion)
      }
      exchange.unverified = []
      exchange.hasCaughtUp = true
    }
    var actions = actions
    actions += acknowledgementFollowing(&exchange, at: occasion, store: store)
    link = .exchanging(exchange)
    if !touched.isEmpty { actions.append(.changed(touched)) }
    return actions + pumped(at: occasion, store: store)
  }

  private mutating func snapshotReceived(
    _ part: SnapshotPart, _ exchange: Exchange, at occasion: Occasion, store: some ReplicaStore
  ) throws(Replica.Fault) -> [Action] {
    var exchange = exchange
    var assembly =
      part.index == 0
      ? Exchange.Assembly(count: part.count, nextIndex: 0, bytes: []) : exchange.assembly
    guard assembly?.nextIndex == part.index, assembly?.count == part.count,
      part.index < part.count
    else {
      return fail(Trouble(message: "the parts of a snapshot came out of order"), at: occasion)
    }
    assembly?.bytes.append(contentsOf: part.bytes)
    assembly?.nextIndex = part.index + 1
    guard let bytes = assembly?.bytes, bytes.count <= ClientLimits.snapshotBytesMax else {
      return fail(Trouble(message: "the server's snapshot is too large"), at: occasion)
    }
    guard part.index + 1 == part.count else {
      exchange.assembly = assembly
      link = .exchanging(exchange)
      return []
    }
    let image: WorkspaceImage
    do {
      image = try PackedSnapshot.unpack(bytes)
    } catch {
      return fail(Trouble(message: "the server sent a broken snapshot: \(error)"), at: occasion)
    }
    exchange.assembly = nil
    needsSnapshot = false
    return try install(
      Replica.Base(image: image, epoch: part.epoch, logPosition: part.logPosition),
      isMadeHere: false, exchange, at: occasion, store: store)
  }

  private mutating func compactReceived(
    _ compaction: Compaction, _ exchange: Exchange, at occasion: Occasion,
    store: some ReplicaStore
  ) throws(Replica.Fault) -> [Action] {
    guard let base = try replica.base(of: compaction, store: store) else {
      needsSnapshot = true
      return leave(for: .stopped) + connectIfPossible(at: occasion)
    }
    return try install(base, isMadeHere: true, exchange, at: occasion, store: store)
  }

  private mutating func install(
    _ base: Replica.Base, isMadeHere: Bool, _ exchange: Exchange, at occasion: Occasion,
    store: some ReplicaStore
  ) throws(Replica.Fault) -> [Action] {
    var exchange = exchange
    let before = replica.lastEntry
    try replica.reauthorForked(
      from: base, isMadeHere: isMadeHere, at: occasion, store: store)
    if !isMadeHere {
      if let touched = try replica.giveWay(to: base.image, at: occasion, store: store) {
        return [.changed(touched)] + compareAnew([], at: occasion)
      }
      // The server refused the state for what was in the log.
      if !base.knows(replica.record.floor), replica.lastEntry != before {
        return compareAnew([], at: occasion)
      }
    }
    let touched = try replica.install(base, store: store)
    exchange.awaitsBase = false
    exchange.gathered = nil
    exchange.head = max(exchange.head, base.logPosition)
    // What is under way was made for the base before; the log is numbered anew.
    exchange.voidFlights(alreadyAnswered: 0)
    return try received(
      touched, exchange, [.send(exchange.connection, .epoch(base.epoch))], at: occasion,
      store: store)
  }
}
