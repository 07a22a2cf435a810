import QueueModel
import SequenceCRDT
import Testing
import WireProtocol

@testable import ServerCore

/// Notifications of very large batches.
@Suite struct HugeBatchNotificationTests {
  private let session: SessionID

  init() throws {
    session = try SessionID("main")
  }

  /// The number of notifications is limited, whatever the size of a batch.
  @Test func theLastOfAHugeBatchIsReported() throws {
    var pair = try NotifiedPair()
    try pair.report(NotifiedPair.working)
    for number in 0..<500 {
      for status in [NotifiedPair.working, .completed(.success(summary: "\(number)"))] {
        try pair.host.perform(
          .reportTask(
            TaskReport(session: session, status: status, milliseconds: NotifiedPair.wall)))
      }
    }
    pair.scene.send(pair.host.changes(), on: pair.hostConnection)
    let received = pair.received()
    #expect(received.count == WireLimits.batchNewsMax)
    #expect(received.last?.body == "499")
    let writes = pair.scene.storage.withState {
      $0.workspaces[ServerScene.workspace]?.inboxes.entries.count ?? 0
    }
    #expect(writes == WireLimits.batchNewsMax)
  }

  /// A write of a few bytes has a text of 24 KiB if it continues in earlier registers. Only this
  /// many bytes are read for a batch, and there are no notifications of writes before that.
  @Test(arguments: [(300, true), (400, false)])
  func soMuchOfTasksIsReadForABatch(writes: Int, isNotified: Bool) throws {
    var pair = try NotifiedPair()
    try pair.host.perform(
      .reportTask(
        TaskReport(
          session: session, status: NotifiedPair.working, milliseconds: NotifiedPair.wall)))
    let (element, stamp) = try #require(
      pair.host.outgoing.compactMap { operation -> (OperationID, Stamp)? in
        guard case .setRegister(let element, .task, _, let stamp) = operation.body else {
          return nil
        }
        return (element, stamp)
      }.first)
    var bodies: [Operation.Body] = []
    func write(_ field: RegisterField, _ text: String, step: UInt64) {
      bodies.append(
        .setRegister(
          element: element, field: field, value: .text(text),
          stamp: Stamp(rawValue: stamp.rawValue + step)))
    }
    write(.task, "status completed\nresult success\nsummary done\nat \(NotifiedPair.wall)", step: 1)
    for field in RegisterField.taskPieces.dropFirst() {
      write(field, String(repeating: "x", count: Limits.nameBytesMax), step: 2)
    }
    for _ in 0..<writes { write(.task, "status processing", step: 2) }
    let first = pair.host.workspace.vector[pair.host.replica] + 1
    for (index, body) in bodies.enumerated() {
      let id = OperationID(replica: pair.host.replica, seq: first + UInt32(index))
      pair.host.outgoing.append(Operation(id: id, body: body))
    }
    pair.scene.send(pair.host.changes(), on: pair.hostConnection)
    #expect(pair.scene.take(pair.hostConnection).acks.count == 1)
    #expect(pair.received().map(\.category) == (isNotified ? [.taskComplete] : []))
  }

  /// The displayed status of an ended task must not stay, even if the batch writes much about other
  /// sessions after it.
  @Test func tasksShownAfterAHugeBatchAreCurrent() throws {
    var pair = try NotifiedPair()
    try pair.addTarget()
    func report(_ session: SessionID, _ status: TaskStatus) -> Command {
      .reportTask(TaskReport(session: session, status: status, milliseconds: NotifiedPair.wall))
    }
    // One is the first of all by its name, and one the last.
    let shown = [session, try SessionID("z")]
    try pair.perform(
      [.addSession(shown[1], name: nil, project: nil)]
        + shown.map { report($0, NotifiedPair.working) })
    #expect(pair.scene.liveOrders.map(\.event) == [.started, .started])
    var commands = shown.map { report($0, .completed(.success(summary: nil))) }
    for number in 0..<500 {
      let other = try SessionID("s\(number)")
      commands.append(.addSession(other, name: nil, project: nil))
      commands.append(report(other, NotifiedPair.working))
    }
    try pair.perform(commands)
    pair.scene.pass(1_000)
    let orders = pair.scene.liveOrders
    #expect(Set(orders.filter { $0.event == .ended }.map(\.task.sessionId)) == Set(shown))
    #expect(orders.count == 2 + 2 + 500)
  }

  /// A request that is no longer open must not stay in inboxes, even if the batch writes much about
  /// other sessions after it.
  @Test func aRequestThatAHugeBatchSettlesIsGone() throws {
    var pair = try NotifiedPair()
    try pair.report(NotifiedPair.working)
    try pair.report(NotifiedPair.approval(1))
    #expect(pair.received().count == 1)
    #expect(!pair.entries.isEmpty)
    var commands: [Command] = []
    func report(_ session: SessionID) {
      let report = TaskReport(
        session: session, status: NotifiedPair.working, milliseconds: NotifiedPair.wall)
      commands.append(.reportTask(report))
    }
    report(session)
    for number in 0..<500 {
      let other = try SessionID("s\(number)")
      commands.append(.addSession(other, name: nil, project: nil))
      report(other)
    }
    try pair.perform(commands)
    #expect(pair.entries.isEmpty)
  }
}
