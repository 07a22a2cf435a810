import ClientCore
import ClientStore
import Foundation
import QueueModel
import QueueOracle
import SequenceCRDT
import WireProtocol

/// A year of one user on one of five devices: ten runs of a program a day, each of which sends ten
/// prompts of 1 KB; all but the last are finished by the next day. With and without `retention`.
enum YearSuite {
  private static let days = 365
  private static let runsEach = 10
  private static let promptsEach = 10
  private static let textBytes = 1_024
  private static let sessionCount = 20
  private static let retentionDays: Int64 = 90
  private static let dayMilliseconds: Int64 = 86_400_000
  private static let start: Int64 = 1_790_000_000_000

  static func measure(runs: Int) throws -> [Result] {
    try [true, false].flatMap { try measure(runs: runs, forgets: $0) }
  }

  private static func measure(runs: Int, forgets: Bool) throws -> [Result] {
    let name = "workspace/year/" + (forgets ? "retention-90" : "retention-never")
    let directory = NSTemporaryDirectory() + "cospool-bench-" + UUID().uuidString
    try FileManager.default.createDirectory(
      atPath: directory, withIntermediateDirectories: true)
    // A leftover directory must not hide the benchmark's own failure.
    defer { try? FileManager.default.removeItem(atPath: directory) }
    try fill(directory, forgets: forgets)
    let stored = try FileManager.default.contentsOfDirectory(atPath: directory).reduce(0.0) {
      let attributes = try FileManager.default.attributesOfItem(atPath: "\(directory)/\($1)")
      return $0 + Double((attributes[.size] as? NSNumber)?.intValue ?? 0)
    }
    let memory = try ResidentMemory.grown { try open(directory) }
    let opening = try Stopwatch.seconds(
      runs: runs, given: {}, { try open(directory) }, check: { try $0.store.close() })
    return [
      Result(name: "\(name)/stored", metric: "bytes", value: stored),
      .median("\(name)/open", opening),
    ] + (memory.map { [Result(name: "\(name)/memory", metric: "bytes", value: $0)] } ?? [])
  }

  private struct Device {
    let store: ClientStore
    var replica: Replica
    let messages: MessageQueueView
  }

  private static func open(_ directory: String) throws -> Device {
    let opened = try ClientStore.open(directory: directory)
    let replica = try Replica(
      Replica.Opening(
        loaded: opened.loaded, device: DeviceID(high: 7, low: 7), deviceName: "laptop"),
      at: event(start), store: opened.store)
    let messages = try replica.workspace.messageQueue(SessionID("session-0"))
    return Device(store: opened.store, replica: replica, messages: messages)
  }

  private static func event(_ wall: Int64) -> EventContext {
    EventContext(
      now: wall - start, wall: wall, random: UInt64(bitPattern: wall) &* 0x9E37_79B9_7F4A_7C15)
  }

  /// Simulates the year: the changes of the five devices come from the server.
  private static func fill(_ directory: String, forgets: Bool) throws {
    let opened = try ClientStore.open(directory: directory)
    let store = opened.store
    var replica = try Replica(
      Replica.Opening(
        loaded: opened.loaded, device: DeviceID(high: 7, low: 7), deviceName: "laptop"),
      at: event(start), store: store)
    var generator = SeededGenerator(seed: 365)
    var position: UInt64 = 0
    var waiting: [MessageID] = []
    for day in 0..<Int64(days) {
      for run in 0..<runsEach {
        let wall = start + day * dayMilliseconds + Int64(run) * 3_600_000
        var author = replica.workspace
        let writer = ReplicaID(rawValue: generator.next() | 1)
        var operations = author.announce(
          device: DeviceID(high: 9, low: UInt64(run % 5)), name: "device \(run % 5)",
          replica: writer)
        let context = CommandContext(
          replica: writer, stamp: Stamp(milliseconds: wall),
          queueSizeMax: Limits.queueSizeRange.upperBound, recordsUndo: false)
        operations += try author.perform(.cancel(waiting), in: context).operations
        waiting = []
        for _ in 0..<promptsEach {
          let id = MessageID(high: generator.next(), low: generator.next())
          let session = try SessionID("session-\(generator.below(sessionCount))")
          operations += try author.perform(
            .send(Command.Send(session: session, id: id, text: text(&generator))), in: context
          ).operations
          waiting.append(id)
        }
        position += 1
        _ = try replica.merge(
          Replica.Delivery(
            operations: operations, prefix: LogPrefix(position: position, chain: position)),
          at: event(wall), store: store)
      }
      if forgets, day % 7 == 0 {
        try forget(&replica, at: start + (day + 1) * dayMilliseconds, &position, store)
      }
    }
    try store.keep(replica.workspace, upTo: replica.lastEntry)
    try store.close()
  }

  private static func forget(
    _ replica: inout Replica, at wall: Int64, _ position: inout UInt64, _ store: ClientStore
  ) throws {
    let messages = try replica.shortenLog(
      to: wall - retentionDays * dayMilliseconds, store: store)
    _ = try replica.forget(messages, wall: wall, at: event(wall), store: store)
    replica.pack()
    position += 1
    try replica.acknowledge(
      replica.record.outbox.ranges, prefix: LogPrefix(position: position, chain: position),
      store: store)
  }

  private static func text(_ generator: inout SeededGenerator) -> String {
    let writer = PromptWriter()
    var text = ""
    while text.utf8.count < textBytes { text += writer.prompt(using: &generator) + " " }
    return String(text.prefix(textBytes))
  }
}
