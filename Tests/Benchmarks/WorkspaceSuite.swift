import QueueModel
import SequenceCRDT

/// Merging and restoring workspaces of several sizes, all made by real commands. This file: one of
/// 10,000 prompts in 50 sessions.
enum WorkspaceSuite {
  private static let messages = 10_000
  private static let sessions = 50

  static func measure(runs: Int) throws -> [Result] {
    try tenThousandPrompts(runs: runs) + TypicalWorkspace.measure(runs: runs)
  }

  private static func tenThousandPrompts(runs: Int) throws -> [Result] {
    let operations = try work()
    var whole = Workspace()
    _ = try whole.merge(operations)
    let image = whole.image()
    let name = "workspace/10k-prompts"
    return [
      try Stopwatch.median("\(name)/send", runs: runs) { try work() },
      try Stopwatch.median("\(name)/merge-one-batch", runs: runs) {
        var workspace = Workspace()
        _ = try workspace.merge(operations)
        return workspace
      },
      try Stopwatch.median("\(name)/merge-one-by-one", runs: runs) {
        var workspace = Workspace()
        for operation in operations { _ = try workspace.merge([operation]) }
        return workspace
      },
      try Stopwatch.median("\(name)/merge-reversed", runs: runs) {
        var workspace = Workspace()
        _ = try workspace.merge(operations.reversed())
        return workspace
      },
      try Stopwatch.median("\(name)/image", runs: runs) { whole.image() },
      try Stopwatch.median("\(name)/restore", runs: runs) { try Workspace(image: image) },
    ]
  }

  private static func work() throws -> [Operation] {
    var workspace = Workspace()
    var clock = HybridClock()
    var operations: [Operation] = []
    let replica = ReplicaID(rawValue: 7)
    for number in 0..<messages {
      let send = Command.Send(
        session: try SessionID("session-\(number % sessions)"),
        id: MessageID(high: UInt64(number) &* 0x9E37_79B9_7F4A_7C15, low: UInt64(number)),
        text: "prompt number \(number) with some more words")
      let context = CommandContext(
        replica: replica, stamp: clock.tick(milliseconds: Int64(number)),
        queueSizeMax: Limits.queueSizeRange.upperBound)
      operations += try workspace.perform(.send(send), in: context).operations
    }
    return operations
  }
}
