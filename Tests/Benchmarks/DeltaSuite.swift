import QueueModel
import SequenceCRDT
import WireProtocol

/// The number of bytes of common commands on the wire, including replica table and envelope.
enum DeltaSuite {
  static func measure() throws -> [Result] {
    var device = BenchDevice()
    let session = try SessionID("api")
    for number in 1...3 {
      try device.perform(
        .send(Command.Send(session: session, id: .drawn(number), text: "a prompt")))
    }
    let text =
      "Retry the upload when the server answers 503; keep the order of the parts, log each second of them!!"
    let id = MessageID.drawn(4)
    let enqueue = try device.perform(
      .send(Command.Send(session: session, id: id, text: text)))
    let content = try device.workspace.message(id).content
    let character = try device.perform(.edit(id, content: content + "!", base: nil))
    let move = try device.perform(.move([id], to: .position(1)))
    return try [
      result("delta/one-character", character),
      result("delta/one-move", move),
      result("delta/one-enqueue-100-bytes", enqueue),
    ] + work("delta/session-of-work", commandsPerDelta: 1)
      + work("delta/session-of-work-offline", commandsPerDelta: 20)
  }

  /// Compares 1,000 commands of three devices with the same commands as JSON.
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
}
