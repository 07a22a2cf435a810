import Foundation
import HummingbirdCore
import Logging
import NIOCore
import NIOPosix
import QueueModel
import Testing

@testable import SyncDaemon

@Suite(.timeLimit(.minutes(3))) struct StoppingTests {
  /// NIO ends the process if it drops an open connection.
  @Test func unservedConnectionMayBeDropped() async throws {
    let listener = try await ServerBootstrap(group: MultiThreadedEventLoopGroup.singleton)
      .bind(host: "127.0.0.1", port: 0).get()
    let port = try #require(listener.localAddress?.port)
    let held = HeldHTTPChannel(base: HTTP1Channel { _, _, _ in })
    let channel = try await ClientBootstrap(group: MultiThreadedEventLoopGroup.singleton)
      .channelInitializer { channel in
        held.setup(channel: channel, logger: Logger(label: "test")).map { _ in }
      }
      .connect(host: "127.0.0.1", port: port).get()
    #expect(channel.isActive)
    try await channel.close()
    try await listener.close()
  }

  /// A daemon that stops waiting leaves agents behind that nothing stops.
  @Test func agentsAreGoneBeforeADaemonGivesUp() {
    let times = LeaseTimes.stopGraceMilliseconds + LeaseTimes.leftGraceMilliseconds
    // A hanging process is awaited first by its marks, then by its control group; then its pipes
    // are closed.
    let hanging = OrphanedAgents.killLimit * 2 + .seconds(1)
    #expect(.milliseconds(times) + hanging <= AgentService.stopLimit)
  }

  @Test func connectionsThatComeWhileItStopsDoNoHarm() async throws {
    for _ in 0..<20 {
      let directory = try TemporaryDirectory()
      defer { directory.remove() }
      let (connecting, connectingIsOver) = AsyncStream<Void>.makeStream()
      try await RunningDaemon.run(directory: directory, stopGrace: .zero) { daemon in
        try await daemon.requireAnswer()
        let (connected, isConnected) = AsyncStream<Void>.makeStream()
        Thread.detachNewThread {
          var open: [RawConnection] = []
          // Waits until the socket is removed.
          while let connection = try? RawConnection(path: daemon.socket) {
            open.append(connection)
            if open.count == 20 { isConnected.finish() }
            if open.count == 100 { open.removeFirst().close() }
          }
          for connection in open { connection.close() }
          isConnected.finish()
          connectingIsOver.finish()
        }
        for await _ in connected {}
      }
      for await _ in connecting {}
    }
  }
}
