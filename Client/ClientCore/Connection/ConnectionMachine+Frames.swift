import QueueModel
import SequenceCRDT
import WireProtocol

/// The result of a frame.
enum ReceivedFrame: Sendable {
  /// It was for the connection, with these actions.
  case done([ClientCore.Action])
  /// It is for the machine that asked.
  case response(Response)
  case answered(AnsweredNotice)
  /// It is for the inbox.
  case notification(InboxNotification)
}

extension ConnectionMachine {
  /// A frame arrived.
  mutating func frameReceived(
    _ frame: Frame, on id: TransportID, at context: EventContext, store: some ReplicaStore
  ) -> ReceivedFrame {
    // Frames of an abandoned connection may still arrive.
    guard current == id else { return .done([]) }
    connectionHeard(id, at: context)
    do throws(Replica.Fault) {
      switch frame {
      case .welcome(let welcome):
        return .done(try welcomed(welcome, at: context, store: store))
      case .refused(let refusal):
        return .done(try refused(refusal, at: context, store: store))
      case .goAway(let goAway):
        return .done(sentAway(goAway, at: context))
      case .error(let fault):
        let message = "the server reports error \(fault.code): \(fault.message)"
        return .done(fail(ConnectionProblem(message: message), at: context))
      case .notification(let notification):
        guard case .live(let live) = state else { return .done(sentTooEarly(at: context)) }
        // Its subject may be in the joined state; the server delivers it again then.
        if live.isOffering { return .done([]) }
        return .notification(notification)
      case .access(let notice):
        announcedAccess = .given(notice.role, until: notice.expiresAt)
        return .done([])
      case .unknownOptional:
        return .done([])
      case .answered(let notice):
        return .answered(notice)
      case .response(let response):
        return .response(response)
      case .changes, .ack, .snapshot, .presence:
        guard case .live(let live) = state else { return .done(sentTooEarly(at: context)) }
        // The edition of offline typing has the text that its user saw, without the incoming
        // changes.
        let ended = live.isOffering ? [] : try endTypingApart(at: context, store: store)
        return .done(ended + (try dataReceived(frame, live, at: context, store: store)))
      case .outputWanted(let question):
        return .done([.outputWanted(id, question)])
      case .pair, .paired, .hello, .request, .notified, .output:
        return .done(
          fail(ConnectionProblem(message: "the server sent a frame out of turn"), at: context))
      }
    } catch {
      return .done(failed(error, at: context))
    }
  }

  private mutating func sentTooEarly(at context: EventContext) -> [Action] {
    fail(ConnectionProblem(message: "the server sent data before its welcome"), at: context)
  }

  private mutating func dataReceived(
    _ frame: Frame, _ live: LiveConnection, at context: EventContext, store: some ReplicaStore
  ) throws(Replica.Fault) -> [Action] {
    // The server joins this device's state and then ends the connection.
    if live.isOffering { return [] }
    switch frame {
    case .changes(let changes):
      return try changesReceived(changes, live, at: context, store: store)
    case .ack(let ack):
      return try acknowledged(ack, live, at: context, store: store)
    case .snapshot(let part):
      return try snapshotReceived(part, live, at: context, store: store)
    case .presence(let list):
      devices = list
      return []
    default:
      return []
    }
  }

  /// A fault of the replica ends the connection; nothing was applied or acknowledged.
  mutating func failed(_ fault: Replica.Fault, at context: EventContext) -> [Action] {
    let message =
      switch fault {
      case .store(let error): "cannot store: \(error.message)"
      case .merge(let error): "the server sent operations that do not fit: \(error)"
      case .queue(let error): error.description
      case .history(let error): error.description
      case .access(let obstacle): obstacle.description
      case .outOfOrder: "the server sent operations that name unknown ones"
      }
    return fail(ConnectionProblem(message: message), at: context)
  }

