import DeltaCodec
import QueueModel
import SequenceCRDT
import WireProtocol

/// A traced text as the content of a message: its history as a delta, and snapshots of the
/// workspace that holds nothing else.
///
/// What other programs load is not compressed by them, so the rows that join with theirs load the
/// bodies; the rows `…-packed` load what is stored and sent, envelope and inflation included.
struct TextSnapshots {
  private static let replica = ReplicaID(rawValue: 0x5C1D_93E8_04B7_A26F)
  private static let session = OperationID(replica: replica, seq: 2)
  private static let message = OperationID(replica: replica, seq: 3)
  private static let messageID = MessageID(high: 0x4000, low: 1)
  private static let stamp = Stamp(milliseconds: 1_790_000_000_000, counter: 0)

  let name: String
  let endContent: String
  private let text: TextReplica
  private let workspace: Workspace

  init(_ trace: SequentialTrace, name: String) throws {
    self.name = name
    endContent = trace.endContent
    text = try TextSuite.replica(
      of: trace, by: TextSnapshots.replica, firstSeq: TextSnapshots.message.seq + 1)
    workspace = try TextSnapshots.workspace(holding: text)
  }

  /// The workspace after the operations of the text's log.
  private static func workspace(holding text: TextReplica) throws -> Workspace {
    var workspace = Workspace()
    _ = workspace.announce(device: DeviceID(high: 7, low: 7), name: "laptop", replica: replica)
    let origins = Operation.Origins(left: nil, right: nil)
    var operations = [
      Operation(
        id: session, body: .openSession(session: try SessionID("paper"), clears: [])),
      Operation(
        id: message,
        body: .addMessage(
          Operation.AddMessage(
            message: messageID, session: session, origins: origins, stamp: stamp,
            priority: .normal, clears: []))),
    ]
    operations += text.log.map(operation)
    let outcome = try workspace.merge(operations)
    try BenchFailure.require(outcome.waiting == 0, "the operations of a text wait for others")
    return workspace
  }

  private static func operation(_ entry: TextOperation) -> Operation {
    switch entry {
    case .insert(let id, let left, let right, let text):
      Operation(
        id: id,
        body: .insertText(
          Operation.InsertText(
            message: message, origins: Operation.Origins(left: left, right: right), text: text)))
    case .delete(let id, let first, let count, let backwards):
      Operation(
        id: id,
        body: .deleteText(
          Operation.DeleteText(
            message: message, first: first, count: count, backwards: backwards)))
    }
  }

  func measure(runs: Int) throws -> [Result] {
    try history(runs: runs) + snapshot(runs: runs) + withoutDeleted(runs: runs)
  }

  /// The whole history as one delta, into an empty text.
  private func history(runs: Int) throws -> [Result] {
    let body = DeltaCodec.encodeParts(text, message: TextSnapshots.message).bytes
    let packed = PackedDelta.pack(text, message: TextSnapshots.message)
    let load = { (read: (inout TextReplica) throws -> Void) in
      var text = TextReplica(replica: ReplicaID(rawValue: 99))
      try read(&text)
      return (text, text.content.text)
    }
    let message = TextSnapshots.message
    return [
      try Stopwatch.median("\(name)/load-history", runs: runs) {
        try load { try DeltaCodec.merge(body, message: message, into: &$0) }
      } check: {
        try check($0.1)
      },
      try Stopwatch.median("\(name)/load-history-packed", runs: runs) {
        try load { try PackedDelta.merge(packed, message: message, into: &$0) }
      } check: {
        try check($0.1)
      },
      bytes("history-raw", body.count), bytes("history-zlib", packed.count),
    ]
  }

  /// Opening what a device stores: the text is there, its order stays packed until a change needs
  /// it.
  private func snapshot(runs: Int) throws -> [Result] {
    let stored = PackedSnapshot.packRaw(workspace)
    return [
      try Stopwatch.median("\(name)/open-snapshot", runs: runs) {
        let workspace = try PackedSnapshot.open(stored)
        return (workspace, try workspace.message(TextSnapshots.messageID).content)
      } check: {
        try check($0.1)
      },
      bytes("snapshot-raw", stored.count),
      bytes("snapshot-zlib", PackedSnapshot.pack(workspace).count),
    ]
  }

  /// Deleted text dropped; loading inflates it and makes the whole state, ready for any change.
  private func withoutDeleted(runs: Int) throws -> [Result] {
    let packed = PackedSnapshot.pack(workspace.compacted())
    return [
      try Stopwatch.median("\(name)/load-without-deleted", runs: runs) {
        let workspace = try PackedSnapshot.open(packed).thawed()
        return (workspace, try workspace.message(TextSnapshots.messageID).content)
      } check: {
        try check($0.1)
      },
      bytes("without-deleted-zlib", packed.count),
    ]
  }

  private func check(_ content: String) throws {
    try BenchFailure.require(content == endContent, "\(name): the text differs from the trace's")
  }

  private func bytes(_ row: String, _ count: Int) -> Result {
    Result(name: "\(name)/\(row)", metric: "bytes", value: Double(count))
  }
}
