import QueueModel
import SequenceCRDT
import ServerCore
import Testing
import WireProtocol

/// However many replicas wrote in a workspace, a device reports its log in a few bytes.
@Suite struct PastWriterTests {
  @Test func greetingsDoNotGrowWithTheWritersOfThePast() throws {
    let sizes = try [10, 20_000].map(greeting)
    #expect(sizes[0] == sizes[1])
    #expect(sizes[0] <= 300, "hello and welcome have \(sizes[0]) bytes")
  }

  /// Bytes of the `hello` and the `welcome` of a device that has all of the server's log.
  private func greeting(writers count: Int) throws -> Int {
    var scene = ServerScene()
    var image = WorkspaceImage()
    image.replicas = (1...count).map { number in
      WorkspaceImage.Replica(
        id: ReplicaID(rawValue: UInt64(number) << 40), seq: 1,
        announcement: WorkspaceImage.Announcement(
          seq: 1, device: DeviceID(high: 9, low: UInt64(number % 5)), name: "laptop"))
    }
    let bytes = PackedSnapshot.pack(image)
    let prefix = LogPrefix(position: 0, chain: 42).appending(bytes)
    scene.storage.withState { state in
      state.workspaces[ServerScene.workspace]?.log = [
        LogEntry(prefix: prefix, content: .state(bytes))
      ]
    }
    var device = scene.device(3)
    device.prefix = prefix
    let id = scene.connect(device)
    let welcome = try #require(scene.rawSent[id]?.first)
    guard case .welcome(let answer) = try FrameCodec.decode(welcome) else {
      Issue.record("the server gave another answer")
      return 0
    }
    #expect(answer.head == prefix)
    return FrameCodec.encode(.hello(device.hello)).count + welcome.count
  }
}
