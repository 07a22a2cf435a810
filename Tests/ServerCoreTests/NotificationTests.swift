import QueueModel
import SequenceCRDT
import Testing
import WireProtocol

@testable import ServerCore

/// Inboxes: the notifications that batches put into them, and those that devices receive.
@Suite struct NotificationTests {
  private let session: SessionID

  init() throws {
    session = try SessionID("main")
  }

  // MARK: - Notified events

  @Test func titlesAreThoseOfTheTable() {
    let events: [NotificationEvent] = [
      .approval(tool: "t", summary: "s", details: nil), .question("q", options: []),
      .taskComplete(summary: "s"), .taskFailed(error: "e"), .threadReady(name: "n"),
      .messageMerged(text: "m"),
    ]
    #expect(
      events.map(\.title) == [
        "Approval Needed", "An agent has a question", "Task Complete", "Task Failed",
        "Thread Ready", "Message Merged",
      ])
  }

  @Test func everyCategoryIsMadeByItsOperation() throws {
    var pair = try NotifiedPair()
    try pair.report(NotifiedPair.working)
    #expect(pair.received().isEmpty)
    try pair.report(NotifiedPair.approval(1))
    let request = try #require(pair.received().first)
    #expect(request.category == .approvalRequest)
    #expect(request.title == "Approval Needed")
    #expect(request.body == "Bash: swift test")
    #expect(request.request == RequestID(high: 5, low: 1))
    #expect(request.session == session)
    #expect(!request.isMissed)
    #expect(request.milliseconds == NotifiedPair.wall)
    try pair.report(NotifiedPair.working)
    try pair.report(
      .awaitingAnswer(
        UserQuestion(id: RequestID(high: 5, low: 2), question: "Which one?", options: ["a", "b"])))
    try pair.report(NotifiedPair.working)
    try pair.report(.completed(.success(summary: "all green")))
    try pair.report(NotifiedPair.working)
    try pair.report(.completed(.failure(error: "red")))
    try pair.report(NotifiedPair.working)
    try pair.report(.error(message: "gone"))
    let received = pair.received()
    #expect(
      received.map(\.category) == [.questionAsked, .taskComplete, .taskError, .taskError])
    #expect(received.map(\.body) == ["Which one?", "all green", "red", "gone"])
    #expect(received.map(\.position) == [2, 3, 4, 5])
  }

  private func awaiting(_ numbers: [UInt64]) -> Command {
    let requests = numbers.map { number in
      ApprovalRequest(id: RequestID(high: 5, low: number), toolName: "Bash", summary: "make")
    }
    return .reportTask(
      TaskReport(
        session: session, status: .awaitingApproval(requests[0]),
        milliseconds: NotifiedPair.wall, alsoAwaits: requests.dropFirst().map { .approval($0) }))
  }

  /// Another host's write replaced it, and the host writes again that it awaits both.
  @Test func allRequestsOfOneWriteAreReported() throws {
    var pair = try NotifiedPair()
    try pair.report(NotifiedPair.working)
    try pair.perform([awaiting([1, 2])])
    let received = pair.received()
    let both = [RequestID(high: 5, low: 1), RequestID(high: 5, low: 2)]
    #expect(received.map(\.request) == both)
    #expect(received.first?.name == pair.host.workspace.taskRecord(of: session)?.writer)
    #expect(Set(received.map(\.name)).count == 2)
    // Each is retracted separately.
    try pair.perform([awaiting([2])])
    pair.phoneLeaves()
    #expect(try pair.phoneReturns().map(\.request) == [both[1]])
  }

  @Test func eachRequestOfATaskIsReportedOnce() throws {
    var pair = try NotifiedPair()
    try pair.report(NotifiedPair.working)
    try pair.perform([awaiting([1]), awaiting([1, 2])])
    #expect(
      pair.received().map(\.request) == [RequestID(high: 5, low: 1), RequestID(high: 5, low: 2)])
    // The first is answered, and a third is raised: there is no second notification of the same.
    try pair.perform([awaiting([2])])
    try pair.perform([awaiting([2, 3])])
    #expect(pair.received().map(\.request) == [RequestID(high: 5, low: 3)])
    try pair.perform([awaiting([3])])
    pair.phoneLeaves()
    #expect(try pair.phoneReturns().map(\.request) == [RequestID(high: 5, low: 3)])
  }

  @Test func nameIsTheOperationThatWroteTheTask() throws {
    var pair = try NotifiedPair()
    try pair.report(NotifiedPair.working, .completed(.success(summary: nil)))
    let received = pair.received()
    let record = pair.host.workspace.taskRecord(of: session)
    #expect(received.map(\.name) == [record?.writer])
  }

  @Test func cancelledTaskAndIdleTellNothingButTheThread() throws {
    var pair = try NotifiedPair()
    try pair.report(NotifiedPair.working)
    try pair.report(.completed(.cancelled))
    #expect(pair.received().map(\.category) == [.threadReady])
    try pair.report(.idle)
    #expect(pair.received().isEmpty)
  }

  @Test func unlockedThreadIsReadyUnlessTheBatchTellsMoreOfIt() throws {
    var pair = try NotifiedPair()
    try pair.host.perform(.unlockThread(session))
    pair.scene.send(pair.host.changes(), on: pair.hostConnection)
    let received = pair.received()
    #expect(received.map(\.category) == [.threadReady])
    #expect(received.map(\.body) == ["main"])
    #expect(received.first?.request == nil)
    try pair.report(NotifiedPair.working)
    try pair.report(.completed(.success(summary: "done")))
    #expect(pair.received().map(\.category) == [.taskComplete])
  }

  /// A request at the agent's own prompt is notified and retracted, even though it cannot be
  /// answered elsewhere.
  @Test func requestAtTheAgentsOwnPromptIsReportedAndWithdrawn() throws {
    var pair = try NotifiedPair()
    try pair.addTarget()
    pair.phoneLeaves()
    try pair.report(NotifiedPair.working)
    try pair.report(NotifiedPair.approval(1, expires: NotifiedPair.wall))
    let alert = try #require(pair.orders.first)
    #expect(alert.notification.isAskedAtHost && alert.notification.uselessAt == nil)
    #expect(pair.orders.map(\.kind) == [.alert])
    try pair.report(NotifiedPair.working)
    #expect(pair.orders.map(\.kind) == [.alert, .retract])
    try pair.report(NotifiedPair.approval(2, expires: NotifiedPair.wall + 1))
    let other = try #require(pair.orders.last)
    #expect(!other.notification.isAskedAtHost)
    #expect(other.notification.uselessAt == NotifiedPair.wall + 1)
  }

  @Test func requestThatTheBatchItselfSettlesIsNotReported() throws {
    var pair = try NotifiedPair()
    try pair.report(
      NotifiedPair.working, NotifiedPair.approval(1), NotifiedPair.working,
      .completed(.success(summary: "s")), NotifiedPair.working, NotifiedPair.approval(2))
    #expect(pair.received().map(\.category) == [.taskComplete, .approvalRequest])
  }

  @Test func eventsOlderThanSevenDaysAreNotReported() throws {
    let week: Int64 = 7 * 86_400_000
    var pair = try NotifiedPair()
    try pair.report(NotifiedPair.working, NotifiedPair.approval(1), at: NotifiedPair.wall - week)
    #expect(pair.received().isEmpty)
    try pair.report(NotifiedPair.working)
    try pair.report(NotifiedPair.approval(2), at: NotifiedPair.wall - week + 1)
    #expect(pair.received().count == 1)
  }

  @Test func writeBelowTheFenceIsNotReported() throws {
    var pair = try NotifiedPair()
    try pair.report(NotifiedPair.working, NotifiedPair.approval(1))
    #expect(pair.received().count == 1)
    // Written without knowing of the request, under a fence that does not count.
    var stale = pair.scene.device(3)
    let connection = try pair.scene.join(&stale)
    try stale.perform(
      .reportTask(
        TaskReport(
          session: session, status: NotifiedPair.working,
          milliseconds: NotifiedPair.wall)))
    let late = stale.outgoing.map { operation -> Operation in
      guard case .setRegister(let element, .task, let value, _) = operation.body else {
        return operation
      }
      return Operation(
        id: operation.id,
        body: .setRegister(element: element, field: .task, value: value, stamp: .zero))
    }
    stale.outgoing = late
    pair.scene.send(stale.changes(), on: connection)
    #expect(pair.received().isEmpty)
    #expect(pair.entries.contains { $0.device == pair.phone.id }, "the request is still open")
  }

  /// Two hosts that wrote at the same time have one fence; the greater writer wins, and its request
  /// shows.
  @Test(arguments: [true, false]) func theWinningWriteOfEqualFencesIsReported(
    greaterIsLast: Bool
  ) throws {
    var pair = try NotifiedPair()
    var other = pair.scene.device(3)
    let connection = try pair.scene.join(&other)
    var writers: [OperationID] = []
    for (low, isOther) in [(UInt64(1), false), (2, true)] {
      for status in [NotifiedPair.working, NotifiedPair.approval(low)] {
        let report = Command.reportTask(
          TaskReport(session: session, status: status, milliseconds: NotifiedPair.wall))
        if isOther { try other.perform(report) } else { try pair.host.perform(report) }
      }
      let workspace = isOther ? other.workspace : pair.host.workspace
      writers.append(try #require(workspace.taskRecord(of: session)).writer)
    }
    let otherIsGreater = writers[1] > writers[0]
    let otherIsLast = otherIsGreater == greaterIsLast
    var received: [RequestID?] = []
    for isOther in [!otherIsLast, otherIsLast] {
      pair.scene.send(
        isOther ? other.changes() : pair.host.changes(),
        on: isOther ? connection : pair.hostConnection)
      received += pair.received().map(\.request)
    }
    let numbers: [UInt64] = greaterIsLast == otherIsGreater ? [1, 2] : [2, 1]
    #expect(
      received == numbers.prefix(greaterIsLast ? 2 : 1).map { RequestID(high: 5, low: $0) })
  }

  @Test func theDeviceThatDidItIsNotNotified() throws {
    var pair = try NotifiedPair()
    try pair.report(NotifiedPair.working, NotifiedPair.approval(1))
    #expect(pair.scene.take(pair.hostConnection).notifications.isEmpty)
    #expect(pair.entries.map(\.device) == [pair.phone.id])
  }

  @Test func categoryThatIsOffIsNotSent() throws {
    var pair = try NotifiedPair()
    let preferences = NotificationPreferences(off: [.threadReady, .taskComplete])
    #expect(try pair.ask(.setPreferences(preferences)) == .done)
    try pair.report(NotifiedPair.working, .completed(.success(summary: "s")))
    #expect(pair.received().isEmpty)
    try pair.report(NotifiedPair.working, .completed(.failure(error: "e")))
    #expect(pair.received().map(\.category) == [.taskError])
    pair.scene.restart(ServerConfiguration())
    pair.hostConnection = pair.scene.connect(pair.host)
    try pair.report(NotifiedPair.working, .completed(.success(summary: "s")))
    #expect(try pair.phoneReturns().map(\.category) == [.taskError])
  }

  // MARK: - Delivery

  @Test func changesComeBeforeTheNotificationOfThem() throws {
    var pair = try NotifiedPair()
    try pair.report(NotifiedPair.working, NotifiedPair.approval(1))
    let frames = pair.scene.take(pair.phoneConnection)
    let kinds = frames.compactMap { frame -> String? in
      switch frame {
      case .changes: "changes"
      case .notification: "notification"
      default: nil
      }
    }
    #expect(kinds == ["changes", "notification"])
  }

  @Test func awayDeviceGetsWhatItMissedInOrderUntilItSaysThatItHasIt() throws {
    var pair = try NotifiedPair()
    pair.phoneLeaves()
    try pair.report(NotifiedPair.working, .completed(.success(summary: "1")))
    try pair.report(NotifiedPair.working, .completed(.success(summary: "2")))
    try pair.report(NotifiedPair.working, NotifiedPair.approval(1))
    for _ in 0..<2 {
      let missed = try pair.phoneReturns()
      #expect(missed.map(\.body) == ["1", "2", "Bash: swift test"])
      #expect(!missed.contains { !$0.isMissed })
      #expect(missed.map(\.position) == [1, 2, 3])
      pair.phoneLeaves()
    }
    _ = try pair.phoneReturns()
    pair.acknowledge(2)
    pair.phoneLeaves()
    #expect(try pair.phoneReturns().map(\.position) == [3])
    pair.acknowledge(.max)
    pair.phoneLeaves()
    #expect(try pair.phoneReturns().isEmpty)
    #expect(pair.entries.isEmpty)
    #expect(
      pair.scene.storage.withState {
        $0.workspaces[ServerScene.workspace]?.inboxes.notifications.isEmpty
      } == true)
  }

  @Test func missedComesBehindTheOperations() throws {
    var pair = try NotifiedPair()
    pair.phoneLeaves()
    try pair.report(NotifiedPair.working, NotifiedPair.approval(1))
    pair.phoneConnection = pair.scene.connect(pair.phone)
    let frames = pair.scene.take(pair.phoneConnection)
    let changes = try #require(frames.firstIndex { if case .changes = $0 { true } else { false } })
    let notice = try #require(
      frames.firstIndex { if case .notification = $0 { true } else { false } })
    #expect(changes < notice)
  }

  @Test func nothingIsReportedBeforeItIsDurable() throws {
    var pair = try NotifiedPair()
    pair.scene.holdsTasks = true
    try pair.report(NotifiedPair.working, NotifiedPair.approval(1))
    #expect(pair.received().isEmpty)
    pair.scene.finishTasks()
    #expect(pair.received().count == 1)
  }

  @Test func failedStoreTellsNothingAndTheBatchSentAgainTellsOnce() throws {
    var pair = try NotifiedPair { $0.times.storageRetryMilliseconds = 0 }
    let fault = StorageFault(code: .full, message: "no space")
    pair.scene.storage.withState { $0.writeFault = fault }
    try pair.host.perform(
      .reportTask(
        TaskReport(
          session: session, status: NotifiedPair.working,
          milliseconds: NotifiedPair.wall)))
    try pair.host.perform(
      .reportTask(
        TaskReport(
          session: session, status: NotifiedPair.approval(1), milliseconds: NotifiedPair.wall)))
    let batch = pair.host.changes()
    pair.scene.send(batch, on: pair.hostConnection)
    #expect(pair.received().isEmpty)
    pair.scene.storage.withState { $0.writeFault = nil }
    pair.scene.pass(10)
    pair.scene.send(batch, on: pair.hostConnection)
    let received = pair.received()
    #expect(received.map(\.category) == [.approvalRequest])
    #expect(received.map(\.position) == [1])
    #expect(pair.entries.count == 1)
  }

  @Test func failedStoreOfAnAcknowledgementCostsARepetitionAtMost() throws {
    var pair = try NotifiedPair { $0.times.storageRetryMilliseconds = 0 }
    try pair.report(NotifiedPair.working, NotifiedPair.approval(1))
    #expect(pair.received().count == 1)
    pair.scene.storage.withState {
      $0.writeFault = StorageFault(code: .full, message: "no space")
    }
    pair.acknowledge(1)
    #expect(pair.entries.count == 1)
    pair.scene.storage.withState { $0.writeFault = nil }
    pair.scene.pass(1_000)
    pair.scene.pass(1_000)
    #expect(pair.received().map(\.position) == [1], "it is sent again; its name is known")
    pair.acknowledge(1)
    #expect(pair.entries.isEmpty)
  }

  /// The batch that removed a request from the inboxes was lost. A device that then connects gets
  /// no notifications until the inboxes are read again, so that none is out of order or dropped
  /// unseen.
  @Test func aDeviceThatConnectsDuringALossOfInboxesIsNotifiedInOrder() throws {
    var pair = try NotifiedPair()
    pair.phoneLeaves()
    try pair.report(NotifiedPair.working, NotifiedPair.approval(1))
    let answer = NotifiedPair.working
    try pair.host.perform(.unlockThread(session))
    pair.scene.send(pair.host.changes(), on: pair.hostConnection)
    pair.scene.storage.withState {
      $0.writeFault = StorageFault(code: .full, message: "no space")
    }
    try pair.report(answer)
    let early = try pair.phoneReturns()
    #expect(early.isEmpty)
    pair.scene.storage.withState { $0.writeFault = nil }
    for _ in 0..<10 { pair.scene.pass(1_000) }
    #expect(pair.received().map(\.position) == Array(1...UInt64(pair.entries.count)))
    #expect(pair.entries.contains { $0.position == 1 })
  }

  /// The acknowledgement of notifications from before the inboxes were read again drops none that
  /// was missing then.
  @Test func answerToWhatWasToldBeforeALossDropsNothingElse() throws {
    var pair = try NotifiedPair { $0.times.storageRetryMilliseconds = 0 }
    pair.phoneLeaves()
    try pair.report(NotifiedPair.working, NotifiedPair.approval(1))
    try pair.host.perform(.unlockThread(session))
    pair.scene.send(pair.host.changes(), on: pair.hostConnection)
    let positions = pair.entries.map(\.position)
    pair.scene.holdsTasks = true
    pair.scene.storage.withState {
      $0.writeFault = StorageFault(code: .full, message: "no space")
    }
    // Settles the first, in a batch that will be lost.
    try pair.report(NotifiedPair.working)
    pair.phoneConnection = pair.scene.connect(pair.phone)
    pair.scene.finishTasks()
    let early = pair.received().map(\.position)
    pair.scene.holdsTasks = false
    pair.scene.storage.withState { $0.writeFault = nil }
    for _ in 0..<3 { pair.scene.pass(1_000) }
    if let last = early.last { pair.acknowledge(last) }
    #expect(pair.entries.map(\.position) == positions)
    for position in pair.received().map(\.position) { pair.acknowledge(position) }
    #expect(pair.entries.isEmpty)
  }

  @Test func restartedServerKeepsInboxesAndGoesOnCounting() throws {
    var pair = try NotifiedPair()
    pair.phoneLeaves()
    try pair.report(NotifiedPair.working, .completed(.success(summary: "1")))
    pair.scene.restart(ServerConfiguration())
    pair.hostConnection = pair.scene.connect(pair.host)
    try pair.report(NotifiedPair.working, .completed(.success(summary: "2")))
    #expect(try pair.phoneReturns().map(\.position) == [1, 2])
    pair.acknowledge(2)
    pair.scene.restart(ServerConfiguration())
    pair.hostConnection = pair.scene.connect(pair.host)
    #expect(try pair.phoneReturns().isEmpty)
    try pair.report(NotifiedPair.working, .completed(.success(summary: "3")))
    #expect(pair.received().map(\.position) == [3])
  }

  @Test func inboxHoldsAThousandAndKeepsOpenRequests() throws {
    var pair = try NotifiedPair()
    pair.phoneLeaves()
    try pair.report(NotifiedPair.working, NotifiedPair.approval(1))
    let other = try SessionID("other")
    for number in 0..<1_001 {
      for status in [NotifiedPair.working, .completed(.success(summary: "\(number)"))] {
        if number == 0, status == NotifiedPair.working {
          try pair.host.write("more", in: "other")
        }
        try pair.host.perform(
          .reportTask(
            TaskReport(session: other, status: status, milliseconds: NotifiedPair.wall)))
      }
      // One batch makes only a limited number of notifications.
      if number % WireLimits.batchNewsMax == 0 || number == 1_000 {
        pair.scene.send(pair.host.changes(), on: pair.hostConnection)
      }
    }
    let missed = try pair.phoneReturns()
    #expect(missed.count == 1_000)
    #expect(missed.first?.category == .approvalRequest, "an open request stays")
    #expect(missed.dropFirst().first?.body == "2", "the oldest others were removed")
  }
}
