import Foundation
import QueueModel
import SequenceCRDT
import ServerCore
import SyncServer
import Synchronization
import Testing
import WireProtocol

/// The driver over a store that fails on demand.
@Suite struct FaultyStoreTests {
  @Test func failedWriteIsRefusedShowsInHealthAndRecovers() async throws {
    var scene = SwitchableScene()
    scene.options.lingerMilliseconds = 200
    scene.options.core.times.storageRetryMilliseconds = 100
    let storage = scene.storage
    let fixture = try await scene.start()
    let server = fixture.server
    var device = scene.device
    let client = try await fixture.join(&device)

    storage.fail(StorageFault(code: .full, message: "no space"))
    let changes = try device.write("hello")
    try await client.send(changes)
    let frame = try await client.frame { if case .refused = $0 { true } else { false } }
    guard case .refused(let refusal) = frame else { return }
    #expect(refusal.code == .storageFailed)
    #expect(refusal.batch == 1)
    #expect(try await fixture.get("/healthz").status.contains("503"))

    storage.fail(nil)
    var isHealthy = false
    for _ in 0..<1_000 where !isHealthy {
      isHealthy = try await fixture.get("/healthz").status.contains("200")
    }
    #expect(isHealthy)
    try await client.send(changes)
    let ack = try await client.frame { if case .ack = $0 { true } else { false } }
    #expect(ack == .ack(Ack(batch: 1, prefix: try scene.prefix(1))))
    await server.stop()
  }

  /// `status` reads beside a serving process, which saves snapshots and truncates the log.
  @Test func aWorkspaceIsReadThoughTheLogIsTruncatedMeanwhile() throws {
    let scene = SwitchableScene()
    let (storage, workspace) = (scene.storage, scene.workspace)
    var device = scene.device
    for index in 0..<6 {
      guard case .changes(let changes) = try device.write("message \(index)") else { return }
      let head = try #require(try storage.header(of: workspace)).head
      try storage.append(
        LogEntry(prefix: head.appending(changes.delta), content: .delta(changes.delta)),
        to: workspace, at: 0)
      if index == 2 { scene.saveSnapshot() }
    }
    storage.afterHeader { scene.saveSnapshot() }
    let loaded = try #require(try storage.readWorkspace(workspace))
    #expect(scene.memory.withState { $0.workspaces[workspace]?.log.count } == 4)
    #expect(loaded.header.head.position == 6)
    #expect(loaded.workspace.vector == device.workspace.vector)
  }
}

/// A stop while the disk does not answer.
@Suite struct HangingStoreTests {
  @Test func stopThatHangsSaysWhatItWaitsFor() async throws {
    var scene = SwitchableScene()
    scene.options.lingerMilliseconds = 50
    scene.options.core.times.stopMilliseconds = 100
    let (memory, storage, workspace) = (scene.memory, scene.storage, scene.workspace)
    let fixture = try await scene.start()
    let server = fixture.server
    var device = scene.device
    let client = try await fixture.join(&device)
    #expect(server.stopStage == nil)

    let hung = storage.hang()
    try await client.send(device.write("hello"))
    // A batch after the stop is not accepted.
    for await _ in hung {}
    let (overruns, continuation) = AsyncStream.makeStream(of: StopStage.self)
    async let stopped: Void = server.stop(within: 0.05) { stage in
      continuation.yield(stage)
      continuation.finish()
    }
    var said: [StopStage] = []
    for await stage in overruns { said.append(stage) }
    #expect(said.count == 1 && said != [.done])
    while server.stopStage != .store { try await Task.sleep(for: .milliseconds(5)) }
    storage.goOn()
    await stopped
    #expect(server.stopStage == .done)
    #expect(memory.withState { $0.workspaces[workspace]?.log.count } == 1)
  }
}

/// The page with the server's health.
@Suite struct HealthTests {
  @Test func aStalledStoreIsUnhealthy() async throws {
    var scene = SwitchableScene()
    scene.options.storeMilliseconds = 100
    let storage = scene.storage
    let fixture = try await scene.start()
    var device = scene.device
    let client = try await fixture.join(&device)
    #expect(try await fixture.get("/healthz").status.contains("200"))
    let hung = storage.hang()
    try await client.send(device.write("hello"))
    for await _ in hung {}
    var isWell = true
    for _ in 0..<10_000 where isWell {
      isWell = try await fixture.get("/healthz").status.contains("200")
    }
    #expect(!isWell)
    storage.goOn()
    _ = try await client.frame { if case .ack = $0 { true } else { false } }
    #expect(try await fixture.get("/healthz").status.contains("200"))
    await fixture.server.stop()
  }
}

/// A server over such a store, with one workspace and one device.
private struct SwitchableScene {
  let memory = MemoryStorage()
  let storage: SwitchableStorage
  let workspace = WorkspaceID(high: 1, low: 1)
  let device: WireDevice
  var options = SyncServerOptions(dataDirectory: "unused", port: 0)

