import ClientCore
import QueueModel
import SyncTestSupport
import Testing

/// The outgoing queue, event by event, without waiting for real time.
@Suite struct OutgoingQueueTests {
  private struct Bench {
    var queue: OutgoingQueue
    var now: Int64 = 1_000

    init(_ config: MessageQueueConfig = MessageQueueConfig(jitter: 0)) {
      queue = OutgoingQueue(config: config)
    }

    var context: EventContext { EventContext(now: now, wall: 1_700_000_000_000 + now, random: 7) }

    @discardableResult
    mutating func enqueue(_ number: UInt64) throws -> MessageID {
      try queue.enqueue(try Self.message(number), at: context).id
    }

    /// The attempts that are sent now.
    mutating func sent() -> [Int] {
      defer { queue.checkInvariants() }
      return queue.takeDue(at: context).compactMap { action in
        if case .send(_, _, let attempt) = action { attempt } else { nil }
      }
    }

    mutating func fail(_ id: MessageID, attempt: Int? = nil) -> [OutgoingQueue.Action] {
      defer { queue.checkInvariants() }
      return queue.sendFailed(
        id, attempt: attempt, reason: "broken pipe", isPermanent: false, at: context)
    }

    func status(_ id: MessageID) -> QueueStatus? { queue.message(for: id)?.status }

    static func message(_ number: UInt64) throws -> OutgoingMessage {
      OutgoingMessage(
        id: MessageID(high: 7, low: number), session: try SessionID("a"), content: "m\(number)")
    }
  }

  /// An attempt that could not be handed over is returned alone; those that wait for confirmation
  /// stay.
  @Test func onlyUndeliveredAttemptsAreReturned() throws {
    var bench = Bench()
    let first = try bench.enqueue(1)
    #expect(bench.sent() == [1])
    bench.queue.markSent(first, at: bench.context)
    let second = try bench.enqueue(2)
    #expect(bench.sent() == [1])
    #expect(bench.queue.isHeld(second, attempt: 1) && !bench.queue.isHeld(first, attempt: 1))
    for id in [first, second] { bench.queue.notHandedOver(id, attempt: 1) }
    #expect(bench.status(first) == .awaitingAck && bench.status(second) == .queued)
    #expect(bench.sent() == [2])
    bench.queue.notHandedOver(second, attempt: 1)
    #expect(bench.status(second) == .sending, "an earlier attempt")
    bench.queue.checkInvariants()
  }

  /// A failure's text is cut between characters.
  @Test func aLongReasonIsCutBetweenCharacters() throws {
    var bench = Bench()
    let id = try bench.enqueue(1)
    _ = bench.sent()
    let reason = String(repeating: "é", count: 600) + "!"
    _ = bench.queue.sendFailed(id, reason: "x" + reason, isPermanent: false, at: bench.context)
    let kept = try #require(bench.queue.message(for: id)?.lastError)
    #expect(kept.utf8.count == 1_023 && kept.last == "é")
  }

  // S3-24, S3-25, S3-26, S3-40, S3-41.
  @Test func aMessageIsSentConfirmedAndKeptAsAReceipt() throws {
    var bench = Bench()
    let id = try bench.enqueue(1)
    #expect(bench.status(id) == .queued)
    #expect(bench.sent() == [1])
    #expect(bench.status(id) == .sending)
    #expect(bench.queue.message(for: id)?.lastAttempt != nil)
    bench.queue.markSent(id, at: bench.context)
    #expect(bench.status(id) == .awaitingAck)
    #expect(bench.queue.confirmDelivery(id, at: bench.context) == [.delivered(id)])
    #expect(bench.status(id) == .delivered)
    // Once.
    #expect(bench.queue.confirmDelivery(id, at: bench.context).isEmpty)
    bench.queue.checkInvariants()
  }

  // S3-23, S3-39, S3-56.
  @Test func numbersRiseAndGoOnAfterARestart() throws {
    var bench = Bench()
    for number in 1...3 { try bench.enqueue(UInt64(number)) }
    #expect(bench.queue.allMessages.map(\.sequence) == [1, 2, 3])
    let changes = bench.queue.takeChanges()
    let again = OutgoingQueue(
      config: .default, stored: changes.written, lastSequence: bench.queue.lastSequence)
    var reopened = Bench()
    reopened.queue = again
    try reopened.enqueue(4)
    #expect(reopened.queue.allMessages.map(\.sequence) == [1, 2, 3, 4])
    // Also if none of the earlier ones is left.
    var empty = OutgoingQueue(config: .default, stored: [], lastSequence: 4)
    #expect(try empty.enqueue(Bench.message(5), at: bench.context).sequence == 5)
  }

