import Foundation
import NIOCore
import NIOPosix
import PushDelivery
import QueueModel
import ServerCore
import Testing

@testable import SyncServer

/// The waiting input of one connection, and its fate at the end.
@Suite struct TurnHandlerTests {
  /// Comes after the turns and keeps the latest piece, as a decoder does.
  private final class Decoder: ChannelInboundHandler {
    typealias InboundIn = ByteBuffer
    private(set) var bytes: [UInt8] = []
    private(set) var storageBytesMax = 0
    private var latest: ByteBuffer?

    func channelRead(context: ChannelHandlerContext, data: NIOAny) {
      let piece = unwrapInboundIn(data)
      bytes += piece.readableBytesView
      storageBytesMax = max(storageBytesMax, piece.storageCapacity)
      latest = piece
    }
  }

  private struct Pipeline {
    let channel: any Channel
    let turns: TurnHandler
    let decoder: Decoder

    func read(_ bytes: some Sequence<UInt8>) {
      channel.pipeline.fireChannelRead(ByteBuffer(bytes: bytes))
    }
  }

  /// Runs `body` on the event loop of a connected socket whose peer sends nothing.
  private func withPipeline<Result: Sendable>(
    _ body: @escaping @Sendable (Pipeline) throws -> Result
  ) async throws -> Result {
    let group = MultiThreadedEventLoopGroup.singleton
    let listener = try await ServerBootstrap(group: group).bind(host: "127.0.0.1", port: 0).get()
    let port = try #require(listener.localAddress?.port)
    let channel = try await ClientBootstrap(group: group).connect(host: "127.0.0.1", port: port)
      .get()
    let result = try await channel.eventLoop.submit {
      let (turns, decoder) = (TurnHandler(turns: InputTurns { _ in }), Decoder())
      try channel.pipeline.syncOperations.addHandlers([turns, decoder])
      return try body(Pipeline(channel: channel, turns: turns, decoder: decoder))
    }.get()
    try await channel.close()
    try await listener.close()
    return result
  }

  /// Input that never runs empty, because more is read before the last piece had its turn.
  @Test func nothingGrowsWhileSomethingAlwaysWaits() async throws {
    let reading = (0..<InputTurns.readingBytesMax).map { UInt8(truncatingIfNeeded: $0 / 251) }
    let (isWhole, storageBytesMax) = try await withPipeline { pipeline in
      pipeline.read(reading)
      for _ in 1..<32 {
        pipeline.read(reading)
        for _ in 0..<reading.count / InputTurns.pieceBytes { _ = pipeline.turns.takeTurn() }
      }
      while pipeline.turns.takeTurn() {}
      let all = (0..<32).flatMap { _ in reading }
      return (pipeline.decoder.bytes == all, pipeline.decoder.storageBytesMax)
    }
    #expect(isWhole)
    #expect(storageBytesMax <= 2 * InputTurns.readingBytesMax)
  }

  @Test func readingsOfAByteMakeOnePiece() async throws {
    let bytes = try await withPipeline { pipeline in
      for index in 0..<InputTurns.pieceBytes { pipeline.read([UInt8(truncatingIfNeeded: index)]) }
      let waitsMore = pipeline.turns.takeTurn()
      return waitsMore ? [] : pipeline.decoder.bytes
    }
    #expect(bytes == (0..<InputTurns.pieceBytes).map { UInt8(truncatingIfNeeded: $0) })
  }

  /// A device that syncs, or sends a file, does not wait behind all strangers together.
  @Test func aKnownDeviceHasTheTurnsOfItsWorkspace() async throws {
    let workspace = WorkspaceID(high: 1, low: 1)
    let directory = NSTemporaryDirectory()
    let (threads, logger) = (StoreThreads(), ServerFixture.quiet)
    let pushing = PushSetup.read(directory: directory, logger: logger)
    let groups: [TurnGroup] = try await withPipeline { pipeline in
      let driver = ServerDriver(
        loop: pipeline.channel.eventLoop, options: SyncServerOptions(dataDirectory: directory),
        storage: MemoryStorage(), storeThreads: threads, blobThread: threads.packing,
        pushing: pushing, security: nil, logger: logger)
      try pipeline.channel.pipeline.syncOperations.addHandler(
        AdmissionHandler(driver: driver), position: .first)
      let before = pipeline.turns.group
      let known = DeviceKnown(workspace: workspace)
      pipeline.channel.pipeline.fireUserInboundEventTriggered(known)
      return [before, pipeline.turns.group]
    }
    #expect(groups == [.strangers, .workspace(workspace)])
    await pushing.sender.shutDown()
    await threads.shutDown()
  }

  @Test(arguments: [4 << 10, 1 << 20])
  func aLittleIsLookedAtOfAConnectionThatBreaks(count: Int) async throws {
    let seen = try await withPipeline { pipeline in
      pipeline.read(repeatElement(7, count: count))
      pipeline.channel.pipeline.fireChannelInactive()
      return pipeline.decoder.bytes.count
    }
    #expect(seen == min(count, InputTurns.waitingBytesMax + InputTurns.readingBytesMax))
  }
}
