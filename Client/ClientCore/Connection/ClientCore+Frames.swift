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
      case .changes, .ack, .snapshot, .presence:
        guard case .exchanging(let exchange) = link else {
          return fail(Trouble(message: "the server sent data before its welcome"), at: occasion)
        }
        return try exchanged(frame, exchange, at: occasion, store: store)
      case .pair, .paired, .hello, .request, .notified:
        return fail(Trouble(message: "the server sent a frame out of turn"), at: occasion)
      }
    } catch {
      return failed(error, at: occasion)
    }
  }

  private mutating func exchanged(
    _ frame: Frame, _ exchange: Exchange, at occasion: Occasion, store: some ReplicaStore
  ) throws(Replica.Fault) -> [Action] {
    // The server joins this device's state and then ends the connection.
    if exchange.offerDeadline != nil { return [] }
    switch frame {
    case .changes(let changes):
      return try changesReceived(changes, exchange, at: occasion, store: store)
    case .ack(let ack):
      return try acknowledged(ack, exchange, at: occasion, store: store)
    case .snapshot(let part):
      return try snapshotReceived(part, exchange, at: occasion, store: store)
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
      case .outOfOrder: "the server sent operations that name some it did not send"
      }
    return fail(Trouble(message: message), at: occasion)
  }

  private mutating func sentAway(_ goAway: GoAway, at occasion: Occasion) -> [Action] {
    let closing = closing()
    let low = Int64(goAway.reconnectAfterMillisecondsMin)
    let high = max(low, Int64(goAway.reconnectAfterMillisecondsMax))
    let delay = low + Int64(occasion.random(4) % UInt64(high - low + 1))
    link = .waiting(until: occasion.now + delay)
    trouble = Trouble(message: "the server asked to reconnect later: \(goAway.reason)")
    return closing
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
    try replica.remember(store: store) { $0.workspace = credentials.workspace }
    replica.nonce = welcome.nonce
    let own = replica.record.prefix
    let hasCaughtUp = own == welcome.head || own.position == 0 && welcome.head.position == 0
    trouble = nil
    link = .exchanging(
      Exchange(
        connection: id, since: occasion.now, sinceWall: time(at: occasion),
        pingMilliseconds: welcome.pingSeconds == 0
          ? ClientLimits.pingMilliseconds
          : min(Int64(welcome.pingSeconds) * 1_000, ClientLimits.pingMilliseconds),
        target: welcome.head, hasCaughtUp: hasCaughtUp, head: welcome.head.position,
        lastHeard: occasion.now, lastPing: occasion.now))
    return (hasCaughtUp ? [acknowledgement(on: id)] : []) + pumped(at: occasion, store: store)
  }

  func acknowledgement(on id: ConnectionID) -> Action {
    .send(id, .ack(Ack(batch: 0, prefix: replica.record.prefix)))
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
    var exchange = exchange
    if changes.batch != 0 {
      // A batch of this device with other stamps than it gave it.
      trouble = nil
      if exchange.takeFlight(changes.batch, at: occasion.now) == nil {
        exchange.voidedAnswers = max(0, exchange.voidedAnswers - 1)
      }
    }
    let (rebuilds, repairs) = (replica.rebuilds, replica.record.repairs)
    let touched = try replica.merge(
      Replica.Delivery(
        operations: operations, packed: changes.delta, prefix: changes.prefix),
      at: occasion, store: store)
    guard repairs == replica.record.repairs else {
      // What was sent on this connection may have been logged under ids that are another copy's here:
      // on the next one it comes back.
      return [.changed(touched)] + leave(for: .stopped) + connectIfPossible(at: occasion)
    }
    // The log is numbered anew.
    if rebuilds != replica.rebuilds { exchange.voidFlights(alreadyAnswered: 0) }
    return received(touched, changes.prefix, exchange, at: occasion, store: store)
  }

  /// The device has a longer prefix of the server's log.
  private mutating func received(
    _ touched: TouchedQueues, _ prefix: LogPrefix, _ exchange: Exchange, at occasion: Occasion,
    store: some ReplicaStore
  ) -> [Action] {
    var exchange = exchange
    exchange.head = max(exchange.head, prefix.position)
    if prefix.position >= exchange.target.position { exchange.hasCaughtUp = true }
    let acknowledgement = acknowledgementFollowing(&exchange, at: occasion, store: store)
    link = .exchanging(exchange)
    return acknowledgement + (touched.isEmpty ? [] : [.changed(touched)])
      + pumped(at: occasion, store: store)
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
    exchange.assembly = nil
    let image: WorkspaceImage
    do {
      image = try PackedSnapshot.unpack(bytes)
    } catch {
      return fail(Trouble(message: "the server sent a broken snapshot: \(error)"), at: occasion)
    }
    let base = Replica.Base(image: image, prefix: part.prefix)
    guard let touched = try replica.install(base, at: occasion, store: store) else {
      return try offerState(exchange, at: occasion, store: store)
    }
    exchange.voidFlights(alreadyAnswered: 0)
    return received(touched, part.prefix, exchange, at: occasion, store: store)
  }

  /// The server's log lacks what this device has of a log: it gets the state to join.
  private mutating func offerState(
    _ exchange: Exchange, at occasion: Occasion, store: some ReplicaStore
  ) throws(Replica.Fault) -> [Action] {
    var exchange = exchange
    let bytes = PackedSnapshot.pack(try replica.loggedState(store: store))
    exchange.offerDeadline = occasion.now + ClientLimits.answerMilliseconds(bytes: bytes.count)
    trouble = Trouble(message: "the server lacks what this device has; this device gives it back")
    link = .exchanging(exchange)
    return SnapshotPart.parts(of: bytes, bytesMax: ClientLimits.batchBytesMax).map {
      .send(exchange.connection, .snapshot($0))
    }
  }
}
