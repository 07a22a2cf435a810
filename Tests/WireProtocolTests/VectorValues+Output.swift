import QueueModel
import WireProtocol

extension VectorValues {
  static let frames = commonFrames + outputFrames

  /// Frames by which a device reads the output of another one.
  static let outputFrames: [(name: String, description: String, frame: Frame)] = [
    (
      "request/output", "A device wants the last 4 KiB that an agent wrote on another one.",
      .request(
        InboxRequest.output(
          device, OutputPart(message: MessageID(high: 9, low: 10), bytesMax: 4_096)
        ).request(id: 12))
    ),
    (
      "response/output", "They are here; the agent may go on.",
      .response(
        InboxAnswer.output(
          OutputPiece(attempt: 2, runs: true, start: 70_000, bytes: Array("it builds\n".utf8))
        ).response(id: 12))
    ),
    (
      "response/away", "The device that keeps them has no connection.",
      .response(InboxAnswer.away(since: 1_767_225_600_123).response(id: 12))
    ),
    (
      "outputWanted", "The server passes the question on.",
      .outputWanted(
        OutputQuestion(
          id: 5, part: OutputPart(message: MessageID(high: 9, low: 10), bytesMax: 4_096)))
    ),
    (
      "outputWanted/follow", "What follows byte 70,010 of the second attempt, within 20 seconds.",
      .outputWanted(
        OutputQuestion(
          id: 300,
          part: OutputPart(
            message: MessageID(high: 9, low: 10), attempt: 2, start: 70_010,
            waitMilliseconds: 20_000)))
    ),
    (
      "output", "A piece of an attempt whose agent has ended.",
      .output(
        OutputReply(
          id: 300,
          piece: OutputPiece(attempt: 2, runs: false, start: 70_010, bytes: Array("✓".utf8))))
    ),
    (
      "output/none", "The device keeps no output of the message.",
      .output(
        OutputReply(id: 301, piece: OutputPiece(attempt: nil, runs: false, start: 0, bytes: [])))
    ),
  ]
}
