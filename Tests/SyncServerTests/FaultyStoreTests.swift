import QueueModel
import SequenceCRDT
import ServerCore
import SyncServer
import Testing
import WireProtocol

/// The driver over a store that fails on demand.
@Suite struct FaultyStoreTests {
  @Test func failedWriteIsRefusedShowsInHealthAndRecovers() async throws {
    let storage = MemoryStorage()
    let workspace = WorkspaceID(high: 1, low: 1)
    storage.addWorkspace(workspace, name: "default", logIdentity: 1)
    let token = [UInt8](repeating: 4, count: 32)
    storage.addDevice(
      DeviceID(high: 9, low: 1), name: "d1", to: workspace, token: secretHash(token))
    var options = SyncServerOptions(dataDirectory: "unused", port: 0)
    options.tickMilliseconds = 20
    options.lingerMilliseconds = 200
    options.core.storageRetryMilliseconds = 100
    let server = try await SyncServer.start(
      options, storage: storage, logger: ServerFixture.quiet, onStop: {})
    let fixture = ServerFixture(directory: "unused", server: server, options: options)
    var device = WireDevice(number: 1, workspaceID: workspace, token: token)
    let client = try await fixture.join(&device)

    storage.withState { $0.writeFault = StorageFault(code: .full, message: "no space") }
    let changes = try device.write("hello")
    try await client.send(changes)
    let frame = try await client.frame { if case .refused = $0 { true } else { false } }
    guard case .refused(let refusal) = frame else { return }
    #expect(refusal.code == .storageFailed)
    #expect(refusal.batch == 1)
    #expect(try await fixture.get("/healthz").status.contains("503"))

    storage.withState { $0.writeFault = nil }
    var isHealthy = false
    for _ in 0..<1_000 where !isHealthy {
      isHealthy = try await fixture.get("/healthz").status.contains("200")
    }
    #expect(isHealthy)
    try await client.send(changes)
    let ack = try await client.frame { if case .ack = $0 { true } else { false } }
    #expect(ack == .ack(Ack(batch: 1, logPosition: 1)))
    await server.stop()
  }
}
