package import QueueModel
package import WireProtocol

/// What the driver does after an event, in the order given.
package enum ServerAction: Sendable {
  /// Sends one encoded frame, the same bytes to each connection. The driver reports what is still
  /// unsent with `bytesBuffered` as it changes; the core holds back what exceeds its window.
  case send([UInt8], to: [ConnectionID])
  /// Closes with a WebSocket close code after everything sent before; no more frames from it.
  case close(ConnectionID, code: CloseCode, reason: String)
  /// Drops the connection at once, unsent bytes included: the receiver does not read.
  case abort(ConnectionID, reason: String)
  /// Stops or resumes reading from the connection, so that its sender slows down.
  case setReading(ConnectionID, isOn: Bool)
  /// The connection has authenticated as one of a workspace's: the driver need not count its raw bytes any
  /// longer.
  case authenticated(ConnectionID, WorkspaceID)
  /// Runs the task on the store's thread, in order, and reports `storeFinished`.
  case store(StoreTaskID, StoreTask)
  /// Push orders are in the store: the push service reads them there.
  case pushOrdersStored
  /// The state of a running task, for devices that show it.
  case liveStatus(LiveStatusOrder)
  /// Pushes something to a target now; the driver reports `pushTested`.
  case testPush(PushTargetRecord, for: ConnectionID)
  /// What became of an answer that came without a connection; each gets one.
  case answerSettled(PostedAnswerID, PostedAnswerOutcome)
  /// What nobody used for a while has left memory.
  case contentReleased
  /// Something for the operator's log.
  case report(ServerReport)
  /// All connections were told to close and nothing is left to store.
  case stopped
}

/// Close codes of RFC 6455 that the server uses.
package enum CloseCode: UInt16, Hashable, Sendable {
  case normal = 1_000
  case goingAway = 1_001
  case protocolError = 1_002
  /// Refused: the `refused` frame before it says why.
  case policyViolation = 1_008
  case messageTooBig = 1_009
  /// Reconnect, to catch up or to read the server's clock.
  case serviceRestart = 1_012
}

/// What an operator may want to read.
package enum ServerReport: Hashable, Sendable {
  case paired(
    workspace: WorkspaceID, device: DeviceID, name: String, letInBy: DeviceID?, source: String)
  case joined(ConnectionID, workspace: WorkspaceID, device: DeviceID, name: String)
  case refused(ConnectionID, RefusalCode, message: String)
  case faulted(ConnectionID, message: String)
  case slowConsumerCut(ConnectionID, bytes: Int)
  case revoked(ConnectionID, device: DeviceID)
  /// An agent's request was decided: over a connection, or by the button of a notice.
  case decided(ConnectionID?, workspace: WorkspaceID, device: DeviceID, Verdict)
  /// A device held what the log lacked; its state was joined.
  case stateJoined(ConnectionID, workspace: WorkspaceID, device: DeviceID)
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
