import ClientCore
package import QueueModel
import WireProtocol

/// Another device's request for the output that agents wrote here.
package struct OutputWish: Sendable {
  let connection: TransportID
  let question: OutputQuestion

  /// The requested part.
  package var part: OutputPart { question.part }
}

/// The known facts about another device's output.
package enum OutputOutcome: Hashable, Sendable {
  case piece(OutputPiece)
  /// The device has been disconnected since this time, in milliseconds since 1970; nil if that is
  /// unknown.
  case away(since: Int64?)
  /// The device is connected and did not answer in time.
  case silent
  /// There are too many requests at once.
  case busy
  /// The server did not answer.
  case unreachable
  /// The server is of an earlier version.
  case serverTooOld
}

extension ClientExecution {
  /// Requests that may wait for the code that answers them; the server allows as many.
  private static let wishesMax = 64

  /// The requests of other devices, from now until the client closes; none if no code runs agents
  /// here. Each needs one call of `tell`.
  package func outputWishes() async -> AsyncStream<OutputWish> {
    let (stream, continuation) = AsyncStream<OutputWish>.makeStream(
      bufferingPolicy: .bufferingOldest(Self.wishesMax))
    await client.engine.answerOutputs(continuation)
    return stream
  }

  /// Answers a request.
  package func tell(_ piece: OutputPiece, to wish: OutputWish) async {
    await client.engine.note { core, _, _ in
      core.outputRead(OutputReply(id: wish.question.id, piece: piece), for: wish.connection)
    }
  }

  /// Asks another device for a part of its output.
  ///
  /// - Parameter part: its wait is added to the time that the answer may take.
  package func output(_ part: OutputPart, of device: DeviceID) async -> OutputOutcome {
    let limit = QueueClient.inquiryLimit + .milliseconds(part.waitMilliseconds) + .seconds(5)
    switch await client.engine.inquire(.output(device, part), within: limit) {
    case .output(let piece):
      // Output that was not requested is not shown.
      let fits = piece.bytes.count <= part.bytesMax && piece.start >= part.start ?? 0
      return fits ? .piece(piece) : .silent
    case .away(let since): return .away(since: since)
    case .silent: return .silent
    case .tooMany: return .busy
    case .unknown: return .serverTooOld
    default: return .unreachable
    }
  }
}

extension Engine {
  fileprivate func answerOutputs(_ outputs: AsyncStream<OutputWish>.Continuation) {
    guard !state.isClosed, state.agents != nil else { return outputs.finish() }
    state.agents?.outputs?.finish()
    state.agents?.outputs = outputs
  }
}
