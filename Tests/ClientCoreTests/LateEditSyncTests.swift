import ClientCore
import QueueModel
import SequenceCRDT
import SyncTestSupport
import Testing
import WireProtocol

/// A device that was offline edits a message that an agent of another device has got.
@Suite struct LateEditSyncTests {
  private static let id = MessageID.numbered(1)

  private static func report(
    _ phase: RunPhase, _ fleet: inout Fleet
  ) throws {
    try fleet.perform(
      .reportRun(id, Run(token: 1, attempt: 1, phase: phase, milliseconds: fleet.wall)), on: 0)
  }

  /// The host receives it in the log, or in a snapshot after it was offline.
  @Test(arguments: [RunPhase.running, .succeeded])
  func textsThatRanDoNotChange(phase: RunPhase) throws {
    var fleet = try Fleet(devices: 3)
    try fleet.start()
    try fleet.perform(.send("Deploy it", as: 1, in: "a"), on: 0)
    try fleet.settle()
    fleet.cut(1)
    try Self.report(.dispatched, &fleet)
    try Self.report(phase, &fleet)
    try fleet.perform(.edit(Self.id, content: "Do not deploy", base: nil), on: 1)
    try fleet.pass(60_000)
    for device in fleet.devices {
      let message = try device.core.replica.workspace.message(Self.id)
      #expect(message.content == "Deploy it" && !message.isMerged)
      #expect(message.lateVersions.map(\.text) == ["Do not deploy"])
      #expect(message.lateVersions.map(\.device) == ["device 2"])
    }
    try fleet.expectConvergence()
    let made = fleet.server.workspace.vector
    try fleet.restart(0)
    try fleet.pass(60_000)
    #expect(fleet.server.workspace.vector == made)
  }

  /// Restored, it shows both texts, and says which of them the agent got.
  @Test func aRestoredMessageNamesTheTextThatItsAgentGot() throws {
    var fleet = try Fleet(devices: 2)
    try fleet.start()
    try fleet.perform(.send("Deploy it", as: 1, in: "a"), on: 0)
    try fleet.settle()
    fleet.cut(1)
    try Self.report(.running, &fleet)
    try fleet.perform(.edit(Self.id, content: "Do not deploy", base: nil), on: 1)
    try fleet.pass(60_000)
    try fleet.perform(.stopAttempt(Self.id, attempt: 1), on: 0)
    try Self.report(.cancelled, &fleet)
    try fleet.settle()
    try fleet.perform(.restore(Self.id), on: 1)
    try fleet.settle()
    for device in fleet.devices {
      let message = try device.core.replica.workspace.message(Self.id)
      #expect(message.isMerged)
      let got = message.versions.filter { $0.attempt == 1 }.map(\.text)
      #expect(got == ["Deploy it"] && message.versions.count == 2)
    }
  }