  private mutating func sentAway(_ goAway: GoAway, at context: EventContext) -> [Action] {
    noteLoss(at: context)
    let closing = closing()
    let low = Int64(goAway.reconnectAfterMillisecondsMin)
    let high = max(low, Int64(goAway.reconnectAfterMillisecondsMax))
    let delay = low + Int64(context.random(4) % UInt64(high - low + 1))
    state = .waiting(until: context.now + delay)
    problem = ConnectionProblem(message: "the server asked to reconnect later: \(goAway.reason)")
    return closing
  }

  // MARK: Welcome

  private mutating func welcomed(
    _ welcome: Welcome, at context: EventContext, store: some ReplicaStore
  ) throws(Replica.Fault) -> [Action] {
    guard case .greeting(let id, _) = state, let credentials else {
      return fail(ConnectionProblem(message: "the server sent a second welcome"), at: context)
    }
    guard ProtocolVersion.spoken.contains(welcome.version) else {
      return fail(
        ConnectionProblem(
          message: "the server chose version \(welcome.version), which was not offered"),
        at: context)
    }
    noteServerClock(welcome.serverMilliseconds, at: context)
    backoff.minimum = min(
      Int64(welcome.backoffMillisecondsMin), ClientLimits.backoffMillisecondsMax)
    let access = announcedAccess
    try replica.remember(store: store) {
      $0.workspace = credentials.workspace
      $0.access = access
    }
    replica.nonce = welcome.nonce
    let own = replica.record.prefix
    let hasCaughtUp = own == welcome.head || own.position == 0 && welcome.head.position == 0
    problem = nil
    state = .live(
      LiveConnection(
        id: id, since: context.now, sinceWall: time(at: context),
        pingMilliseconds: welcome.pingSeconds == 0
          ? ClientLimits.pingMilliseconds
          : min(Int64(welcome.pingSeconds) * 1_000, ClientLimits.pingMilliseconds),
        phase: hasCaughtUp ? .caughtUp : .catchingUp(to: welcome.head),
        head: welcome.head.position, lastHeard: context.now, lastPing: context.now))
    return (hasCaughtUp ? [acknowledgement(on: id)] : []) + sendBatches(at: context, store: store)
  }

  func acknowledgement(on id: TransportID) -> Action {
    .send(id, .ack(Ack(batch: 0, prefix: replica.record.prefix)))
  }

  /// Acknowledges the device's position to the server, now or soon. Acknowledged means on disk, and
  /// one wait for the disk serves all changes until then.
  func acknowledgementFollowing(
    _ live: inout LiveConnection, at context: EventContext, store: some ReplicaStore
  ) -> [Action] {
    guard store.isSynchronized else {
      if live.acknowledgeAt == nil {
        live.acknowledgeAt = context.now + ClientLimits.synchronizeMilliseconds
      }
      return []
    }
    live.acknowledgeAt = nil
    return [acknowledgement(on: live.id)]
  }

  // MARK: Data

  private mutating func changesReceived(
    _ changes: Changes, _ live: LiveConnection, at context: EventContext, store: some ReplicaStore
  ) throws(Replica.Fault) -> [Action] {
    let operations: [Operation]
    do {
      operations = try PackedDelta.unpack(changes.delta)
    } catch {
      return fail(
        ConnectionProblem(message: "the server sent a broken delta: \(error)"), at: context)
    }
    var live = live
    if changes.batch != 0 {
      // A batch of this device, with stamps that differ from the device's.
      problem = nil
      _ = live.window.takeFlight(changes.batch, at: context.now)
    }
    let (rebuilds, repairs) = (replica.rebuilds, replica.record.repairs)
    let cancelled = LateText.cancelled(reportedBy: operations, in: replica.workspace)
    var touched = noteRanTexts(
      try replica.keepRanTexts(
        before: operations, wall: time(at: context), at: context, store: store))
    touched.formUnion(
      try replica.merge(
        Replica.Delivery(
          operations: operations, packed: changes.delta, prefix: changes.prefix),
        at: context, store: store))
    guard repairs == replica.record.repairs else {
      // Operations sent on this connection may have been logged under ids of a copy. They come back
      // over the next connection.
      return [.changed(touched)] + disconnect(for: .stopped) + connectIfPossible(at: context)
    }
    // The log has new numbers.
    if rebuilds != replica.rebuilds { live.window.voidFlights(alreadyAnswered: 0) }
    let settled = LateText.messages(settledBy: operations, in: replica.workspace)
    if !settled.isEmpty { replica.noteLate(among: settled) }
    if !cancelled.isEmpty { noteLateCancels(store: store, cancelled.contains) }
    return received(touched, changes.prefix, live, at: context, store: store)
  }

