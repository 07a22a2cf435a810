import QueueModel
import QueueOracle
import SequenceCRDT

/// A device without I/O: it performs commands as the product does, each with its undo group, and
/// keeps their operations.
struct BenchDevice {
  private(set) var workspace = Workspace()
  /// The operations of all commands, in the order they were made.
  private(set) var log: [Operation] = []
  private var history = UndoHistory()
  private var clock = HybridClock()
  private var milliseconds: Int64 = 1_790_000_000_000
  private let replica: ReplicaID
  /// The time between two commands.
  private let pauseMilliseconds: Int64
  private let queueSizeMax: Int

  init(
    replica: UInt64 = 0x5C1D_93E8_04B7_A26F, pauseMilliseconds: Int64 = 1_000,
    queueSizeMax: Int = Limits.queueSizeDefault
  ) {
    self.replica = ReplicaID(rawValue: replica)
    self.pauseMilliseconds = pauseMilliseconds
    self.queueSizeMax = queueSizeMax
  }

  /// Performs a command.
  ///
  /// - Returns: its operations.
  @discardableResult
  mutating func perform(_ command: Command) throws -> [Operation] {
    milliseconds += pauseMilliseconds
    let context = CommandContext(
      replica: replica, stamp: clock.tick(milliseconds: milliseconds), queueSizeMax: queueSizeMax)
    let operations = try workspace.perform(command, in: context, history: &history)
      .outcome.operations
    log += operations
    return operations
  }

  /// Merges operations of other devices.
  mutating func merge(_ operations: [Operation]) throws {
    _ = try workspace.merge(operations)
    clock.observe(workspace.latestStamp)
    milliseconds = max(milliseconds, workspace.latestStamp.milliseconds)
  }
}

extension MessageID {
  /// The id of a benchmark's message; like a random one, it does not compress.
  static func drawn(_ number: Int) -> MessageID {
    var generator = SeededGenerator(seed: UInt64(number))
    return MessageID(randomUsing: &generator)
  }
}
