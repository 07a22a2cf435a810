import ClientCore
import ClientStore
public import Logging
public import QueueModel
import SequenceCRDT
import WireProtocol

/// The queues of this device, kept in sync with a server.
///
/// Open one for each data directory, run `run()` in a task beside the rest of the program, and give
/// commands from anywhere. Everything works without a server; a later one gets all of it.
///
/// ```swift
/// let client = try await QueueClient.open(.init(dataDirectory: path), logger: logger)
/// async let sync: Void = client.run()
/// let session = try SessionID("review")
/// try await client.perform(.send(.init(session: session, id: .random(), text: "Go on")))
/// for await view in client.queues.updates(of: session) { show(view) }
/// ```
public final class QueueClient: Sendable {
  /// The device's id, by which sessions name their host.
  public let deviceID: DeviceID
  let engine: Engine
  let device: DeviceState
  let keeper: AttachmentStore
  let configuration: ClientConfiguration
  let credentialsFile: CredentialsFile
  /// The store's data about execution when it was opened.
  let loadedExecution: LoadedReplica.Execution

  private init(
    deviceID: DeviceID, engine: Engine, device: DeviceState, configuration: ClientConfiguration,
    credentialsFile: CredentialsFile, attachments: AttachmentStore,
    execution: LoadedReplica.Execution
  ) {
    self.deviceID = deviceID
    self.engine = engine
    self.device = device
    loadedExecution = execution
    keeper = attachments
    self.configuration = configuration
    self.credentialsFile = credentialsFile
  }

  /// Takes the data directory's lock and opens or creates the store.
  ///
  /// - Throws: `.locked`, `.corruptStore` (already set aside; opening again starts empty),
  ///   `.newerStore`, `.storage`.
  public static func open(
    _ configuration: ClientConfiguration, logger: Logger
  ) async throws(ClientError) -> QueueClient {
    try await open(configuration, logger: logger, turns: DispatchTurns())
  }

  /// The same, with a queue that decides the order of turns.
  static func open(
    _ configuration: ClientConfiguration, logger: Logger, turns: any TurnQueue
  ) async throws(ClientError) -> QueueClient {
    let directory: LockedDirectory
    do {
      directory = try LockedDirectory(path: configuration.dataDirectory)
    } catch {
      throw ClientError(error)
    }
    let credentialsFile = CredentialsFile(directory: directory.path)
    let credentials = try credentialsFile.load()
    let device: DeviceID
    do {
      device = try DeviceIdentity.load(directory: directory.path, fresh: .random())
    } catch {
      throw ClientError(error)
    }
    let opened: ClientStore.Opened
    do {
      opened = try ClientStore.open(directory: directory.path)
    } catch {
      throw ClientError(error)
    }
    let context = EventContext(
      now: 0, wall: DeviceClock.wallMilliseconds, random: DeviceClock.randomValue())
    let replica: Replica
    let drafts: [Draft]
    let attachments: AttachmentStore
    do {
      drafts = try opened.store.drafts()
      attachments = try AttachmentStore(store: opened.store)
    } catch {
      throw ClientError(error)
    }
    do {
      replica = try Replica(
        Replica.Opening(
          loaded: opened.loaded, device: device, deviceName: configuration.deviceNameClamped),
        at: context, store: opened.store)
    } catch .merge {
      throw setAside(opened.store)
    } catch {
      throw ClientError(error)
    }
    var core = ClientCore(
      replica: replica, credentials: credentials, queueSizeMax: configuration.settings.maxQueueSize)
    core.answersLoaded(opened.loaded.answers, at: context)
    core.notificationsLoaded(opened.loaded.notifications)
    core.choicesLoaded(SessionChoices(opened.loaded.execution))
    _ = core.notificationPreferencesChanged(
      configuration.settings.notifications.preferences, at: context)
    core.retentionChanged(toDays: configuration.settings.retention, at: context)
    // A different number for every opening, which distinguishes cursors of earlier ones.
    let feed = FeedLog(opening: DeviceClock.randomValue())
    let state = DeviceState(
      settings: configuration.settings, drafts: Set(drafts.map(\.session)), feed: feed)
    let engine = Engine(
      core: core, store: opened.store, directory: directory,
      imageVector: opened.loaded.imageVector, logger: logger, feedLog: feed, turns: turns,
      postEvent: { event in state.post(event) })
    return QueueClient(
      deviceID: replica.record.device, engine: engine, device: state, configuration: configuration,
      credentialsFile: credentialsFile, attachments: attachments,
      execution: opened.loaded.execution)
  }

