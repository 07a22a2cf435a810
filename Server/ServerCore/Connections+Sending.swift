import QueueModel
import WireProtocol

extension Connections {
  mutating func send(_ frame: Frame, to id: ConnectionID, _ actions: inout ActionList) {
    broadcast(frame, to: [id], &actions)
  }

  /// Sends the same frame to many connections, or queues it after the frames that wait. Skips
  /// connections that have ended or are closing.
  mutating func broadcast(
    _ frame: Frame, to ids: [ConnectionID], _ actions: inout ActionList
  ) {
    let bytes = FrameCodec.encode(frame)
    let window = traffic.sendWindowBytes
    var now: [ConnectionID] = []
    for id in ids where self[id]?.isClosing == false {
      guard let isSent = self[id]?.outgoing.offer(bytes, window: window) else {
        continue
      }
      if isSent { now.append(id) } else { cutIfSlow(id, &actions) }
    }
    if !now.isEmpty { actions.add(.send(bytes, to: now)) }
  }

  /// Sends waiting frames that fit the window.
  mutating func flush(_ id: ConnectionID, _ actions: inout ActionList) {
    guard self[id]?.isClosing == false else { return }
    let window = traffic.sendWindowBytes
    while let frame = self[id]?.outgoing.next(window: window) {
      actions.add(.send(frame, to: [id]))
    }
  }

  // MARK: - Batches

  /// A batch arrived, and waits to be stored.
  mutating func holds(_ batch: PendingBatch, _ actions: inout ActionList) {
    self[batch.connection]?.intake.holds(batch.delta.count)
    updateReading(batch.connection, &actions)
  }

  /// A batch was stored or refused.
  mutating func settled(_ batch: PendingBatch, _ actions: inout ActionList) {
    self[batch.connection]?.intake.settled(batch.delta.count)
    updateReading(batch.connection, &actions)
  }

  /// Acknowledges a batch to its author.
  mutating func acknowledge(
    _ batch: PendingBatch, at prefix: LogPrefix, _ actions: inout ActionList
  ) {
    settled(batch, &actions)
    send(.ack(Ack(batch: batch.batch, prefix: prefix)), to: batch.connection, &actions)
  }

  /// Refuses a batch; its connection stays open.
  mutating func refuse(
    _ batch: PendingBatch, _ rejection: ResidentWorkspace.Rejection, _ actions: inout ActionList,
    at now: ServerTime
  ) {
    settled(batch, &actions)
    actions.add(
      .report(.refused(batch.connection, rejection.code, message: rejection.message)))
    let refusal = Refusal(
      code: rejection.code, message: rejection.message, batch: batch.batch,
      retryAfterMilliseconds: rejection.retryAfterMilliseconds,
      serverMilliseconds: now.wallMilliseconds)
    send(.refused(refusal), to: batch.connection, &actions)
  }

  /// Sends an author the result of a batch that stores nothing.
  mutating func settle(
    _ batch: PendingBatch, _ reply: CommitInFlight.Reply, _ actions: inout ActionList,
    at now: ServerTime
  ) {
    switch reply {
    case .known(let prefix): acknowledge(batch, at: prefix, &actions)
    case .refused(let rejection): refuse(batch, rejection, &actions, at: now)
    }
  }

  // MARK: - Notifications

  mutating func tell(
    _ notification: StoredNotification, isMissed: Bool, to id: ConnectionID,
    _ actions: inout ActionList
  ) {
    self[id]?.member?.notices?.wasSent()
    send(.notification(notification.frame(isMissed: isMissed)), to: id, &actions)
  }

  // MARK: - Closing

  private mutating func cutIfSlow(_ id: ConnectionID, _ actions: inout ActionList) {
    guard let connection = self[id], !connection.isClosing,
      connection.outgoing.waitingBytes > traffic.slowConsumerBytesMax
    else { return }
    actions.add(.report(.slowConsumerCut(id, bytes: connection.outgoing.waitingBytes)))
    retire(id)
    actions.add(.abort(id, reason: "the receiver is too slow"))
  }

  mutating func close(
    _ id: ConnectionID, _ code: CloseCode, _ reason: String, _ actions: inout ActionList
  ) {
    guard self[id]?.isClosing == false else { return }
    retire(id)
    // The waiting frames are dropped with the connection; the device requests them again.
    actions.add(.close(id, code: code, reason: reason))
  }

  /// Refuses the connection and closes it.
  mutating func refuse(
    _ id: ConnectionID, _ code: RefusalCode, _ message: String, retryAfter: UInt32? = nil,
    _ actions: inout ActionList, at now: ServerTime
  ) {
    guard self[id]?.isClosing == false else { return }
    actions.add(.report(.refused(id, code, message: message)))
    let refusal = Refusal(
      code: code, message: message, retryAfterMilliseconds: retryAfter,
      serverMilliseconds: now.wallMilliseconds)
    actions.add(.send(FrameCodec.encode(.refused(refusal)), to: [id]))
    close(id, .policyViolation, message, &actions)
  }

  /// Ends the connections of a workspace that this process may no longer serve.
  mutating func leave(
    _ id: WorkspaceID, _ loss: WorkspaceLoss, _ actions: inout ActionList, at now: ServerTime
  ) {
    for member in members(of: id) {
      switch loss {
      case .changedElsewhere: close(member, .serviceRestart, loss.reason, &actions)
      case .deleted: refuse(member, .revoked, loss.reason, &actions, at: now)
      }
    }
  }

  /// Answers a violation of the protocol and closes.
  mutating func fault(
    _ id: ConnectionID, _ code: FaultCode, _ message: String, _ actions: inout ActionList
  ) {
    guard self[id]?.isClosing == false else { return }
    actions.add(.report(.faulted(id, message: message)))
    let fault = ProtocolFault(code: code.rawValue, message: message)
    actions.add(.send(FrameCodec.encode(.error(fault)), to: [id]))
    close(id, code == .tooLarge ? .messageTooBig : .protocolError, message, &actions)
  }
}
