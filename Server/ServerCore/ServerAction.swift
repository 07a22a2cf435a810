package import QueueModel
package import WireProtocol

/// An action of the driver after an event; actions are performed in order.
package enum ServerAction: Sendable {
  /// Sends one encoded frame, the same bytes to each connection. The driver reports the unsent
  /// bytes with `bytesBuffered` as they change; the core holds back the bytes beyond its window.
  case send([UInt8], to: [ConnectionID])
  /// Closes with a WebSocket close code after sending all earlier frames; no more frames are read
  /// from it.
  case close(ConnectionID, code: CloseCode, reason: String)
  /// Drops the connection and its unsent bytes at once, because the receiver does not read.
  case abort(ConnectionID, reason: String)
  /// Stops or resumes reading from the connection, so that its sender slows down.
  case setReading(ConnectionID, isOn: Bool)
  /// The connection has authenticated for a workspace; the driver no longer needs to count its raw
  /// bytes.
  case authenticated(ConnectionID, WorkspaceID)
  /// Runs the task on the store's thread, in order, and reports `storeFinished`.
  case store(StoreTaskID, StoreTask)
  /// Push orders are in the store: the push service reads them there.
  case pushOrdersStored
  /// The state of a running task, for devices that display it.
  case liveStatus(LiveStatusOrder)
  /// Pushes a test to a target now; the driver reports `pushTested`.
  case testPush(PushTargetRecord, for: ConnectionID)
  /// The result of an answer that came without a connection; each gets one.
  case answerSettled(PostedAnswerID, PostedAnswerOutcome)
  /// Unused content was unloaded.
  case contentReleased
  /// An event for the operator's log.
  case report(ServerReport)
  /// All connections are closing, and nothing is left to store.
  case stopped
}

/// Close codes of RFC 6455 that the server uses.
package enum CloseCode: UInt16, Hashable, Sendable {
  case normal = 1_000
  case goingAway = 1_001
  case protocolError = 1_002
  /// Refused: the preceding `refused` frame has the reason.
  case policyViolation = 1_008
  case messageTooBig = 1_009
  /// Reconnect, to catch up or to read the server's clock.
  case serviceRestart = 1_012
}

/// An event for the operator.
package enum ServerReport: Hashable, Sendable {
  case paired(
    workspace: WorkspaceID, device: DeviceID, name: String, letInBy: DeviceID?, source: String)
  case joined(ConnectionID, workspace: WorkspaceID, device: DeviceID, name: String)
  case refused(ConnectionID, RefusalCode, message: String)
  case faulted(ConnectionID, message: String)
  case slowConsumerCut(ConnectionID, bytes: Int)
  case revoked(ConnectionID, device: DeviceID)
  /// A user decided an agent's request: over a connection, or by the button of a notice.
  case decided(ConnectionID?, workspace: WorkspaceID, device: DeviceID, Verdict)
  /// A device had operations that the log was missing; its state was joined.
  case stateJoined(ConnectionID, workspace: WorkspaceID, device: DeviceID)
  /// Something other than this process changed the store; its devices connect again.
  case workspaceLost(WorkspaceID, WorkspaceLoss)
  case storageFailed(StorageFault)
  case storageRecovered
}

/// The codes of `ProtocolFault`, SPECIFICATION.md, section "Faults".
package enum FaultCode: UInt16, Hashable, Sendable {
  /// The frame's bytes cannot be read.
  case malformed = 1
  /// The frame is not allowed at this point.
  case unexpected = 2
  /// The frame is larger than agreed.
  case tooLarge = 3
}