  /// Checks whether the store of a data directory is sound, even if another process has it open.
  ///
  /// - Throws: `.corruptStore` (without moving it), `.newerStore`, `.storage`.
  package static func checkStore(dataDirectory: String) throws(ClientError) {
    do {
      try ClientStore.check(directory: dataDirectory)
    } catch {
      throw ClientError(error)
    }
  }

  /// Readable operations that do not fit together also count as damage.
  private static func setAside(_ store: ClientStore) -> ClientError {
    do {
      try store.close()
      return .corruptStore(path: store.path, keptAt: try ClientStore.setAside(store.path))
    } catch {
      return .storage(message: "\(store.path) is damaged: \(error)", isFull: false)
    }
  }

  /// Releases the store and the lock; idempotent. `run()` returns.
  public func close() async {
    await engine.close()
    device.finish()
  }

  /// Performs a command; its operations are on disk when the call returns.
  ///
  /// - Throws: without changing anything, `.queue` if the queues refuse it or the disk fails
  ///   (`persistenceFailed`), `.notAllowed` if the server does not let this device change anything,
  ///   `.closed`. `.diskUnconfirmed` if the disk failed between writing and confirming: the command
  ///   was performed.
  @discardableResult
  public func perform(_ command: Command) async throws(ClientError) -> CommandReceipt {
    try await perform(command, isOfPerson: true)
  }

  /// Performs a command that follows from an agent's report, unless the server does not let this
  /// device change anything. The other consequences of the report do not depend on it.
  package func performIfAllowed(_ command: Command) async throws(ClientError) {
    do {
      try await perform(command, isOfPerson: false)
    } catch {
      guard case .notAllowed = error else { throw error }
    }
  }

  /// Performs a command like `perform(_:)`.
  ///
  /// - Parameters:
  ///   - isOfPerson: whether undo includes it; reports of agents cannot be undone.
  @discardableResult
  package func perform(
    _ command: Command, isOfPerson: Bool
  ) async throws(ClientError) -> CommandReceipt {
    let settings = device.settings
    let command = withSettings(command, settings)
    let (receipt, hasDraft) = try await engine.submit(synchronizes: true) {
      [device] core, context, store throws(Replica.Fault) -> (
        (receipt: CommandReceipt, hasDraft: Bool), [Engine.Action]
      ) in
      core.queueSizeMax = settings.maxQueueSize
      let (outcome, actions) = try core.commandGiven(
        command, recordsUndo: isOfPerson, waitsForDisk: false, at: context, store: store)
      let receipt = CommandReceipt(
        notice: outcome.notice, operations: outcome.operations.ranges.first,
        change: outcome.change)
      var hasDraft = false
      if case .send(let send) = command, device.hasDraft(send.session) {
        // An unreadable draft counts as present.
        hasDraft = (try? store.draft(of: send.session) != nil) ?? true
      }
      return ((receipt, hasDraft), actions)
    }
    if case .send(let send) = command, receipt.operations != nil {
      if !hasDraft { device.noteDraft(of: send.session, exists: false) }
      if !send.attachments.isEmpty { device.wakeAttachmentSync() }
    }
    if case .attach = command { device.wakeAttachmentSync() }
    return receipt
  }

  /// Checks whether a command would be performed now; changes nothing.
  ///
  /// - Throws: as `perform`, if the queues refuse it.
  public func check(_ command: Command) throws(ClientError) {
    try requireAccess()
    var workspace = engine.latest.workspace
    // Nothing is stored, so its author does not matter.
    let context = CommandContext(
      replica: ReplicaID(rawValue: .max), stamp: workspace.latestStamp,
      queueSizeMax: device.settings.maxQueueSize, recordsUndo: false)
    do throws(QueueError) {
      _ = try workspace.perform(command, in: context)
    } catch {
      throw .queue(error)
    }
  }

  /// Checks whether this device may change anything now, as far as it knows.
  ///
  /// - Throws: `.notAllowed` if the server does not let it change anything.
  public func requireAccess() throws(ClientError) {
    if let obstacle = engine.latest.access?.obstacle(at: time) { throw .notAllowed(obstacle) }
  }

  /// If the thread queue is off, nothing is added to it (S2-45).
  private func withSettings(_ command: Command, _ settings: DeviceSettings) -> Command {
    guard case .send(var send) = command, !settings.queueEnabled else { return command }
    send.requeuesThread = false
    return .send(send)
  }
}
