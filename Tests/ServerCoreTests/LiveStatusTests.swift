import QueueModel
import Testing
import WireProtocol

@testable import ServerCore

/// The state of running tasks: begun, changed at most every 15 seconds, renewed, ended.
@Suite struct LiveStatusTests {
  private static func task(_ status: TaskStatus) throws -> TaskState {
    TaskState(
      sessionId: try SessionID("main"), status: status, startTime: 1, lastUpdateTime: 1)
  }

  private static func at(_ operation: String) throws -> TaskState {
    try task(.processing(operation: operation))
  }

  @Test func statusBeginsChangesAndEnds() throws {
    // S4-7, S4-8
    var statuses = LiveStatuses()
    #expect(statuses.changed(try Self.task(.idle), uptime: 0) == nil)
    #expect(statuses.changed(try Self.at("a"), uptime: 0) == .started)
    #expect(statuses.changed(try Self.at("a"), uptime: 20_000) == nil, "nothing changed")
    #expect(statuses.changed(try Self.at("b"), uptime: 20_000) == .updated)
    #expect(statuses.changed(try Self.task(.completed(.cancelled)), uptime: 20_001) == .ended)
    #expect(statuses.changed(try Self.task(.idle), uptime: 20_002) == nil)
    #expect(statuses.isEmpty)
  }

  @Test func changesWaitFifteenSecondsAndTheLatestIsSent() throws {
    // N-8
    var statuses = LiveStatuses()
    _ = statuses.changed(try Self.at("a"), uptime: 0)
    for (index, operation) in ["b", "c", "d"].enumerated() {
      #expect(statuses.changed(try Self.at(operation), uptime: Int64(index) * 5_000) == nil)
    }
    #expect(statuses.timePassed(uptime: 14_999).isEmpty)
    let due = statuses.timePassed(uptime: 15_000)
    #expect(due.map(\.event) == [.updated])
    #expect(due.map(\.task) == [try Self.at("d")])
    #expect(statuses.timePassed(uptime: 60_000).isEmpty)
    #expect(statuses.changed(try Self.at("e"), uptime: 16_000) == nil)
    #expect(statuses.changed(try Self.at("d"), uptime: 17_000) == nil, "back to what was sent")
    #expect(statuses.timePassed(uptime: 60_000).isEmpty)
  }

  @Test func statusIsRenewedBeforeEightHours() throws {
    // S4-7
    var statuses = LiveStatuses()
    _ = statuses.changed(try Self.at("a"), uptime: 0)
    #expect(statuses.timePassed(uptime: 26_999_999).isEmpty)
    #expect(statuses.timePassed(uptime: 27_000_000).map(\.event) == [.renewed])
    #expect(statuses.timePassed(uptime: 53_999_999).isEmpty)
    #expect(statuses.timePassed(uptime: 54_000_000).map(\.event) == [.renewed])
  }

  @Test func onlyInterestedDevicesThatCanShowItGetIt() throws {
    var pair = try NotifiedPair()
    try pair.report(.processing(operation: "a"))
    #expect(pair.scene.liveOrders.isEmpty, "no device has a target")
    try pair.addTarget()
    try pair.report(.processing(operation: "b"))
    #expect(pair.scene.liveOrders.map(\.event) == [.started])
    #expect(pair.scene.liveOrders.first?.receivers == [pair.phone.id: false])
    #expect(pair.scene.liveOrders.first?.task.status == .processing(operation: "b"))
    try pair.report(.processing(operation: "c"))
    #expect(pair.scene.liveOrders.count == 1)
    pair.scene.pass(15_000)
    #expect(pair.scene.liveOrders.map(\.event) == [.started, .updated])
    _ = try pair.ask(
      .setPreferences(NotificationPreferences(showsDetails: true, showsLiveStatus: false)))
    try pair.report(.completed(.success(summary: nil)))
    #expect(pair.scene.liveOrders.map(\.event) == [.started, .updated, .ended])
    #expect(pair.scene.liveOrders.last?.receivers == [pair.phone.id: true], "its device ends it")
    try pair.report(.processing(operation: "d"))
    #expect(pair.scene.liveOrders.count == 3)
  }

