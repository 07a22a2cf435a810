import Foundation
import QueueModel
import QueueOracle
import SequenceCRDT
import WireProtocol

/// 100,000 queues of 20 messages of 100 bytes, in ten workspaces with the maximum that a workspace
/// accepts, opened from snapshots as devices store them.
enum WorkspaceScaleSuite {
  private static let workspaceCount = 10
  private static let sessionCount = Limits.sessionsMax
  private static let messagesEach = 20
  private static let textBytes = 100
  private static let name = "workspace/100k-queues"

  static func measure(runs: Int) throws -> [Result] {
    let directory = NSTemporaryDirectory() + "cospool-bench-" + UUID().uuidString
    try FileManager.default.createDirectory(
      atPath: directory, withIntermediateDirectories: true)
    // A leftover directory must not hide the benchmark's own failure.
    defer { try? FileManager.default.removeItem(atPath: directory) }
    try checkStates()
    let paths = (0..<workspaceCount).map { "\(directory)/\($0)" }
    var stored = 0
    for (number, path) in paths.enumerated() {
      let state = state(seed: UInt64(number + 1), sessionCount: sessionCount)
      let bytes = PackedSnapshot.packRaw(state)
      stored += bytes.count
      try Data(bytes).write(to: URL(filePath: path))
    }
    let memory = try ResidentMemory.grown { try paths.map(open) }
    let load = try Stopwatch.median("\(name)/load", runs: runs) {
      try paths.map(open)
    } check: { workspaces in
      try BenchFailure.require(
        workspaces.allSatisfy { $0.threadQueue().threads.count == sessionCount },
        "\(name): an opened workspace lacks sessions")
    }
    return [load, try openOne(of: paths[0], runs: runs)]
      + (memory.map { [Result(name: "\(name)/memory", metric: "bytes", value: $0)] } ?? [])
      + [Result(name: "\(name)/stored", metric: "bytes", value: Double(stored))]
  }

  private static func open(_ path: String) throws -> Workspace {
    guard let data = FileManager.default.contents(atPath: path) else {
      throw BenchFailure("\(path) cannot be read")
    }
    return try PackedSnapshot.open(Array(data))
  }

  /// The messages of a queue that was not viewed yet.
  private static func openOne(of path: String, runs: Int) throws -> Result {
    let workspace = try open(path)
    let sessions = workspace.sessions().map(\.id)
    var next = 0
    return try Stopwatch.median("\(name)/open-one", runs: runs * 100) {
      next = (next + 7_919) % sessions.count
      return try workspace.messageQueue(sessions[next])
    } check: { queue in
      try BenchFailure.require(
        queue.messages.count == messagesEach
          && queue.messages.allSatisfy { $0.content.utf8.count == textBytes },
        "\(name): a queue lacks messages")
    }
  }

  /// The generated state must be a possible state of a workspace.
  private static func checkStates() throws {
    let image = state(seed: 99, sessionCount: 50)
    let workspace = try Workspace(image: image)
    try BenchFailure.require(
      workspace.image() == image
        && PackedSnapshot.packRaw(workspace) == PackedSnapshot.packRaw(image),
      "\(name): the made state is none that operations lead to")
  }
}

// The state that one device's sends lead to
extension WorkspaceScaleSuite {
  /// The operations of the device so far.
  private struct Author {
    let replica: ReplicaID
    var generator: SeededGenerator
    var seq: UInt32 = 0
    var milliseconds: Int64 = 1_790_000_000_000

    /// The next operation, followed by those of a text.
    mutating func operation(scalars: Int = 0) -> OperationID {
      seq += 1
      defer { seq += UInt32(scalars) }
      return OperationID(replica: replica, seq: seq)
    }

    mutating func stamp() -> Stamp {
      milliseconds += 1 + Int64(generator.below(20_000))
      return Stamp(milliseconds: milliseconds)
    }

    mutating func messageID() -> MessageID {
      MessageID(high: generator.next(), low: generator.next())
    }
  }

  private static func state(seed: UInt64, sessionCount: Int) -> WorkspaceImage {
    var generator = SeededGenerator(seed: seed)
    let replica = ReplicaID(rawValue: generator.next() | 1)
    var author = Author(replica: replica, generator: generator)
    var image = WorkspaceImage()
    let announcement = author.operation()
    for _ in 0..<sessionCount { image.sessions.append(session(by: &author)) }
    var last: OperationID?
    for position in image.sessions.compactMap(\.threadPosition) {
      image.threadSlots.append(slotRun(position, behind: last))
      last = position.slot
    }
    image.sessions.sort { $0.key < $1.key }
    image.replicas = [
      WorkspaceImage.Replica(
        id: replica, seq: author.seq,
        announcement: WorkspaceImage.Announcement(
          seq: announcement.seq, device: DeviceID(high: 7, low: seed), name: "laptop"))
    ]
    return image
  }

  /// A session with its messages; the last of them queued its thread.
  private static func session(by author: inout Author) -> WorkspaceImage.Session {
    let name = author.messageID().description
    guard let key = SessionID(canonical: name) else {
      preconditionFailure("a UUID is a session id: \(name)")
    }
    var session = WorkspaceImage.Session(key: key)
    session.references = [author.operation()]
    let writer = PromptWriter()
    for _ in 0..<messagesEach {
      var text = ""
      while text.utf8.count < textBytes { text += writer.prompt(using: &author.generator) + " " }
      let message = message(text: String(text.prefix(textBytes)), by: &author)
      session.slots.append(
        slotRun(message.position, behind: session.slots.last?.id))
      session.messages.append(message)
    }
    let requeue = author.operation()
    guard let last = session.messages.last?.position else { return session }
    session.threadPosition = WorkspaceImage.Position(stamp: last.stamp, slot: requeue)
    session.enqueued = session.threadPosition
    session.tags = [
      WorkspaceImage.Tags(field: .exists, tags: [.init(id: last.slot, note: "")]),
      WorkspaceImage.Tags(field: .queued, tags: [.init(id: requeue, note: "")]),
    ]
    return session
  }

  private static func message(
    text: String, by author: inout Author
  ) -> WorkspaceImage.Message {
    let addition = author.operation(scalars: textBytes)
    let stamp = author.stamp()
    var message = WorkspaceImage.Message(
      id: author.messageID(), position: .init(stamp: stamp, slot: addition))
    let scalars = WorkspaceImage.SlotRun(
      id: OperationID(replica: addition.replica, seq: addition.seq + 1), length: textBytes,
      origins: .init(left: nil, right: nil))
    message.additions = [
      WorkspaceImage.Addition(
        id: addition, stamp: stamp, runs: [.init(slots: scalars, isVisible: true)], text: text)
    ]
    message.tags = [.init(field: .live, tags: [.init(id: addition, note: "")])]
    message.registers = [
      .init(
        field: .priority, value: .number(UInt64(Priority.normal.rawValue)), stamp: stamp,
        writer: addition)
    ]
    return message
  }

  private static func slotRun(
    _ position: WorkspaceImage.Position, behind left: OperationID?
  ) -> WorkspaceImage.SlotRun {
    WorkspaceImage.SlotRun(
      id: position.slot, length: 1,
      origins: .init(left: left, right: nil, time: position.stamp.milliseconds))
  }
}