  /// The device has a longer prefix of the server's log.
  private mutating func received(
    _ touched: TouchedQueues, _ prefix: LogPrefix, _ live: LiveConnection, at context: EventContext,
    store: some ReplicaStore
  ) -> [Action] {
    var live = live
    live.reached(prefix.position)
    let acknowledgement = acknowledgementFollowing(&live, at: context, store: store)
    state = .live(live)
    return acknowledgement + (touched.isEmpty ? [] : [.changed(touched)])
      + sendBatches(at: context, store: store)
  }

  private mutating func snapshotReceived(
    _ part: SnapshotPart, _ live: LiveConnection, at context: EventContext, store: some ReplicaStore
  ) throws(Replica.Fault) -> [Action] {
    var live = live
    var assembly =
      part.index == 0
      ? LiveConnection.Assembly(count: part.count, nextIndex: 0, bytes: []) : live.assembly
    guard assembly?.nextIndex == part.index, assembly?.count == part.count,
      part.index < part.count
    else {
      return fail(
        ConnectionProblem(message: "the parts of a snapshot came out of order"), at: context)
    }
    assembly?.bytes.append(contentsOf: part.bytes)
    assembly?.nextIndex = part.index + 1
    guard let bytes = assembly?.bytes, bytes.count <= ClientLimits.snapshotBytesMax else {
      return fail(ConnectionProblem(message: "the server's snapshot is too large"), at: context)
    }
    guard part.index + 1 == part.count else {
      live.assembly = assembly
      state = .live(live)
      return []
    }
    live.assembly = nil
    let image: WorkspaceImage
    do {
      image = try PackedSnapshot.unpack(bytes)
    } catch {
      return fail(
        ConnectionProblem(message: "the server sent a broken snapshot: \(error)"), at: context)
    }
    let base = Replica.Base(image: image, prefix: part.prefix)
    let repairs = replica.record.repairs
    let before = replica.workspace
    var touched = noteRanTexts(
      try replica.keepRanTexts(before: base, wall: time(at: context), at: context, store: store))
    guard let installed = try replica.install(base, at: corrected(context), store: store) else {
      return (touched.isEmpty ? [] : [.changed(touched)])
        + (try offerState(live, at: context, store: store))
    }
    touched.formUnion(installed)
    replica.noteLate(since: before)
    noteLateCancels(store: store) { LateText.isCancelled($0, in: before) }
    live.window.voidFlights(alreadyAnswered: 0)
    let actions = received(touched, part.prefix, live, at: context, store: store)
    guard repairs != replica.record.repairs else { return actions }
    let message =
      "a copy of this device's memory wrote under the same ids; a change that the server is missing "
      + "comes back, as a new message if it has another"
    return [.report(ConnectionProblem(message: message))] + actions
  }

  /// The server's log lacks logged operations that this device has: it gets the state to join.
  private mutating func offerState(
    _ live: LiveConnection, at context: EventContext, store: some ReplicaStore
  ) throws(Replica.Fault) -> [Action] {
    var live = live
    let bytes = PackedSnapshot.pack(try replica.loggedState(store: store))
    live.phase = .offering(
      until: context.now + ClientLimits.answerMilliseconds(bytes: bytes.count),
      hasCaughtUp: live.hasCaughtUp)
    problem = ConnectionProblem(
      message: "the server is missing changes that this device has; sending them again")
    state = .live(live)
    return SnapshotPart.parts(of: bytes, bytesMax: ClientLimits.batchBytesMax).map {
      .send(live.id, .snapshot($0))
    }
  }
}