  /// The state after a late edit does not show what ran, so that is stored before the edit.
  @Test(arguments: 0..<4)
  func aHostThatEndsInBetweenKeepsWhatRan(commits: Int) throws {
    var fleet = try Fleet(devices: 2)
    try fleet.start()
    try fleet.perform(.send("Deploy it", as: 1, in: "a"), on: 0)
    try fleet.settle()
    fleet.cut(1)
    try Self.report(.dispatched, &fleet)
    try Self.report(.succeeded, &fleet)
    try fleet.settle()
    try fleet.perform(.edit(Self.id, content: "Do not deploy", base: nil), on: 1)
    fleet.devices[0].store.commitsLeft = commits
    try fleet.pass(60_000)
    fleet.devices[0].store.commitsLeft = nil
    try fleet.restart(0)
    try fleet.pass(60_000)
    for device in fleet.devices {
      let message = try device.core.replica.workspace.message(Self.id)
      #expect(
        message.content == "Deploy it" && message.lateVersions.map(\.text) == ["Do not deploy"])
    }
    try fleet.expectConvergence()
  }

  /// The device whose edit came too late notifies its own user once; the others do not.
  @Test func theUserOfALateEditIsNotified() throws {
    var fleet = try Fleet(devices: 3)
    try fleet.start()
    try fleet.perform(.send("Deploy it", as: 1, in: "a"), on: 0)
    try fleet.settle()
    fleet.cut(1)
    try Self.report(.dispatched, &fleet)
    try Self.report(.running, &fleet)
    try fleet.perform(.edit(Self.id, content: "Do not deploy", base: nil), on: 1)
    try fleet.pass(60_000)
    for index in fleet.devices.indices {
      fleet.note(index) { core, context, store in
        core.ownNewsFollowing(at: context, store: store)
          + core.ownNewsFollowing(at: context, store: store)
      }
      let notices = fleet.devices[index].core.notifications.map(\.notification)
      #expect(notices.map(\.title) == (index == 1 ? ["Edit Came Too Late"] : []), "\(notices)")
      #expect(notices.allSatisfy { !$0.awaitsPerson && $0.body.contains("Do not deploy") })
      let command = "cospool queue show \(Self.id.description.prefix(8))"
      #expect(notices.allSatisfy { $0.body.contains(command) })
    }
    // It stays until its user dismisses it.
    try fleet.pass(60_000)
    #expect(fleet.devices[1].core.notifications.count == 1)
  }

  /// It was cancelled on a device without a connection as its agent had started: the device tells its own user how
  /// to stop the agent, or that it has finished, whether the log says so or a snapshot.
  @Test(arguments: [false, true], [false, true])
  func theUserOfALateCancelIsNotified(bySnapshot: Bool, isFinished: Bool) throws {
    var fleet = try Fleet(devices: 3)
    try fleet.start()
    try fleet.perform(.send("Deploy it", as: 1, in: "a"), on: 0)
    try fleet.settle()
    fleet.cut(1)
    try Self.report(.running, &fleet)
    if isFinished { try Self.report(.succeeded, &fleet) }
    try fleet.perform(.cancel([Self.id]), on: 1)
    if bySnapshot { fleet.server.catchUpEntriesMax = 0 }
    try fleet.pass(60_000)
    for index in fleet.devices.indices {
      fleet.note(index) { $0.ownNewsFollowing(at: $1, store: $2) }
      let notices = fleet.devices[index].core.notifications.map(\.notification)
      #expect(notices.map(\.title) == (index == 1 ? ["Cancel Came Too Late"] : []), "\(notices)")
      let words =
        isFinished
        ? "finished. To see it: cospool queue show \(Self.id.description.prefix(8))"
        : "cospool queue stop -s a"
      #expect(notices.allSatisfy { $0.body.contains("\(words)\nDeploy it") })
    }
  }

  /// A cancel that came in time makes no notification.
  @Test func aCancelInTimeSendsNoNotification() throws {
    var fleet = try Fleet(devices: 2)
    try fleet.start()
    try fleet.perform(.send("Deploy it", as: 1, in: "a"), on: 0)
    try fleet.settle()
    fleet.cut(1)
    try fleet.perform(.cancel([Self.id]), on: 1)
    try fleet.pass(60_000)
    fleet.note(1) { $0.ownNewsFollowing(at: $1, store: $2) }
    #expect(fleet.devices[1].core.notifications.isEmpty)
  }

  /// A device that is paired later notifies its user of a message that waits already.
  @Test func aDevicePairedLaterHearsOfWhatWaits() throws {
    var fleet = try Fleet(devices: 2)
    try fleet.start()
    try fleet.perform(.send("Bump", as: 1, in: "a"), on: 0)
    try fleet.settle()
    fleet.cut(0)
    fleet.cut(1)
    try fleet.perform(.edit(Self.id, content: "Bump to 1.3", base: nil), on: 0)
    try fleet.perform(.edit(Self.id, content: "Bump to 2.0", base: nil), on: 1)
    try fleet.pass(60_000)
    #expect(try fleet.devices[0].core.replica.workspace.message(Self.id).isMerged)
    let late = try fleet.addDevice(isPaired: false)
    try fleet.start(late)
    try fleet.note(late) { core, context, store in
      try core.paired(Fleet.credentials(), at: context, store: store)
        + core.ownNewsFollowing(at: context, store: store)
    }
    #expect(fleet.devices[late].core.notifications.isEmpty)
    try fleet.pass(60_000)
    fleet.note(late) { core, context, store in
      core.ownNewsFollowing(at: context, store: store)
    }
    let notices = fleet.devices[late].core.notifications.map(\.notification)
    #expect(notices.map(\.message) == [Self.id] && notices.map(\.category) == [.messageMerged])
    try fleet.perform(.edit(Self.id, content: "Bump to 2.0", base: nil), on: 0)
    fleet.follows = true
    try fleet.pass(60_000)
    #expect(try !fleet.devices[late].core.replica.workspace.message(Self.id).isMerged)
  }

  /// A pause ends the typing, and the log shows when.
  @Test func anEditionThatAPauseMadeHasATime() throws {
    var fleet = try Fleet(devices: 1)
    try fleet.start()
    try fleet.perform(.send("Deploy", as: 1, in: "a"), on: 0)
    try fleet.pass(600_000)
    try fleet.perform(.insertText(Self.id, at: 6, text: " now"), on: 0)
    // The machine was suspended for a while.
    fleet.now += 30_000
    try fleet.pass(3_000)
    let operations = fleet.devices[0].store.operations
    let edition = try #require(
      operations.lastIndex {
        if case .addTag(_, .edition, _, _) = $0.body { true } else { false }
      })
    let isSettled = operations[edition...].contains {
      if case .setRegister(_, .changedAt, _, _) = $0.body { true } else { false }
    }
    #expect(isSettled)
  }
}
