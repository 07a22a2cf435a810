import NIOCore
import NIOPosix
import Testing

@testable import SyncDaemon

@Suite(.timeLimit(.minutes(5))) struct ConnectionEndsTests {
  @Test func aKeptConnectionKeepsNothingOfRequestsThatAreOver() async throws {
    let ends = ConnectionEnds()
    let closing = MultiThreadedEventLoopGroup.singleton.any().makePromise(of: Void.self)
    for number in 0..<100 {
      let answer = await ends.during(closing.futureResult, onClose: {}) { number }
      #expect(answer == number)
    }
    #expect(ends.count == 0)
    #expect(ends.connections == 1)
    closing.succeed()
    try await closing.futureResult.get()
    #expect(ends.connections == 0)
  }

  @Test func waitingCallersLearnThatTheConnectionClosed() async {
    let ends = ConnectionEnds()
    let closing = MultiThreadedEventLoopGroup.singleton.any().makePromise(of: Void.self)
    let (closings, closer) = AsyncStream<Void>.makeStream()
    await ends.during(closing.futureResult, onClose: { closer.finish() }) {
      closing.succeed()
      for await _ in closings {}
    }
    #expect(ends.count == 0)
  }

  @Test func aConnectionThatIsClosedAlreadyTellsAtOnce() async {
    let ends = ConnectionEnds()
    let closing = MultiThreadedEventLoopGroup.singleton.any().makeSucceededVoidFuture()
    let (closings, closer) = AsyncStream<Void>.makeStream()
    await ends.during(closing, onClose: { closer.finish() }) {
      for await _ in closings {}
    }
  }
}
