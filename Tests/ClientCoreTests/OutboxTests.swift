import ClientCore
import QueueModel
import SequenceCRDT
import SyncTestSupport
import Testing
import WireProtocol

/// Operations that the server's log is not known to have, and how that becomes known.
@Suite struct OutboxTests {
  private func range(_ replica: UInt64, _ first: UInt32, _ last: UInt32) -> OperationRange {
    OperationRange(replica: ReplicaID(rawValue: replica), first: first, last: last)
  }

  @Test func itHoldsOneRangeOfEachReplica() {
    let outbox = Outbox([range(2, 4, 6), range(1, 1, 1), range(2, 7, 9)])
    #expect(outbox.ranges == [range(1, 1, 1), range(2, 4, 9)])
    #expect(outbox.count == 7)
    #expect(outbox.contains(OperationID(replica: ReplicaID(rawValue: 2), seq: 4)))
    #expect(!outbox.contains(OperationID(replica: ReplicaID(rawValue: 2), seq: 3)))
    #expect(!outbox.contains(OperationID(replica: ReplicaID(rawValue: 3), seq: 1)))
    #expect(outbox.overlap(with: range(2, 1, 4)) == range(2, 4, 4))
    #expect(outbox.overlap(with: range(2, 1, 3)) == nil)
    #expect(outbox.overlap(with: range(2, 8, 20)) == range(2, 8, 9))
    #expect(Outbox([range(1, 2, 3)]).isBeyond(Outbox([range(1, 1, 1), range(2, 1, 1)])))
    #expect(!Outbox([range(1, 1, 3)]).isBeyond(Outbox([range(1, 1, 1)])))
  }

  @Test func anAcknowledgementConfirms() throws {
    var fleet = try Fleet(devices: 1)
    try fleet.start()
    try fleet.perform(.send("text", as: 1, in: "a"), on: 0)
    #expect(fleet.devices[0].core.replica.record.outbox.count > 0)
    try fleet.settle()
    #expect(fleet.devices[0].core.replica.record.outbox.isEmpty)
    #expect(fleet.devices[0].core.replica.record.prefix == fleet.server.head)
    try fleet.expectConvergence()
  }

