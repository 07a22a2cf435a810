import Foundation
import Synchronization
import SystemPackage
import Testing

@testable import SyncDaemon

/// The output of agents, from the pipe to its readers.
@Suite(.timeLimit(.minutes(5)))
struct OutputPipesTests {
  /// The received output, by pipe.
  private final class Received: Sendable {
    private let bytes = Mutex<(output: [UInt8], errors: [UInt8])>(([], []))

    var texts: (output: String, errors: String) {
      let (output, errors) = bytes.withLock { $0 }
      return (String(decoding: output, as: UTF8.self), String(decoding: errors, as: UTF8.self))
    }

    /// Pipes that are read.
    var pipes: OutputPipes {
      get throws {
        let pipes = try unreadPipes
        try pipes.read()
        return pipes
      }
    }

    var unreadPipes: OutputPipes {
      get throws {
        try OutputPipes { [self] stream, piece in
          bytes.withLock { bytes in
            switch stream {
            case .output: bytes.output += piece
            case .errors: bytes.errors += piece
            }
          }
        }
      }
    }
  }

  @Test func eachPipeKeepsItsOrder() async throws {
    let received = Received()
    let pipes = try received.pipes
    let ends = try #require(pipes.takeWriters())
    #expect(pipes.takeWriters() == nil)
    for number in 0..<1_000 {
      try ends.output.writeAll("\(number),".utf8)
      if number % 10 == 0 { try ends.errors.writeAll("\(number);".utf8) }
    }
    try ends.output.close()
    try ends.errors.close()
    await pipes.finish(within: .seconds(60))
    #expect(received.texts.output == (0..<1_000).map { "\($0)," }.joined())
    #expect(received.texts.errors == stride(from: 0, to: 1_000, by: 10).map { "\($0);" }.joined())
  }

  /// A process that was left behind holds the pipe; output from before is not lost.
  @Test func anEndThatStaysOpenDoesNotKeepAnybody() async throws {
    let received = Received()
    let pipes = try received.pipes
    let ends = try #require(pipes.takeWriters())
    try ends.output.writeAll("the result".utf8)
    await pipes.finish(within: .zero)
    #expect(received.texts.output == "the result")
    try ends.output.close()
    try ends.errors.close()
  }

  @Test func untakenPipesEndAtOnce() async throws {
    let received = Received()
    await (try received.pipes).finish(within: .seconds(60))
    #expect(received.texts == ("", ""))
  }

  /// If no process was created, or its output cannot be read, an error reports it.
  @Test func unreadPipesEndAtOnce() async throws {
    signal(SIGPIPE, SIG_IGN)
    let received = Received()
    let pipes = try received.unreadPipes
    let ends = try #require(pipes.takeWriters())
    try ends.output.writeAll("unread".utf8)
    await pipes.finish(within: .seconds(60))
    #expect(received.texts == ("", ""))
    #expect(throws: Errno.brokenPipe) { try ends.output.writeAll("more".utf8) }
    #expect(throws: Errno.brokenPipe) { try ends.errors.writeAll("more".utf8) }
    try ends.output.close()
    try ends.errors.close()
  }

  /// Output from before the first read is not lost.
  @Test func aLateReaderGetsEverything() async throws {
    let received = Received()
    let pipes = try received.unreadPipes
    let ends = try #require(pipes.takeWriters())
    try ends.output.writeAll("early".utf8)
    try ends.output.close()
    try ends.errors.close()
    try pipes.read()
    await pipes.finish(within: .seconds(60))
    #expect(received.texts.output == "early")
  }

  /// A writer that never stops is read only until the pipe has been emptied a few times.
  @Test func aFloodEnds() async throws {
    signal(SIGPIPE, SIG_IGN)
    let count = Mutex(0)
    let pipes = try OutputPipes { _, piece in count.withLock { $0 += piece.count } }
    try pipes.read()
    let ends = try #require(pipes.takeWriters())
    let flood = Task.detached {
      let piece = [UInt8](repeating: 7, count: 4_096)
      while (try? ends.output.writeAll(piece)) != nil {}
    }
    await pipes.finish(within: .milliseconds(20))
    let atEnd = count.withLock { $0 }
    // The reading end is closed, which a writer notices by an error.
    await flood.value
    #expect(count.withLock { $0 } == atEnd)
    try ends.output.close()
    try ends.errors.close()
  }

  /// Each turn ends with many pipes that hang up while they are being closed.
  @Test func manyThatHangUpWhileTheyEnd() async throws {
    let descriptors = try FileManager.default.contentsOfDirectory(atPath: "/dev/fd").count
    await withThrowingTaskGroup(of: Void.self) { group in
      for _ in 0..<8 {
        group.addTask {
          for number in 0..<250 {
            let received = Received()
            let pipes = try received.pipes
            let ends = try #require(pipes.takeWriters())
            async let written: Void = {
              try ends.output.writeAll("turn \(number)".utf8)
              try ends.output.close()
              try ends.errors.close()
            }()
            await pipes.finish(within: .seconds(60))
            try await written
            #expect(received.texts.output == "turn \(number)")
          }
        }
      }
    }
    // Other tests have some open meanwhile, but not thousands.
    let after = try FileManager.default.contentsOfDirectory(atPath: "/dev/fd").count
    #expect(after < descriptors + 1_000)
  }
}
