public import Logging
public import QueueModel
public import SequenceCRDT

/// The queues of this device, kept in sync with a server.
///
/// Open one per data directory, run `run()` in a task beside the rest of the program, and give
/// commands from anywhere. Everything works without a server; a server paired later gets all of it.
///
/// ```swift
/// let client = try await QueueClient.open(.init(dataDirectory: path), logger: logger)
/// async let sync: Void = client.run()
/// let send = Command.Send(session: try SessionID("review"), id: MessageID.random(), text: "Go on")
/// try await client.perform(.send(send))
/// for await view in client.messageQueueUpdates(send.session) { show(view) }
/// ```
public final class QueueClient: Sendable {
  /// Takes the data directory's lock and opens or creates the store.
  ///
  /// - Throws: `.locked`, `.corruptStore` (set aside already; opening again starts fresh),
  ///   `.newerStore`, `.storage`.
  public static func open(
    _ configuration: ClientConfiguration, logger: Logger
  ) async throws(ClientError) -> QueueClient {
    preconditionFailure("\(configuration)")
  }

  /// Keeps the connection to the server, with reconnections, until the task is cancelled; then it
  /// closes cleanly and returns. Without credentials it waits for pairing.
  public func run() async throws {}

  /// Releases the store and the lock; idempotent.
  public func close() async {}

  /// Does a command; its operations are on disk when the call returns.
  @discardableResult
  public func perform(_ command: Command) async throws(ClientError) -> CommandReceipt {
    throw .closed
  }

  /// The whole model, a consistent value.
  public func workspace() -> Workspace { preconditionFailure() }

  /// The thread queue: as it is now, then after every change that touched it.
  public func threadQueueUpdates() -> AsyncStream<ThreadQueueView> { preconditionFailure() }

  /// A session's queue: as it is now, then after every change that touched it.
  public func messageQueueUpdates(_ session: SessionID) -> AsyncStream<MessageQueueView> {
    preconditionFailure("\(session)")
  }

  /// Minimal changes: first those that lead from nothing to the present, then every further one.
  public func changes() -> AsyncStream<WorkspaceChange> { preconditionFailure() }

  /// Where sync stands.
  public func syncStatus() -> SyncStatus { preconditionFailure() }

  /// Where sync stands: now, then after every change.
  public func syncStatusUpdates() -> AsyncStream<SyncStatus> { preconditionFailure() }

  /// How far the operations of a command have come.
  public func changeState(_ range: OperationRange) -> ChangeState { preconditionFailure("\(range)") }

  /// Trades a one-time code for credentials and stores them; `run()` connects at once.
  public func pair(
    server: String, code: String
  ) async throws(ClientError) -> PairingResult {
    throw .closed
  }

  /// Turns sync on or off on this device; kept over restarts.
  public func setSyncEnabled(_ isOn: Bool) async throws(ClientError) {}

  /// Connects at once where the client waits before the next try.
  public func syncNow() async {}

  /// Returns once the server has everything of this device, and this device all that the server
  /// is known to have.
  ///
  /// - Throws: `.timeout`, `.notPaired`, `.syncDisabled`, `.authentication`, `.refused`.
  public func waitUntilSynced(timeout: Duration) async throws(ClientError) {}
}