  /// - Parameter isSnapshot: whether the device gets the whole state; otherwise, it gets the entry.
  @Test(arguments: [false, true])
  func ownOperationsFromTheServerAreConfirmed(isSnapshot: Bool) throws {
    var fleet = try Fleet(devices: 2)
    try fleet.start()
    fleet.server.acksToLose = 1
    try fleet.perform(.send("text", as: 1, in: "a"), on: 0)
    try fleet.settle()
    let count = fleet.server.received.count
    fleet.cut(0)
    try fleet.perform(.send("more", as: 2, in: "a"), on: 0)
    try fleet.perform(.send("other", as: 3, in: "a"), on: 1)
    try fleet.settle()
    if isSnapshot { fleet.server.catchUpEntriesMax = 0 }
    try fleet.pass(1_000)
    try fleet.expectConvergence()
    #expect(fleet.server.snapshotsSent == (isSnapshot ? 1 : 0))
    #expect(fleet.server.workspace.contents("a").sorted() == ["more", "other", "text"])
    // One more batch of the device, with only the second message.
    let sent = try fleet.server.received[count...].map { try PackedDelta.unpack($0.delta) }
    #expect(
      sent.map { $0.count { if case .addMessage = $0.body { true } else { false } } } == [1, 1])
  }

  /// The server has the beginning of an insertion: the typed text stays whole, wherever it comes
  /// from.
  @Test(arguments: [false, true])
  func halfAnInsertionIsConfirmedAndTheRestStays(isSnapshot: Bool) throws {
    var fleet = try Fleet(devices: 1)
    try fleet.start()
    try fleet.perform(.send("[]", as: 1, in: "a"), on: 0)
    try fleet.settle()
    fleet.cut(0)
    try fleet.perform(.insertText(.numbered(1), at: 1, text: "abcdef"), on: 0)
    try fleet.perform(.insertText(.numbered(1), at: 4, text: "-"), on: 0)
    let made = fleet.devices[0].core.replica.record.outbox.ranges.flatMap { range in
      fleet.devices[0].store.operations.filter { $0.id.replica == range.replica }
    }
    let half = try made.prefix(2).map { try #require($0.keepingFirst(3)) }
    #expect(half.map(\.length) == [1, 3])
    _ = try fleet.server.append(half)
    #expect(fleet.server.workspace.contents("a") == ["[abc]"])
    if isSnapshot { fleet.server.catchUpEntriesMax = 0 }
    try fleet.pass(1_000)
    #expect(fleet.server.snapshotsSent == (isSnapshot ? 1 : 0))
    #expect(fleet.server.workspace.contents("a") == ["[abc-def]"])
    try fleet.expectConvergence()
  }

  /// A state that is then offered holds only the beginning.
  @Test func halfAnInsertionIsInTheStateThatIsOffered() throws {
    var fleet = try Fleet(devices: 1)
    try fleet.start()
    try fleet.perform(.send("[]", as: 1, in: "a"), on: 0)
    try fleet.settle()
    fleet.cut(0)
    try fleet.perform(.insertText(.numbered(1), at: 1, text: "abcdef"), on: 0)
    let replica = try #require(fleet.devices[0].store.operations.last).id.replica
    // Without the note of its time after it.
    let half = try fleet.devices[0].store.operations.filter { $0.id.replica == replica }
      .dropLast().map { try #require($0.keepingFirst(3)) }
    _ = try fleet.server.append(half)
    // The entry arrives, and the rest is not sent before the server is a different one.
    fleet.server.refusals = [Refusal(code: .limitReached, message: "no")]
    try fleet.pass(1_000)
    // The other half, the note, and the edition of the offline typing.
    #expect(fleet.devices[0].core.replica.record.outbox.count == 5)
    let state = try fleet.devices[0].core.replica.loggedState(store: fleet.devices[0].store)
    #expect(state.contents("a") == ["[abc]"])
    try fleet.server.restore(upTo: 0)
    fleet.cut(0)
    try fleet.pass(60_000)
    #expect(fleet.server.workspace.contents("a") == ["[abcdef]"])
    try fleet.expectConvergence()
  }

  @Test func nothingIsSentBeforeTheDeviceHasCaughtUp() throws {
    var fleet = try Fleet(devices: 2)
    try fleet.start()
    fleet.cut(0)
    for number in 1...3 as ClosedRange<UInt64> {
      try fleet.perform(.send("other", as: number, in: "b"), on: 1)
      try fleet.settle()
    }
    try fleet.perform(.send("own", as: 9, in: "a"), on: 0)
    let before = fleet.server.received.count
    let sends: (Fleet) -> Bool = { fleet in
      fleet.devices[0].actions.contains { if case .send(_, .changes) = $0 { true } else { false } }
    }
    var isBehind = true
    fleet.now = try #require(fleet.devices[0].core.deadline)
    fleet.note(0) { $0.timePassed(at: $1, store: $2) }
    while !fleet.devices[0].actions.isEmpty {
      isBehind = fleet.devices[0].core.replica.record.prefix != fleet.server.head
      if sends(fleet), isBehind { break }
      try fleet.advance(1)
    }
    #expect(!isBehind)
    #expect(fleet.server.received.count == before + 1)
    try fleet.settle()
    try fleet.expectConvergence()
  }

  /// A command that takes several frames is confirmed with the last. Reports by others about its
  /// beginning show that the log has that beginning.
  @Test func anEntryConfirmsWhatItNames() throws {
    var fleet = try Fleet(devices: 2)
    try fleet.start()
    var generator = SeededGenerator(seed: 4)
    var section = WorkspaceDocument.Session(
      id: .named("a"), name: nil, project: nil, pauses: [], locked: false, messages: [],
      cancelled: [])
    for number in 1...2 as ClosedRange<UInt64> {
      let text = String(
        String.UnicodeScalarView(
          (0..<300_000).compactMap { _ in
            Unicode.Scalar(0x4E00 + UInt32(generator.below(20_000)))
          }))
      section.messages.append(
        WorkspaceDocument.Message(
          id: .numbered(number), content: text, priority: "normal", createdAt: 1, device: nil))
    }
    let document = WorkspaceDocument(sessions: [section])
    try fleet.perform(.importDocument(document), on: 0)
    while fleet.devices[1].core.replica.workspace.numbers("a").isEmpty { try fleet.advance(1) }
    #expect(fleet.server.received.count == 1)
    let unconfirmed = fleet.devices[0].core.replica.record.outbox.count
    let rest = fleet.devices[0].actions
    fleet.devices[0].actions = []
    try fleet.perform(.setPriority(.numbered(1), .urgent), on: 1)
    try fleet.settle()
    #expect(fleet.devices[0].core.replica.record.outbox.count < unconfirmed)
    #expect(!fleet.devices[0].core.replica.record.outbox.isEmpty)
    #expect(!rest.isEmpty)
    // The server forgets everything: the device has what it needs to restore it.
    try fleet.server.restore(upTo: 0)
    for index in fleet.devices.indices { fleet.cut(index) }
    try fleet.pass(60_000)
    try fleet.expectConvergence()
    #expect(fleet.server.workspace.numbers("a") == [1, 2])
  }

  @Test func receiptsAreForgottenIfPositionsBeginAgain() throws {
    var fleet = try Fleet(devices: 2)
    try fleet.start()
    for number in 1...5 as ClosedRange<UInt64> {
      try fleet.perform(.send("text \(number)", as: number, in: "a"), on: 0)
      try fleet.settle()
    }
    let range = try #require(
      try fleet.perform(.send("last", as: 6, in: "a"), on: 0).operations.ranges.first)
    try fleet.settle()
    #expect(!fleet.devices[0].store.receipts.isEmpty)
    func tell(_ position: UInt64) {
      fleet.deliver(
        .presence([
          DevicePresence(
            device: fleet.devices[1].id, name: "other", isConnected: true,
            seenLogPosition: position)
        ]), to: 0)
    }
    tell(6)
    #expect(fleet.devices[0].core.progress(of: range) == .seen([fleet.devices[1].id]))
    try fleet.server.restore(upTo: 2)
    for index in fleet.devices.indices { fleet.cut(index) }
    try fleet.pass(60_000)
    try fleet.expectConvergence()
    #expect(fleet.devices[0].store.receipts.isEmpty)
    // The same position as before does not prove the same content.
    tell(6)
    #expect(fleet.devices[0].core.progress(of: range) == .onServer)
  }
}