  // S4-7, S4-8: a server that restarts continues with the displayed statuses.
  @Test func aRestartInTheMiddleLosesNoStatus() throws {
    var pair = try NotifiedPair()
    try pair.addTarget()
    try pair.report(.processing(operation: "a"))
    pair.phoneLeaves()
    pair.scene.pass(26_000_000)
    pair.scene.restart(ServerConfiguration())
    // No device connects: the server finds by itself what it displays.
    pair.scene.pass(0)
    pair.scene.pass(14_999)
    #expect(pair.scene.liveOrders.map(\.event) == [.started])
    pair.scene.pass(1)
    #expect(pair.scene.liveOrders.map(\.event) == [.started, .updated])
    #expect(pair.scene.liveOrders.last?.task.status == .processing(operation: "a"))
    #expect(pair.scene.liveOrders.last?.receivers == [pair.phone.id: false])
    pair.scene.pass(27_000_000 - 26_000_000 - 15_000 - 1)
    #expect(pair.scene.liveOrders.count == 2)
    pair.scene.pass(1)
    #expect(pair.scene.liveOrders.map(\.event) == [.started, .updated, .renewed])
    pair.scene.restart(ServerConfiguration())
    pair.hostConnection = pair.scene.connect(pair.host)
    try pair.report(.completed(.success(summary: nil)))
    #expect(pair.scene.liveOrders.map(\.event) == [.started, .updated, .renewed, .ended])
    #expect(shown(pair).isEmpty)
  }

  /// The store may be older than the displayed statuses: from a backup, or of another version.
  @Test func statusesEndedMeanwhileAreEnded() throws {
    var pair = try NotifiedPair()
    try pair.addTarget()
    try pair.report(.processing(operation: "a"), .completed(.cancelled))
    let sessions = [try SessionID("main"), try SessionID("unknown")]
    pair.scene.storage.withState { state in
      for session in sessions {
        state.workspaces[ServerScene.workspace]?.inboxes.statuses[session] = 5
      }
    }
    pair.scene.restart(ServerConfiguration())
    pair.scene.pass(0)
    pair.scene.pass(20_000)
    #expect(pair.scene.liveOrders.map(\.event) == [.ended, .ended])
    #expect(pair.scene.liveOrders.map(\.task.status) == [.completed(.cancelled), .idle])
    #expect(shown(pair).isEmpty)
    pair.scene.pass(27_000_000)
    #expect(pair.scene.liveOrders.count == 2)
  }

  /// A server died before all devices were notified.
  @Test func aStoredEndIsReportedAgainWithItsTime() throws {
    var pair = try NotifiedPair()
    try pair.addTarget()
    try pair.report(.processing(operation: "a"), .completed(.cancelled))
    let session = try SessionID("main")
    pair.scene.storage.withState { state in
      state.workspaces[ServerScene.workspace]?.inboxes.endedStatuses[session] = 5
    }
    pair.scene.restart(ServerConfiguration())
    pair.scene.pass(0)
    pair.scene.pass(20_000)
    #expect(pair.scene.liveOrders.map(\.event) == [.ended])
    #expect(pair.scene.liveOrders.first?.at == 5)
    #expect(pair.scene.liveOrders.first?.task.status == .completed(.cancelled))
    #expect(pair.scene.liveOrders.first?.receivers == [pair.phone.id: false])
  }

  @Test func aWorkspaceWithoutConnectionsIsRenewedToo() throws {
    var pair = try NotifiedPair()
    try pair.addTarget()
    try pair.report(.processing(operation: "a"))
    pair.phoneLeaves()
    pair.scene.drop(pair.hostConnection)
    pair.scene.pass(1_000)
    for _ in 0..<27 { pair.scene.pass(1_000_000) }
    #expect(pair.scene.liveOrders.map(\.event) == [.started, .renewed])
  }

  @Test func anUnstoredStatusIsNotBegun() throws {
    var pair = try NotifiedPair()
    try pair.addTarget()
    pair.scene.holdsTasks = true
    try pair.host.perform(
      .reportTask(
        TaskReport(
          session: try SessionID("main"), status: .processing(operation: "a"),
          milliseconds: NotifiedPair.wall)))
    let batch = pair.host.changes()
    pair.scene.send(batch, on: pair.hostConnection)
    pair.scene.storage.withState { $0.writeFault = StorageFault(code: .full, message: "full") }
    pair.scene.finishTasks()
    pair.scene.storage.withState { $0.writeFault = nil }
    pair.scene.holdsTasks = false
    pair.scene.pass(5_000)
    #expect(pair.scene.liveOrders.isEmpty && shown(pair).isEmpty)
    pair.scene.send(batch, on: pair.hostConnection)
    #expect(pair.scene.liveOrders.map(\.event) == [.started])
    #expect(shown(pair).count == 1)
  }

  private func shown(_ pair: NotifiedPair) -> [SessionID: Int64] {
    pair.scene.storage.withState {
      $0.workspaces[ServerScene.workspace]?.inboxes.statuses ?? [:]
    }
  }

  @Test func onlyDurableStatusesAreShown() throws {
    var pair = try NotifiedPair()
    try pair.addTarget()
    pair.scene.holdsTasks = true
    try pair.report(.processing(operation: "a"))
    #expect(pair.scene.liveOrders.isEmpty)
    pair.scene.finishTasks()
    #expect(pair.scene.liveOrders.map(\.event) == [.started])
  }
}
