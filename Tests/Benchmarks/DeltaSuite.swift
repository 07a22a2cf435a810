import QueueModel
import SequenceCRDT
import WireProtocol

/// How many bytes common commands take on the wire, replica table and envelope included.
enum DeltaSuite {
  static func measure() throws -> [Result] {
    var device = try Device()
    let text =
      "Retry the upload when the server answers 503; keep the order of the parts, log each second of them!!"
    let enqueue = try device.perform(
      .send(Command.Send(session: device.session, id: device.nextID(), text: text)))
    let content = try device.workspace.message(device.lastID).content
    let character = try device.perform(.edit(device.lastID, content: content + "!", base: nil))
    let move = try device.perform(.move([device.lastID], to: .position(1)))
    return try [
      result("delta/one-character", character),
      result("delta/one-move", move),
      result("delta/one-enqueue-100-bytes", enqueue),
    ] + work("delta/session-of-work", commandsPerDelta: 1)
      + work("delta/session-of-work-offline", commandsPerDelta: 20)
  }

  /// 1,000 commands of three devices against the same commands as JSON.
  private static func work(_ name: String, commandsPerDelta: Int) throws -> [Result] {
    let work = try SessionOfWork(commandsPerDelta: commandsPerDelta)
    let (ours, json) = (Double(work.deltaBytes), Double(work.jsonBytes))
    return [
      Result(name: name, metric: "bytes", value: ours),
      Result(name: "\(name)/json-zlib", metric: "bytes", value: json),
      Result(name: "\(name)/ratio", metric: "ratio", value: ours / json),
    ]
      + [(Int32(0), "undeflated"), (12, "window-4k"), (15, "window-32k")].map { bits, form in
        let bytes = Double(work.windowBytes[bits, default: 0])
        return Result(name: "\(name)/\(form)-ratio", metric: "ratio", value: bytes / json)
      }
  }

  private static func result(_ name: String, _ operations: [Operation]) -> Result {
    Result(name: name, metric: "bytes", value: Double(PackedDelta.pack(operations).count))
  }

  /// A device with one session and a few prompts.
  private struct Device {
    var workspace = Workspace()
    let session: SessionID
    private let replica = ReplicaID(rawValue: 0x5C1D_93E8_04B7_A26F)
    private var clock = HybridClock()
    private var milliseconds: Int64 = 1_790_000_000_000
    private var made: UInt64 = 0

    init() throws {
      session = try SessionID("api")
      for _ in 0..<3 {
        _ = try perform(.send(Command.Send(session: session, id: nextID(), text: "a prompt")))
      }
    }

    var lastID: MessageID {
      MessageID(high: made &* 0x9E37_79B9_7F4A_7C15, low: made &* 0xD1B5_4A32_D192_ED03)
    }

    mutating func nextID() -> MessageID {
      made += 1
      return lastID
    }

    mutating func perform(_ command: Command) throws -> [Operation] {
      milliseconds += 1_000
      let context = CommandContext(
        replica: replica, stamp: clock.tick(milliseconds: milliseconds))
      return try workspace.perform(command, in: context).operations
    }
  }
}
