import QueueModel
import QueueOracle
import SequenceCRDT
import WireProtocol

/// One queue of 10,000 prompts, made, edited, reordered and half cancelled by commands, merged from
/// deltas, opened from a snapshot; `Peers/measure.py` does the same with a movable list.
enum QueueSuite {
  private static let count = 10_000
  private static let shownCount = 20
  private static let name = "queue/10k"

  static func measure(runs: Int) throws -> [Result] {
    let session = try SessionID("queue")
    return try commands(session, runs: runs) + merges(session, runs: runs)
      + ConcurrentMoves.measure(runs: runs)
  }

  private static func text(_ number: Int) -> String {
    "Prompt \(number): write the failing test for the login page first, then make it pass, "
      + "then tidy up \(number * 7_919 % 10_007)"
  }

  static func id(_ number: Int) -> MessageID { .drawn(number) }

  /// - Returns: the operations of each send.
  @discardableResult
  static func send(
    _ session: SessionID, count: Int = count, by device: inout BenchDevice
  ) throws -> [[Operation]] {
    try (0..<count).map { number in
      try device.perform(
        .send(Command.Send(session: session, id: id(number), text: text(number))))
    }
  }

  /// The cost of the commands, one after the other on one device.
  private static func commands(_ session: SessionID, runs: Int) throws -> [Result] {
    var seconds: [String: [Double]] = [:]
    func time(_ phase: String, _ body: () throws -> Void) rethrows {
      seconds[phase, default: []].append(try Stopwatch.time(body))
    }
    for _ in 0..<runs {
      var device = BenchDevice(queueSizeMax: count)
      var generator = SeededGenerator(seed: 1)
      try time("send") { try send(session, by: &device) }
      try time("move") {
        for _ in 0..<count {
          let target = MoveTarget.position(1 + generator.below(count))
          try device.perform(.move([id(generator.below(count))], to: target))
        }
      }
      try time("edit") {
        for _ in 0..<count {
          try device.perform(.insertText(id(generator.below(count)), at: 3, text: "x"))
        }
      }
      var waiting = Array(0..<count)
      try time("cancel-half") {
        for _ in 0..<count / 2 {
          waiting.swapAt(generator.below(waiting.count), waiting.count - 1)
          try device.perform(.cancel([id(waiting.removeLast())]))
        }
      }
      try check(device.workspace, session, holds: count / 2)
    }
    return ["send", "move", "edit", "cancel-half"].map {
      .median("\(name)/\($0)", seconds[$0] ?? [])
    }
  }

  /// The cost for another device to get the queue, and the number of bytes.
  private static func merges(_ session: SessionID, runs: Int) throws -> [Result] {
    var device = BenchDevice(queueSizeMax: count)
    let deltas = try send(session, by: &device).map { PackedDelta.pack($0) }
    let history = PackedDelta.pack(device.log)
    let stored = PackedSnapshot.packRaw(device.workspace)
    return [
      try Stopwatch.median("\(name)/merge-one-by-one", runs: runs) {
        var workspace = Workspace()
        for delta in deltas { _ = try workspace.merge(PackedDelta.unpack(delta)) }
        return workspace
      } check: {
        try check($0, session, holds: count)
      },
      try Stopwatch.median("\(name)/merge-one-batch", runs: runs) {
        var workspace = Workspace()
        _ = try workspace.merge(PackedDelta.unpack(history))
        return workspace
      } check: {
        try check($0, session, holds: count)
      },
      try Stopwatch.median("\(name)/open", runs: runs) {
        let workspace = try PackedSnapshot.open(stored)
        let shown = try workspace.messages(in: 0..<shownCount, of: session).messages
        return (workspace, shown.map(\.status))
      } check: { opened in
        try BenchFailure.require(
          opened.1 == [MessageStatus](repeating: .queued, count: shownCount),
          "\(name)/open: the queue does not show its messages as queued")
      },
      bytes(
        "send-bytes", Double(deltas.reduce(0) { $0 + $1.count }) / Double(count)),
      bytes("history-zlib", Double(history.count)),
      bytes("snapshot-zlib", Double(PackedSnapshot.pack(device.workspace).count)),
    ]
  }

  static func check(
    _ workspace: Workspace, _ session: SessionID, holds expected: Int
  ) throws {
    let found = try workspace.messageQueue(session).messages.count
    try BenchFailure.require(
      found == expected, "the queue has \(found) messages, not \(expected)")
  }

  private static func bytes(_ row: String, _ value: Double) -> Result {
    Result(name: "\(name)/\(row)", metric: "bytes", value: value)
  }
}
