import QueueModel
import SequenceCRDT
import SyncClient
import Testing

@Suite(.timeLimit(.minutes(10))) struct ActivityTests {
  // S0-21, S0-73: signals in, published state out.
  @Test func activityIsPublished() async throws {
    try await ClientFixture.withServer { fixture in
      let client = try await fixture.open()
      let session = try SessionID("a")
      try await client.perform(.text("one", 1))
      var events = client.deviceEvents().makeAsyncIterator()
      #expect(!client.tasks.activity(of: session).busy.isBusy)
      try await client.tasks.receive(.turnStarted, in: session)
      try await client.tasks.receive(.toolStarted(id: "t1"), in: session)
      // The same signal again changes nothing.
      try await client.tasks.receive(.toolStarted(id: "t1"), in: session)
      try await client.tasks.receive(.toolEnded(id: "t1"), in: session)
      var seen: [BusyState] = []
      while seen.count < 3, case .activity(let activity)? = await events.next() {
        seen.append(activity.busy)
      }
      #expect(seen.map(\.isProcessing) == [true, true, true])
      #expect(seen.map(\.isToolExecuting) == [false, true, false])
      #expect(client.tasks.activities().map(\.session) == [session])
      try await client.tasks.receive(.turnEnded, in: session)
      #expect(client.tasks.activities().isEmpty)
      await client.close()
      while await events.next() != nil {}
    }
  }

  // S2-26, S2-64: the end of the turn shows the thread again.
  @Test func theEndOfATurnUnlocksTheThread() async throws {
    try await ClientFixture.withServer { fixture in
      let client = try await fixture.open()
      let session = try SessionID("a")
      try await client.perform(.text("one", 1))
      #expect(client.workspace().threadQueue().ready.isEmpty)
      try await client.tasks.receive(.turnEnded, in: session)
      #expect(client.workspace().threadQueue().ready.map(\.session) == [session])
      await client.close()
    }
  }

  /// Undo and redo are for users: both skip the consequences of an agent's reports.
  @Test func reportsOfAgentsCannotBeUndone() async throws {
    try await ClientFixture.withServer { fixture in
      let client = try await fixture.open()
      let session = try SessionID("a")
      try await client.perform(.text("one", 1))
      let message = try #require(try client.workspace().messageQueue(session).messages.first)
      try await client.perform(.cancel([message.id]))
      try await client.perform(.requeueThread(session))
      #expect(client.workspace().session(session)?.locked == true)
      try await client.tasks.receive(.turnStarted, in: session)
      try await client.tasks.receive(.turnEnded, in: session)
      #expect(client.workspace().session(session)?.locked == false)
      #expect(await client.undoState.undo?.label.kind == .cancelled)
      try await client.undo()
      #expect(try client.workspace().messageQueue(session).messages.count == 1)
      try await client.perform(.requeueThread(session))
      try await client.tasks.receive(.turnEnded, in: session)
      #expect(await client.undoState.redoCount == 1)
      await client.close()
    }
  }

  /// The user stopped the agent, which reports no end of its turn: later it reports that it waits.
  @Test func anAgentThatWentIdleIsBusyNoLongerAndDidNotSucceed() async throws {
    try await ClientFixture.withServer { fixture in
      let client = try await fixture.open()
      let session = try SessionID("a")
      try await client.perform(.text("one", 1))
      try await client.tasks.receive(.turnStarted, in: session)
      try await client.tasks.receive(.toolStarted(id: "t1"), in: session)
      try await client.tasks.receive(.wentIdle, in: session)
      #expect(client.tasks.activities().isEmpty)
      #expect(client.workspace().threadQueue().ready.map(\.session) == [session])
      #expect(client.workspace().task(of: session)?.status == .completed(.cancelled))
      // After a reported end, this changes nothing.
      try await client.tasks.receive(.turnStarted, in: session)
      try await client.tasks.receive(.turnFailed(message: "no network"), in: session)
      let before = client.tasks.activity(of: session)
      #expect(try await client.tasks.receive(.wentIdle, in: session) == before)
      #expect(before.currentError != nil)
      #expect(
        client.workspace().task(of: session)?.status == .completed(.failure(error: "no network")))
      await client.close()
    }
  }

  /// A user's agent and the executor's in one session: the end of one is not the end of the other.
  @Test func twoTurnsInASessionEndEachAlone() async throws {
    try await ClientFixture.withServer { fixture in
      let client = try await fixture.open()
      let session = try SessionID("a")
      try await client.perform(.text("one", 1))
      client.tasks.noteActivity(.turnStarted, in: session)
      client.tasks.noteActivity(.toolStarted(id: "t1"), in: session)
      try await client.tasks.receive(.turnStarted, in: session)
      try await client.tasks.receive(.toolStarted(id: "t2"), in: session)
      #expect(client.tasks.activity(of: session).busy.runningTools == ["t1", "t2"])
      try await client.tasks.receive(.turnEnded, in: session)
      #expect(client.tasks.activity(of: session).busy.runningTools == ["t1"])
      #expect(client.tasks.activity(of: session).busy.isProcessing)
      try await client.tasks.receive(.turnStarted, in: session)
      client.tasks.noteActivity(.turnEnded, in: session)
      #expect(client.tasks.activity(of: session).busy.runningTools == [])
      #expect(client.tasks.activity(of: session).busy.isProcessing)
      await client.tasks.endLiveTurn(in: session)
      #expect(client.tasks.activities().isEmpty)
      await client.close()
    }
  }

  // S0-27, S0-40, S0-65, S0-66: the queue stops and shows the error, until a user continues it.
  @Test func aFailurePausesTheQueue() async throws {
    try await ClientFixture.withServer { fixture in
      let client = try await fixture.open()
      let session = try SessionID("a")
      try await client.perform(.text("one", 1))
      let activity = try await client.tasks.receive(.turnFailed(message: "no network"), in: session)
      #expect(activity.currentError == .executionFailed(message: "no network"))
      let queue = try client.workspace().messageQueue(session)
      #expect(queue.paused)
      #expect(queue.pauseReasons == ["failed: no network"])
      #expect(queue.messages.map(\.content) == ["one"])
      #expect(client.tasks.activity(of: session).currentError != nil)
      try await client.tasks.receive(.turnStarted, in: session)
      #expect(client.tasks.activity(of: session).currentError == nil)
      await client.close()
    }
  }

  @Test func onFailureContinueOnlyShowsTheError() async throws {
    try await ClientFixture.withServer { fixture in
      let client = try await fixture.open()
      let session = try SessionID("a")
      try await client.perform(.text("one", 1))
      client.apply(DeviceSettings(onFailure: .proceed))
      try await client.tasks.receive(.turnFailed(message: "no network"), in: session)
      #expect(try !client.workspace().messageQueue(session).paused)
      #expect(client.tasks.activity(of: session).currentError != nil)
      await client.close()
    }
  }

  @Test func longReasonsAreCutToWhatAPauseHolds() async throws {
    try await ClientFixture.withServer { fixture in
      let client = try await fixture.open()
      let session = try SessionID("a")
      try await client.perform(.text("one", 1))
      let message = String(repeating: "👩‍👩‍👧", count: 2_000)
      try await client.tasks.receive(.turnFailed(message: message), in: session)
      let reason = try #require(try client.workspace().messageQueue(session).pauseReasons.first)
      #expect(reason.utf8.count <= Limits.nameBytesMax)
      #expect(reason.utf8.count > Limits.nameBytesMax - 40)
      await client.close()
    }
  }

  @Test func wrongSignalsAreRefused() async throws {
    try await ClientFixture.withServer { fixture in
      let client = try await fixture.open()
      let session = try SessionID("a")
      await #expect(throws: ClientError.queue(.sessionNotFound(id: "a"))) {
        try await client.tasks.receive(.turnStarted, in: session)
      }
      try await client.perform(.text("one", 1))
      for id in ["", String(repeating: "i", count: Limits.toolIDBytesMax + 1)] {
        await #expect(throws: ClientError.self) {
          try await client.tasks.receive(.toolStarted(id: id), in: session)
        }
      }
      try await client.tasks.receive(
        .toolStarted(id: String(repeating: "i", count: Limits.toolIDBytesMax)), in: session)
      #expect(client.tasks.activity(of: session).busy.runningTools.count == 1)
      await client.close()
    }
  }

  // S2-20, S2-57, S2-66, S2-67, S2-68: off adds nothing and forgets nothing, and no other device
  // gets an operation: there is none between the two sends.
  @Test func togglingTheThreadQueueKeepsItsState() async throws {
    try await ClientFixture.withServer { fixture in
      let client = try await fixture.open()
      let first = try await client.perform(.text("one", 1))
      client.apply(DeviceSettings(queueEnabled: false))
      let second = try await client.perform(.text("two", 2, in: "b"))
      let (before, after) = (try #require(first.operations), try #require(second.operations))
      #expect(before.replica == after.replica && before.last + 1 == after.first)
      client.apply(DeviceSettings(queueEnabled: true))
      #expect(client.workspace().threadQueue().threads.map(\.session.rawValue) == ["a"])
      try await client.perform(.text("three", 3, in: "b"))
      #expect(client.workspace().threadQueue().threads.map(\.session.rawValue) == ["a", "b"])
      await client.close()
    }
  }

  // S0-6, S0-61, C-7: a changed cap applies from the next send on.
  @Test func aChangedCapHoldsAtOnce() async throws {
    try await ClientFixture.withServer { fixture in
      let client = try await fixture.open()
      client.apply(DeviceSettings(maxQueueSize: 1))
      try await client.perform(.text("one", 1))
      let error = await #expect(throws: ClientError.self) {
        try await client.perform(.text("two", 2))
      }
      #expect(error == .queue(.queueFull(current: 1, max: 1)))
      #expect(
        error?.description == "Queue full (1/1). Cancel a message or wait for one to complete.")
      client.apply(DeviceSettings(maxQueueSize: 2))
      let receipt = try await client.perform(.text("two", 2))
      guard case .queued(_, position: 2, count: 2, warning: true) = receipt.notice else {
        Issue.record("\(receipt)")
        return
      }
      await client.close()
    }
  }
}