  init() {
    memory.addWorkspace(workspace, name: "default", firstChain: 1)
    let token = [UInt8](repeating: 4, count: 32)
    memory.addDevice(
      DeviceID(high: 9, low: 1), name: "d1", to: workspace, token: secretHash(token))
    storage = SwitchableStorage(memory)
    device = WireDevice(number: 1, workspaceID: workspace, token: token)
    options.tickMilliseconds = 20
  }

  /// The log's prefix at a position.
  func prefix(_ position: UInt64) throws -> LogPrefix {
    let chain = try memory.chain(of: workspace, at: position)
    return LogPrefix(position: position, chain: try #require(chain))
  }

  /// Saves a snapshot of everything, and drops the log as far as possible.
  func saveSnapshot() {
    guard case .workspace(let loaded?) = memory.perform(.load(workspace)) else { return }
    let prefix = loaded.header.head
    _ = memory.perform(
      .saveSnapshot(
        workspace, loaded.workspace, prefix: prefix, truncatingBefore: prefix.position))
  }

  func start() async throws -> ServerFixture {
    let server = try await SyncServer.start(
      options, storage: storage, logger: ServerFixture.quiet, onStop: {})
    return ServerFixture(directory: "unused", server: server, options: options)
  }
}

/// A store whose writes can be made to fail, or to hang, from another thread.
private final class SwitchableStorage: ServerStorage {
  private let base: MemoryStorage
  private let fault = Mutex<StorageFault?>(nil)
  private let isHanging = Mutex(false)
  /// Signals once, when a batch waits for `goOn`.
  private let hung = Mutex<AsyncStream<Void>.Continuation?>(nil)
  private let afterHeader = Mutex<(@Sendable () -> Void)?>(nil)

  init(_ base: MemoryStorage) {
    self.base = base
  }

  func fail(_ fault: StorageFault?) {
    self.fault.withLock { $0 = fault }
  }

  /// Commits of batches do not end until `goOn`; the stream ends when one waits for that.
  func hang() -> AsyncStream<Void> {
    let (stream, continuation) = AsyncStream<Void>.makeStream()
    hung.withLock { $0 = continuation }
    isHanging.withLock { $0 = true }
    return stream
  }

  func goOn() {
    isHanging.withLock { $0 = false }
  }

  private func check() throws(StorageFault) {
    if let fault = fault.withLock({ $0 }) { throw fault }
  }

  func token(hash: [UInt8]) throws(StorageFault) -> TokenRecord? { try base.token(hash: hash) }

  func redeem(_ redemption: CodeRedemption) throws(StorageFault) -> RedemptionOutcome {
    try check()
    return try base.redeem(redemption)
  }

  func addCode(_ proposal: CodeProposal) throws(StorageFault) -> CodeOutcome {
    try check()
    return try base.addCode(proposal)
  }

  func lapsedAccess(among tokens: [ConnectedToken]) throws(StorageFault) -> LapsedAccess {
    try base.lapsedAccess(among: tokens)
  }

  func record(_ entries: [AuditEntry]) throws(StorageFault) {
    try check()
    try base.record(entries)
  }

  /// Runs something once, right after a header was read.
  func afterHeader(_ event: @escaping @Sendable () -> Void) {
    afterHeader.withLock { $0 = event }
  }

  func take(_ workspace: WorkspaceID) throws(StorageFault) -> WorkspaceHeader? {
    try header(of: workspace)
  }

  func marks(
    otherThan known: [WorkspaceID: WorkspaceMark]
  ) throws(StorageFault) -> [WorkspaceID: WorkspaceMark] {
    try base.marks(otherThan: known)
  }

  func header(of workspace: WorkspaceID) throws(StorageFault) -> WorkspaceHeader? {
    let header = try base.header(of: workspace)
    let event = afterHeader.withLock { event in
      defer { event = nil }
      return event
    }
    event?()
    return header
  }

  func latestSnapshot(
    of workspace: WorkspaceID, notBehind position: UInt64
  ) throws(StorageFault) -> StoredSnapshot? {
    try base.latestSnapshot(of: workspace, notBehind: position)
  }

  func chain(of workspace: WorkspaceID, at position: UInt64) throws(StorageFault) -> UInt64? {
    try base.chain(of: workspace, at: position)
  }

  func entries(
    of workspace: WorkspaceID, after position: UInt64, limit: Int, bytesMax: Int
  ) throws(StorageFault) -> [LogEntry] {
    try base.entries(of: workspace, after: position, limit: limit, bytesMax: bytesMax)
  }

  func commit(_ batch: CommitBatch) throws(StorageFault) -> CommitResult {
    if !batch.appends.isEmpty {
      if isHanging.withLock({ $0 }) { hung.withLock { $0 }?.finish() }
      while isHanging.withLock({ $0 }) { usleep(1_000) }
    }
    try check()
    return try base.commit(batch)
  }

  func probe() throws(StorageFault) {
    try check()
  }

  func save(
    _ snapshot: StoredSnapshot, of workspace: WorkspaceID, truncatingBefore position: UInt64
  ) throws(StorageFault) -> Bool {
    try check()
    return try base.save(snapshot, of: workspace, truncatingBefore: position)
  }

  func workspacesWithUnpushed() throws(StorageFault) -> [WorkspaceID] {
    try base.workspacesWithUnpushed()
  }
}
