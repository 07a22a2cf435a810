import ClientCore
import ClientStore
import DispatchAuthority
import Foundation
import QueueModel
import SequenceCRDT
import Testing
import WireProtocol

/// Running attempts, and the device's own grants, survive a restart of the process.
@Suite struct ExecutionStoreTests {
  private let message = MessageID(high: 7, low: 1)

  private func order() throws -> StartOrder {
    StartOrder(
      session: try SessionID("a"), message: message, attempt: 2, token: 1 << 39,
      text: "émoji 👍\u{0}end")
  }

  private func report(
    _ phase: RunPhase, _ intents: IntentChanges, _ directory: StoreDirectory,
    _ open: inout StoreDirectory.Open
  ) throws {
    let context = directory.context()
    let run = try order().run(phase, milliseconds: context.wall, note: "")
    _ = try open.replica.perform(
      .reportRun(message, run), queueSizeMax: 10, wall: context.wall, intents: intents,
      at: context, store: open.store)
  }

  @Test func anIntentIsThereUntilItsEndIsStored() throws {
    let directory = try StoreDirectory()
    var open = try directory.open()
    try directory.send(1, &open)
    let order = try order()
    try report(.running, IntentChanges(begun: order), directory, &open)
    try open.store.close()
    #expect(try ClientStore.open(directory: directory.path).loaded.execution.intents == [order])
    open = try directory.open()
    #expect(open.replica.workspace.status(message) == .running)
    // The end of an earlier attempt of the message does not end this one.
    var earlier = order
    earlier.attempt -= 1
    try report(.running, IntentChanges(ended: earlier), directory, &open)
    try open.store.close()
    #expect(try ClientStore.open(directory: directory.path).loaded.execution.intents == [order])
    open = try directory.open()
    try report(.succeeded, IntentChanges(ended: order), directory, &open)
    try open.store.close()
    #expect(try ClientStore.open(directory: directory.path).loaded.execution.intents == [])
  }

  @Test func leasesAndDispatchesTakeTheOlderOnesPlaces() throws {
    let directory = try StoreDirectory()
    let open = try directory.open()
    let session = try SessionID("a")
    let holder = LeaseHolder(device: DeviceID(high: 1, low: 2), store: StoreID(rawValue: .max))
    func store(_ records: AuthorityRecords) throws {
      var transaction = StoreTransaction(record: open.replica.record)
      transaction.authority = records
      try open.store.commit(transaction)
    }
    try store(
      AuthorityRecords(
        leases: [Lease(session: session, token: 5, holder: holder)],
        dispatches: [
          Dispatch(
            message: message, session: session, holder: holder, token: 5, attempt: 1,
            request: .max, content: .max - 1, milliseconds: 6)
        ]))
    let latest = AuthorityRecords(
      leases: [Lease(session: session, token: 6, holder: nil)],
      dispatches: [
        Dispatch(
          message: message, session: session, holder: holder, token: 6, attempt: 2, request: 1,
          content: .max, milliseconds: 7, intervention: .stop)
      ])
    try store(latest)
    try open.store.close()
    #expect(try ClientStore.open(directory: directory.path).loaded.execution.authority == latest)
  }

  @Test func answersAndVerdictsAreThereAfterReopening() throws {
    let directory = try StoreDirectory()
    let open = try directory.open()
    func answer(_ number: UInt64) throws -> PendingAnswer {
      PendingAnswer(
        answer: AnswerRequest(
          session: try SessionID("a"), request: RequestID(high: .max, low: number),
          verdict: .answered, text: "with a \u{0}",
          digest: number == 2 ? ContentHash(String(repeating: "a0", count: 32)) : nil),
        givenAt: 1_800_000_000_000,
        wasSent: number.isMultiple(of: 2))
    }
    func record(_ number: UInt64, at time: Int64) throws -> VerdictRecord {
      VerdictRecord(
        request: RequestID(high: 1, low: number), session: try SessionID("a"),
        given: GivenVerdict(
          verdict: .denied, device: DeviceID(high: 1, low: 2), text: "no\u{0}",
          digest: number == 2 ? ContentHash(String(repeating: "a0", count: 32)) : nil),
        milliseconds: time)
    }
    func store(_ answers: AnswerChanges, _ verdicts: [VerdictRecord]) throws {
      var transaction = StoreTransaction(record: open.replica.record)
      transaction.answers = answers
      transaction.authority.verdicts = verdicts
      try open.store.commit(transaction)
    }
    try store(AnswerChanges(kept: try answer(1)), [try record(1, at: 9)])
    try store(AnswerChanges(kept: try answer(2)), [try record(2, at: 10)])
    try store(
      AnswerChanges(ended: try answer(1).answer.request),
      [try record(3, at: 10 + Authority.verdictMilliseconds)])
    try open.store.close()
    let loaded = try ClientStore.open(directory: directory.path).loaded
    #expect(loaded.answers == [try answer(2)])
    let kept = try [record(2, at: 10), record(3, at: 10 + Authority.verdictMilliseconds)]
    #expect(Set(loaded.execution.authority.verdicts) == Set(kept))
  }

  /// A session's choice of an agent, and the conversation of each agent, are stored side by side.
  @Test func dataOfOneAgentDoesNotAffectThatOfOthers() throws {
    let directory = try StoreDirectory()
    let session = try SessionID("a")
    var open = try directory.open()
    for (agent, text) in [("", "codex"), ("codex", "thread-1"), ("claude", "conv-1")] {
      try open.store.keep(conversation: text, of: session, with: agent)
    }
    try open.store.close()
    open = try directory.open()
    #expect(
      try open.store.conversations(of: session)
        == ["": "codex", "codex": "thread-1", "claude": "conv-1"])
  }

  /// S-6: after a restart, exactly the choices that a user made at this device are there.
  @Test func choicesAboutSessionsAreKept() throws {
    let directory = try StoreDirectory()
    var open = try ClientStore.open(directory: directory.path)
    let record =
      open.loaded.record
      ?? ReplicaRecord(
        device: DeviceID(high: 1, low: 1), deviceName: "a", store: StoreID(rawValue: 1))
    func choose(_ choice: SessionChoice) throws {
      var transaction = StoreTransaction(record: record)
      transaction.choice = choice
      try open.store.commit(transaction)
    }
    for name in ["a", "b"] {
      try choose(.consent(SessionID(name), isGiven: true))
      try choose(.agent(SessionID(name), AgentChoice(name: "codex", mode: .free)))
    }
    try choose(.consent(SessionID("b"), isGiven: false))
    try choose(.agent(SessionID("b"), nil))
    try open.store.close()
    open = try ClientStore.open(directory: directory.path)
    #expect(open.loaded.execution.consented == [try SessionID("a")])
    #expect(open.loaded.execution.agents == [try SessionID("a"): "codex"])
    #expect(try open.store.conversations(of: SessionID("a")) == ["": "codex"])
  }
}

extension Workspace {
  fileprivate func status(_ id: MessageID) -> MessageStatus? { (try? message(id))?.status }
}
