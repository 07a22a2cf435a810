public import SequenceCRDT

/// The replicated queues of one person or team. SKETCH: signatures only, engine follows.
public struct Workspace: Sendable {
  package init() { fatalError("sketch") }
  package init(image: WorkspaceImage) throws(MergeError) { fatalError("sketch") }
  package func image() -> WorkspaceImage { fatalError("sketch") }
  public var vector: VersionVector { fatalError("sketch") }
  package func digest(of replica: ReplicaID) -> UInt64 { fatalError("sketch") }
  package var latestStamp: Stamp { fatalError("sketch") }
  package var pendingOperations: [Operation] { fatalError("sketch") }
  public var missingRanges: [OperationRange] { fatalError("sketch") }

  package struct MergeOutcome: Sendable {
    package var applied: [Operation]
    package var waiting: Int
    package var duplicates: Int
    package var touched: TouchedQueues
  }

  package mutating func merge(_ operations: [Operation]) throws(MergeError) -> MergeOutcome {
    fatalError("sketch")
  }

  package mutating func perform(_ command: Command, in context: CommandContext)
    throws(QueueError) -> CommandOutcome
  { fatalError("sketch") }

  package mutating func announce(device: DeviceID, name: String, replica: ReplicaID) -> [Operation]
  { fatalError("sketch") }

  public func threadQueue() -> ThreadQueueView { fatalError("sketch") }
  public func messageQueue(_ session: SessionID) throws(QueueError) -> MessageQueueView {
    fatalError("sketch")
  }
  public func message(_ id: MessageID) throws(QueueError) -> MessageView { fatalError("sketch") }
  public func messageID(fromPrefix prefix: some StringProtocol) throws(QueueError) -> MessageID {
    fatalError("sketch")
  }
  public func sessions() -> [SessionView] { fatalError("sketch") }
  public func editBase(_ id: MessageID) throws(QueueError) -> EditBase { fatalError("sketch") }
  package func checkInvariants() throws {}
}

public struct EditBase: Hashable, Sendable {}
