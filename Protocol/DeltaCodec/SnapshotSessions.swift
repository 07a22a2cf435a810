package import QueueModel
import SequenceCRDT

/// The sessions of an opened snapshot, kept as bytes.
package final class SnapshotSessions: PackedSessions {
  let snapshot: SnapshotDecoder
  /// The last known number of each replica; references may not exceed it.
  private let known: [ReplicaID: UInt32]

  init(_ snapshot: SnapshotDecoder, known: [WorkspaceImage.Replica]) {
    self.snapshot = snapshot
    self.known = Dictionary(known.map { ($0.id, $0.seq) }) { first, _ in first }
  }

  package var count: Int { snapshot.sessionCount }

  /// Reads everything except the runs.
  ///
  /// - Throws: `DecodingFault` if a part cannot be read, names an unknown id, or is out of order.
  func summaries() throws(DecodingFault) -> [SessionSummary] {
    var summaries: [SessionSummary] = []
    summaries.reserveCapacity(count)
    for index in 0..<count {
      var part = try snapshot.part(index + 1)
      let texts = part.texts
      let outline = try part.readOutline()
      try checkKnown(part)
      try check(outline, texts)
      if let last = summaries.last, !(last.key < outline.key) {
        throw snapshot.outOfOrder("sessions", part: index + 1)
      }
      summaries.append(SessionSummary(outline))
    }
    return summaries
  }

  /// Checks that the snapshot knows all ids read so far.
  func checkKnown(_ part: SnapshotPartReader) throws(DecodingFault) {
    for (replica, highest) in zip(part.replicas, part.context.highest)
    where highest > Int64(known[replica] ?? 0) {
      throw DecodingFault(
        .invalidValue, at: part.numbers.position, "a part holds something that no operation wrote")
    }
  }

  /// The names were checked when they were read; this checks the contents.
  private func check(
    _ outline: SnapshotOutline, _ texts: ByteReader
  ) throws(DecodingFault) {
    guard !outline.references.isEmpty else {
      throw DecodingFault(.invalidValue, at: texts.position, "a session has no reference")
    }
    let bytes = snapshot.bytes[texts.position..<texts.end]
    let isASCII = bytes.withContiguousStorageIfAvailable { $0.reduce(0, |) < 0x80 } ?? false
    guard !isASCII else { return }
    for message in outline.messages {
      for addition in CollectionOfOne(message.first) + message.others {
        guard String(validating: snapshot.bytes[addition.text], as: UTF8.self) != nil else {
          throw DecodingFault(.invalidText, at: addition.text.lowerBound, "content is not UTF-8")
        }
      }
    }
  }

  package func head(of index: Int) -> WorkspaceImage.Session {
    read(index) { part throws(DecodingFault) in WorkspaceImage.Session(head: try part.readHead()) }
  }

  package func outline(of index: Int) -> WorkspaceImage.Session {
    read(index) { part throws(DecodingFault) in
      let outline = try part.readOutline()
      var session = WorkspaceImage.Session(head: outline)
      session.messages = outline.messages.map { WorkspaceImage.Message($0, in: snapshot.bytes) }
      return session
    }
  }

  package func messages(of index: Int, at numbers: [Int]) -> [WorkspaceImage.Message] {
    read(index) { part throws(DecodingFault) in
      let messages = try part.readBeginning(messagesMax: (numbers.last ?? -1) + 1).messages
      return numbers.map { WorkspaceImage.Message(messages[$0], in: snapshot.bytes) }
    }
  }

  package func session(at index: Int) throws(MergeError) -> WorkspaceImage.Session {
    do {
      var part = try snapshot.part(index + 1)
      let session = try part.readSession()
      try checkKnown(part)
      return session
    } catch {
      throw .invalidImage(reason: "session \(index): \(error)")
    }
  }

  /// Reads bytes again that were checked when the snapshot was opened.
  private func read<Content>(
    _ index: Int, _ body: (inout SnapshotPartReader) throws(DecodingFault) -> Content
  ) -> Content {
    do {
      var part = try snapshot.part(index + 1)
      return try body(&part)
    } catch {
      preconditionFailure("the same bytes were read before: \(error)")
    }
  }

  /// The bytes of a session's part in a stream.
  func bytes(of index: Int, in stream: SnapshotFormat.Stream) -> ArraySlice<UInt8> {
    snapshot.bytes[snapshot.range(of: index + 1, in: stream)]
  }
}

extension SessionSummary {
  fileprivate init(_ outline: SnapshotOutline) {
    func has(_ field: TagField) -> Bool {
      outline.tags.contains { $0.field == field && !$0.tags.isEmpty }
    }
    self.init(
      key: outline.key, references: outline.references,
      threadPosition: outline.threadPosition?.slot, exists: has(.exists), isQueued: has(.queued))
    note(outline.threadPosition?.stamp)
    note(outline.enqueued?.stamp)
    note(outline.registers)
    messages.reserveCapacity(outline.messages.count)
    additions.reserveCapacity(outline.messages.count)
    blocks.reserveCapacity(outline.messages.count)
    for (index, message) in outline.messages.enumerated() {
      messages.append(message.id)
      additions.append((id: message.first.id, message: index))
      note(message.first.stamp)
      note(message.stamp)
      for addition in message.others {
        additions.append((id: addition.id, message: index))
        note(addition.stamp)
      }
      note(message.explicitRegisters)
      blocks.append(message.block)
    }
  }

  private mutating func note(_ registers: [WorkspaceImage.Register]) {
    for register in registers where !register.field.isFenced { note(register.stamp) }
  }

  private mutating func note(_ stamp: Stamp?) {
    if let stamp { latestStamp = max(latestStamp, stamp) }
  }
}

extension SnapshotOutline.Message {
  /// The block of the queue that the message is in; nil if it is in none.
  fileprivate var block: QueueBlock? {
    guard stands else { return nil }
    switch form & SnapshotFormat.MessageForm.registers {
    case SnapshotFormat.MessageForm.addedNormal: return .normal
    case SnapshotFormat.MessageForm.addedUrgent: return .urgent
    default: return QueueBlock(explicitRegisters)
    }
  }

  private var stands: Bool {
    let isLive =
      form & SnapshotFormat.MessageForm.tags == SnapshotFormat.MessageForm.addedTag
      || explicitTags.contains { $0.field == .live && !$0.tags.isEmpty }
    return explicitRegisters.isEmpty
      ? isLive : RunState(explicitRegisters).stands(isLive: isLive)
  }
}

extension WorkspaceImage.Session {
  /// A session without slots and messages.
  fileprivate init(head outline: SnapshotOutline) {
    self.init(key: outline.key)
    references = outline.references
    tags = outline.tags
    registers = outline.registers
    threadPosition = outline.threadPosition
    enqueued = outline.enqueued
  }
}

extension WorkspaceImage.Message {
  /// A message without runs, at the slot at which it was added.
  fileprivate init(_ outline: SnapshotOutline.Message, in bytes: [UInt8]) {
    self.init(
      id: outline.id,
      position: WorkspaceImage.Position(stamp: outline.stamp, slot: outline.first.id))
    tags = outline.tags
    registers = outline.registers
    additions = (CollectionOfOne(outline.first) + outline.others).map { addition in
      WorkspaceImage.Addition(
        id: addition.id, stamp: addition.stamp, runs: [],
        text: String(decoding: bytes[addition.text], as: UTF8.self))
    }
  }
}