  // S3-27, S3-28, S3-42, S3-43, S3-57: with three attempts, the waits are 1 s and 2 s.
  @Test func failuresWaitLongerAndTheThirdIsFinal() throws {
    var bench = Bench()
    let id = try bench.enqueue(1)
    #expect(bench.sent() == [1])
    #expect(bench.fail(id).isEmpty)
    #expect(bench.queue.deadline == bench.now + 1_000)
    bench.now += 999
    #expect(bench.sent().isEmpty)
    bench.now += 1
    #expect(bench.sent() == [2])
    #expect(bench.fail(id).isEmpty)
    #expect(bench.queue.deadline == bench.now + 2_000)
    bench.now += 2_000
    #expect(bench.sent() == [3])
    #expect(bench.fail(id) == [.failed(id, .maxRetriesExceeded(id))])
    #expect(bench.status(id) == .failed)
    #expect(bench.queue.message(for: id)?.lastError == "broken pipe")
    bench.now += 1_000_000
    #expect(bench.sent().isEmpty)
    #expect(bench.queue.deadline == nil)
  }

  // S3-28.
  @Test func waitsDoubleUpToTheLongest() {
    let queue = OutgoingQueue(config: MessageQueueConfig(maxRetries: nil, jitter: 0))
    #expect(
      (1...6).map { queue.retryDelay(after: $0, random: 0) }
        == [1_000, 2_000, 4_000, 8_000, 10_000, 10_000])
    #expect(queue.retryDelay(after: .max, random: 0) == 10_000)
    let odd = OutgoingQueue(
      config: MessageQueueConfig(
        maxRetries: nil, baseRetryDelay: .seconds(Int64.max), maxRetryDelay: .seconds(Int64.max)))
    #expect(odd.retryDelay(after: 40, random: .max) > 0)
  }

  // S3-58.
  @Test func chanceTakesOffAtMostItsShare() {
    let queue = OutgoingQueue(config: .default)
    let waits = (0..<200).map { queue.retryDelay(after: 2, random: $0 &* 0x9E37_79B9_7F4A_7C15) }
    #expect(waits.allSatisfy { (1_000...2_000).contains($0) })
    #expect(Set(waits).count > 100)
  }

  // S3-50.
  @Test func aNewMessageDoesNotFireOneThatWaitsForItsRetry() throws {
    var bench = Bench()
    let first = try bench.enqueue(1)
    #expect(bench.sent() == [1])
    #expect(bench.fail(first).isEmpty)
    let second = try bench.enqueue(2)
    let out = bench.queue.takeDue(at: bench.context)
    #expect(out == [.send(try Bench.message(2), sequence: 2, attempt: 1)])
    #expect(bench.status(first) == .queued)
    #expect(bench.status(second) == .sending)
  }

  // S3-51.
  @Test func severalMayBeUnderWayInOrder() throws {
    var bench = Bench()
    for number in 1...3 { try bench.enqueue(UInt64(number)) }
    let out = bench.queue.takeDue(at: bench.context)
    #expect(
      out == (try (1...3).map { .send(try Bench.message($0), sequence: $0, attempt: 1) }))
  }

  // S3-29, S3-52.
  @Test func aTimeoutBelongsToItsAttempt() throws {
    var bench = Bench()
    let id = try bench.enqueue(1)
    _ = bench.sent()
    bench.queue.markSent(id, attempt: 1, at: bench.context)
    #expect(bench.queue.deadline == bench.now + 30_000)
    bench.now += 20_000
    #expect(bench.fail(id, attempt: 1).isEmpty)
    bench.now += 1_000
    #expect(bench.sent() == [2])
    bench.queue.markSent(id, attempt: 2, at: bench.context)
    // The first attempt's thirty seconds have passed; the second's have not.
    bench.now += 9_000
    #expect(bench.queue.timePassed(at: bench.context).isEmpty)
    #expect(bench.status(id) == .awaitingAck)
    // A late report of the first attempt changes nothing, either.
    #expect(bench.fail(id, attempt: 1).isEmpty)
    bench.queue.markSent(id, attempt: 1, at: bench.context)
    #expect(bench.status(id) == .awaitingAck)
    bench.now += 21_000
    #expect(bench.queue.timePassed(at: bench.context).isEmpty)
    #expect(bench.status(id) == .queued)
    #expect(bench.queue.message(for: id)?.retryCount == 2)
    #expect(bench.queue.message(for: id)?.lastError == nil)
  }

  @Test func aTransportThatNeverAnswersDoesNotHoldAMessage() throws {
    var bench = Bench()
    let id = try bench.enqueue(1)
    _ = bench.sent()
    bench.now += 30_000
    #expect(bench.queue.timePassed(at: bench.context).isEmpty)
    #expect(bench.status(id) == .queued)
  }

  // S3-55.
  @Test func aLateConfirmationCountsAndNothingIsSentAgain() throws {
    var bench = Bench(MessageQueueConfig(maxRetries: 2, jitter: 0))
    let id = try bench.enqueue(1)
    _ = bench.sent()
    #expect(bench.fail(id).isEmpty)
    #expect(
      bench.queue.confirmDelivery(id, at: bench.context)
        == [.confirmedLate(id, .queued), .delivered(id)])
    bench.now += 100_000
    #expect(bench.sent().isEmpty)
    let other = try bench.enqueue(2)
    _ = bench.sent()
    #expect(
      bench.queue.sendFailed(
        other, reason: "no", isPermanent: true, at: bench.context)
        == [.failed(other, .refused(other, reason: "no"))])
    #expect(
      bench.queue.confirmDelivery(other, at: bench.context)
        == [.confirmedLate(other, .failed), .delivered(other)])
    #expect(bench.queue.pendingCount == 0)
  }

  // S3-58.
  @Test func aPermanentFailureIsNotTriedAgain() throws {
    var bench = Bench()
    let id = try bench.enqueue(1)
    _ = bench.sent()
    #expect(
      bench.queue.sendFailed(id, reason: "no such chat", isPermanent: true, at: bench.context)
        == [.failed(id, .refused(id, reason: "no such chat"))])
    #expect(bench.status(id) == .failed)
  }

  // S3-58, S3-59.
  @Test func oneIdIsOneMessage() throws {
    var bench = Bench()
    let id = try bench.enqueue(1)
    try bench.enqueue(1)
    #expect(bench.queue.allMessages.count == 1)
    var other = try Bench.message(1)
    other.content = "else"
    #expect(throws: MessageQueueError.messageIDTaken(id)) {
      try bench.queue.enqueue(other, at: bench.context)
    }
    _ = bench.queue.confirmDelivery(id, at: bench.context)
    bench.now += 1_000_000
    #expect(throws: MessageQueueError.alreadyDelivered(id)) { try bench.enqueue(1) }
  }

  // S3-59.
  @Test func receiptsAreBounded() throws {
    var bench = Bench()
    let waiting = try bench.enqueue(1 << 32)
    for number in 1...UInt64(OutgoingQueue.receiptsMax + 1) {
      let id = try bench.enqueue(number)
      _ = bench.queue.confirmDelivery(id, at: bench.context)
    }
    bench.queue.checkInvariants()
    // S3-34: undelivered messages are not removed by cleaning.
    #expect(bench.queue.allMessages.count == OutgoingQueue.receiptsMax + 1)
    #expect(bench.queue.allMessages.map(\.sequence).prefix(2) == [1, 3])
    #expect(bench.status(waiting) == .queued)
    #expect(bench.queue.takeChanges().removed == [MessageID(high: 7, low: 1)])
  }

  // S3-19.
  @Test func aFullQueueRefusesAndSaysSo() throws {
    var bench = Bench(MessageQueueConfig(maxMessages: 2))
    try bench.enqueue(1)
    let second = try bench.enqueue(2)
    #expect(throws: MessageQueueError.queueFull(max: 2)) { try bench.enqueue(3) }
    _ = bench.queue.confirmDelivery(second, at: bench.context)
    try bench.enqueue(3)
    #expect(MessageQueueConfig.default.maxMessages == 1_000)
  }

  // S3-35, S3-46, S3-54.
  @Test func clearEmptiesTheQueueAndItsTimesAndADisconnectionDoesNot() throws {
    var bench = Bench()
    let done = try bench.enqueue(9)
    _ = bench.queue.confirmDelivery(done, at: bench.context)
    let id = try bench.enqueue(1)
    _ = bench.sent()
    bench.queue.markSent(id, at: bench.context)
    bench.queue.connectionLost()
    #expect(bench.status(id) == .queued)
    #expect(bench.queue.message(for: id)?.retryCount == 0)
    #expect(bench.sent() == [2])
    #expect(bench.queue.clear() == 1)
    // Delivered messages are remembered, so that nothing is sent twice.
    #expect(bench.queue.allMessages.map(\.id) == [done])
    #expect(bench.queue.deadline == nil)
    #expect(bench.fail(id).isEmpty)
    #expect(bench.queue.confirmDelivery(id, at: bench.context).isEmpty)
  }

  // S3-36, S3-47.
  @Test func retryFailedStartsOver() throws {
    var bench = Bench(MessageQueueConfig(maxRetries: 1))
    let id = try bench.enqueue(1)
    _ = bench.sent()
    #expect(bench.fail(id) == [.failed(id, .maxRetriesExceeded(id))])
    bench.queue.retryFailed()
    #expect(bench.queue.message(for: id)?.retryCount == 0)
    #expect(bench.sent() == [2])
  }

  // S3-31, S3-33, S3-44, S3-45.
  @Test func pendingIsWhatIsNeitherDeliveredNorFailed() throws {
    var bench = Bench(MessageQueueConfig(maxRetries: 1))
    let ids = try (1...3).map { try bench.enqueue($0) }
    #expect(bench.queue.pendingCount == 3)
    _ = bench.sent()
    _ = bench.queue.confirmDelivery(ids[0], at: bench.context)
    _ = bench.fail(ids[1])
    #expect(bench.queue.pendingMessages.map(\.id) == [ids[2]])
    #expect(bench.queue.pendingCount == 1)
  }

  // S3-49.
  @Test func messagesInFlightAreSentAgainAfterARestart() throws {
    var bench = Bench()
    let id = try bench.enqueue(1)
    _ = bench.sent()
    bench.queue.markSent(id, at: bench.context)
    var stored = bench.queue.allMessages
    stored[0].status = .awaitingAck
    bench.queue = OutgoingQueue(config: .default, stored: stored)
    #expect(bench.status(id) == .queued)
    #expect(bench.sent() == [1])
  }

  @Test func aStoreThatRefusesIsLeftAloneForLongerAndLonger() throws {
    var bench = Bench()
    let id = try bench.enqueue(1)
    _ = bench.sent()
    bench.queue.markSent(id, at: bench.context)
    _ = bench.queue.takeChanges()
    let due = try #require(bench.queue.deadline)
    bench.now = due
    var waits: [Int64] = []
    for _ in 0..<8 {
      // The actions were discarded with the copy on which the change was tried.
      var tried = bench.queue
      #expect(tried.timePassed(at: bench.context).isEmpty)
      #expect(tried.takeChanges().written.map(\.id) == [id])
      bench.queue.storeRefused(at: bench.context)
      let next = try #require(bench.queue.deadline)
      waits.append(next - bench.now)
      bench.now = next
    }
    #expect(waits == [1_000, 2_000, 4_000, 8_000, 16_000, 32_000, 60_000, 60_000])
    #expect(bench.status(id) == .awaitingAck)
    bench.queue.storeTook()
    #expect(bench.queue.deadline == due)
  }

  // S3-53.
  /// Random events, from a seed: after each, the lists are consistent, and a confirmed message is
  /// never sent.
  @Test func randomEventsKeepTheQueueWhole() throws {
    for seed in TestSeeds.list(standard: 40) {
      var random = SeededGenerator(seed: seed)
      var bench = Bench(MessageQueueConfig(maxRetries: 3, maxMessages: 20))
      var confirmed: Set<MessageID> = []
      for _ in 0..<400 {
        let id = MessageID(high: 7, low: UInt64.random(in: 1...30, using: &random))
        bench.now += Int64.random(in: 0...2_000, using: &random)
        switch Int.random(in: 0..<9, using: &random) {
        case 0, 1: _ = try? bench.enqueue(id.low)
        case 2, 3:
          for case .send(let message, _, _) in bench.queue.takeDue(at: bench.context) {
            #expect(!confirmed.contains(message.id), "seed \(seed)")
          }
        case 4: bench.queue.markSent(id, at: bench.context)
        case 5:
          if bench.queue.message(for: id) != nil { confirmed.insert(id) }
          _ = bench.queue.confirmDelivery(id, at: bench.context)
        case 6: _ = bench.fail(id)
        case 7: _ = bench.queue.timePassed(at: bench.context)
        default:
          Bool.random(using: &random) ? bench.queue.retryFailed() : bench.queue.connectionLost()
        }
        bench.queue.checkInvariants()
      }
    }
  }
}
