import ClientCore
import ClientStore
import Foundation
import QueueModel
import SequenceCRDT

/// A typical user's data on a device: 100 sessions, 20 of them in the thread queue, 5 queues of 10
/// messages. It is opened from SQLite as by the client library, and changed by one command.
enum TypicalWorkspace {
  private static let sessionCount = 100
  private static let queuedCount = 20
  private static let fullQueues = 5
  private static let messagesEach = 10
  /// Commands in a run; each waits for the disk once.
  private static let commandsEach = 20
  private static let wall: Int64 = 1_790_000_000_000

  static func measure(runs: Int) throws -> [Result] {
    let directory = NSTemporaryDirectory() + "cospool-bench-" + UUID().uuidString
    try FileManager.default.createDirectory(
      atPath: directory, withIntermediateDirectories: true)
    // A leftover directory must not hide the benchmark's own failure.
    defer { try? FileManager.default.removeItem(atPath: directory) }
    try fill(directory)
    let opening = try Stopwatch.seconds(
      runs: runs, given: {}, { try Device(directory) },
      check: { device in
        try check(device)
        try device.store.close()
      })
    var device = try Device(directory)
    var commands: [Double] = []
    for run in 0..<runs { commands += try durableCommands(of: &device, run: run) }
    try device.store.close()
    return [
      .median("workspace/typical/open-to-first-view", opening),
      .median("workspace/typical/command-to-durable", commands),
      .median("workspace/typical/fsync-alone", try synchronisations(in: directory, runs: runs)),
    ]
  }

  /// An open store with its replica, and what a user sees first.
  private struct Device {
    let store: ClientStore
    var replica: Replica
    let threads: ThreadQueueView
    let messages: MessageQueueView?

    init(_ directory: String) throws {
      let opened = try ClientStore.open(directory: directory)
      store = opened.store
      replica = try Replica(
        Replica.Opening(
          loaded: opened.loaded, device: DeviceID(high: 7, low: 7), deviceName: "laptop"),
        at: EventContext(now: 0, wall: wall, random: 0xD1B5_4A32_D192_ED03), store: store)
      threads = replica.workspace.threadQueue()
      let first = threads.threads.first?.session
      messages = try first.map(replica.workspace.messageQueue)
    }

    mutating func perform(_ command: Command, number: Int) throws {
      let context = EventContext(
        now: Int64(number), wall: wall + Int64(number), random: UInt64(number))
      _ = try replica.perform(
        command, queueSizeMax: Limits.queueSizeRange.upperBound, wall: context.wall,
        at: context, store: store)
    }
  }

  private static func check(_ device: Device) throws {
    try BenchFailure.require(
      device.threads.threads.count == queuedCount
        && device.messages?.messages.count == messagesEach,
      "the opened workspace shows other queues than were stored")
  }

  /// Fills the store with one command after the other, and closes it.
  static func fill(_ directory: String) throws {
    var device = try Device(directory)
    var made = 0
    func id() -> MessageID {
      made += 1
      return message(made, of: 1)
    }
    for number in 0..<sessionCount {
      try device.perform(
        .addSession(
          SessionID("session-\(number)"), name: "Session \(number)", project: "projects/cospool"),
        number: made)
    }
    for number in 0..<queuedCount {
      let session = try SessionID("session-\(number)")
      for _ in 0..<(number < fullQueues ? messagesEach : 1) {
        let message = id()
        let text = "prompt number \(made): go through the open review comments, one by one"
        try device.perform(
          .send(Command.Send(session: session, id: message, text: text)), number: made)
        // The thread stays in the queue when its message is removed.
        if number >= fullQueues { try device.perform(.cancel([message]), number: made) }
      }
    }
    try device.store.close()
  }

  /// Seconds from a command to its operations on disk.
  private static func durableCommands(of device: inout Device, run: Int) throws -> [Double] {
    let clock = ContinuousClock()
    let session = try SessionID("session-0")
    return try (0..<commandsEach).map { number in
      let text = "one more prompt, number \(number), sent while everything else waits"
      let command = Command.send(
        Command.Send(session: session, id: message(number, of: run + 2), text: text))
      return try clock.measure {
        try device.perform(command, number: 10_000 + run * commandsEach + number)
      } / .seconds(1)
    }
  }

  private static func message(_ number: Int, of run: Int) -> MessageID {
    MessageID(
      high: UInt64(run), low: UInt64(number) &* 0x9E37_79B9_7F4A_7C15)
  }

  /// The cost of only waiting for the disk: 4 KiB appended to a file, and fsync.
  private static func synchronisations(in directory: String, runs: Int) throws -> [Double] {
    let path = directory + "/fsync"
    let file = open(path, O_WRONLY | O_CREAT | O_CLOEXEC, 0o600)
    try BenchFailure.require(file >= 0, "\(path) cannot be written")
    defer { close(file) }
    let page = [UInt8](repeating: 7, count: 4_096)
    let clock = ContinuousClock()
    return try (0..<runs * commandsEach).map { _ in
      var isDone = false
      let duration = clock.measure {
        isDone = write(file, page, page.count) == page.count && fsync(file) == 0
      }
      try BenchFailure.require(isDone, "\(path) cannot be written")
      return duration / .seconds(1)
    }
  }
}
