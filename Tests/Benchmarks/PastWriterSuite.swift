import QueueModel
import SequenceCRDT
import SyncTestSupport
import WireProtocol

/// 20,000 runs of programs on five devices, each of which queued a prompt that was cancelled later:
/// the cost of opening a workspace that is years old.
enum PastWriterSuite {
  private static let writers = 20_000
  private static let sessions = 50
  private static let name = "workspace/20k-writers"

  static func measure(runs: Int) throws -> [Result] {
    let bytes = PackedSnapshot.packRaw(try workspace())
    let open = try Stopwatch.median("\(name)/open", runs: runs) {
      try PackedSnapshot.open(bytes)
    } check: { opened in
      try BenchFailure.require(
        opened.vector.sorted.count == writers, "\(name): the opened workspace lacks writers")
    }
    return [open, Result(name: "\(name)/stored", metric: "bytes", value: Double(bytes.count))]
  }

  private static func workspace() throws -> Workspace {
    var workspace = Workspace()
    var generator = SeededGenerator(seed: 20_000)
    var clock = HybridClock()
    for number in 0..<writers {
      let replica = ReplicaID(rawValue: generator.next() | 1)
      _ = workspace.announce(
        device: DeviceID(high: 7, low: UInt64(number % 5)), name: "device \(number % 5)",
        replica: replica)
      let message = MessageID(high: 0x4000, low: UInt64(number))
      let session = try SessionID("session-\(number % sessions)")
      for command in [
        Command.send(Command.Send(session: session, id: message, text: "prompt \(number)")),
        .cancel([message]),
      ] {
        let stamp = clock.tick(milliseconds: 1_700_000_000_000 + Int64(number) * 60_000)
        _ = try workspace.perform(
          command,
          in: CommandContext(
            replica: replica, stamp: stamp, queueSizeMax: Limits.queueSizeRange.upperBound))
      }
    }
    return workspace
  }
}
