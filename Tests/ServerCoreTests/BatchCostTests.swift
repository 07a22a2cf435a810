import QueueModel
import SequenceCRDT
import ServerCore
import SyncTestSupport
import Testing
import WireProtocol

/// Operations that would make every later change to an element expensive are refused.
@Suite struct BatchCostTests {
  private let most = WireLimits.elementTagsMax

  /// A device whose session and message are in the log, and ids for operations that it writes by
  /// hand.
  private struct Author {
    var scene = ServerScene()
    var device: ScriptedDevice
    let connection: ConnectionID
    var message: OperationID
    var session: OperationID

    init() throws {
      device = scene.device(1)
      connection = try scene.join(&device)
      try device.write("text")
      let written = device.outgoing
      func first(_ fits: (Operation.Body) -> Bool) throws -> OperationID {
        try #require(written.first { fits($0.body) }).id
      }
      message = try first { if case .addMessage = $0 { true } else { false } }
      session = try first { if case .openSession = $0 { true } else { false } }
      scene.send(device.changes(), on: connection)
      #expect(scene.take(connection).acks.count == 1)
    }

    /// Sends operations with the next ids.
    mutating func send(_ bodies: [(OperationID) -> Operation.Body]) -> RefusalCode? {
      let first = device.workspace.vector[device.replica] + 1
      device.outgoing = bodies.enumerated().map { index, body in
        let id = OperationID(replica: device.replica, seq: first + UInt32(index))
        return Operation(id: id, body: body(id))
      }
      let sent = device.outgoing
      scene.send(device.changes(), on: connection)
      let frames = scene.take(connection)
      guard frames.acks.isEmpty else {
        _ = try? device.workspace.merge(sent)
        return nil
      }
      return frames.refusals.first?.code
    }
  }

  @Test func tagsThatPileUpAreRefused() throws {
    var author = try Author()
    let tag = { (clears: [OperationID]) in
      { [message = author.message] (_: OperationID) in
        Operation.Body.addTag(element: message, field: .attachment, clears: clears, note: "x")
      }
    }
    #expect(author.send(Array(repeating: tag([]), count: most)) == nil)
    #expect(author.send([tag([])]) == .limitReached)
    // A device that clears its own tags may continue forever.
    let seq = author.device.workspace.vector[author.device.replica]
    let replica = author.device.replica
    let chain = (0..<2_000).map { index in
      let before = OperationID(replica: replica, seq: seq + UInt32(index))
      return { [session = author.session] (_: OperationID) in
        Operation.Body.addTag(
          element: session, field: .paused, clears: index == 0 ? [] : [before], note: "x")
      }
    }
    #expect(author.send(chain) == nil)
  }

  /// Until they are cleared they make the batch itself expensive: its work would grow with their
  /// square.
  @Test func tagsThatPileUpUntilTheEndOfTheirBatchAreRefused() throws {
    var author = try Author()
    let first = author.device.workspace.vector[author.device.replica] + 1
    let pile = (0..<UInt32(most) + 1).map {
      OperationID(replica: author.device.replica, seq: first + $0)
    }
    let message = author.message
    var bodies: [(OperationID) -> Operation.Body] = pile.map { _ in
      { _ in .addTag(element: message, field: .attachment, clears: [], note: "x") }
    }
    bodies.append { _ in .clearTags(element: message, field: .attachment, clears: pile) }
    #expect(author.send(bodies) == .limitReached)
    bodies.removeFirst()
    let rest = Array(pile.dropLast())
    bodies[bodies.count - 1] = { _ in .clearTags(element: message, field: .attachment, clears: rest)
    }
    #expect(author.send(bodies) == nil)
  }

  @Test func oneMessageIsIntroducedOnlySoOften() throws {
    var author = try Author()
    let add = { [session = author.session] (id: OperationID) in
      Operation.Body.addMessage(
        Operation.AddMessage(
          message: MessageID(high: 1, low: 1), session: session,
          origins: Operation.Origins(left: nil, right: nil),
          stamp: Stamp(milliseconds: 1_700_000_000_000), priority: .normal,
          clears: [OperationID(replica: id.replica, seq: id.seq - 1)]))
    }
    #expect(author.send(Array(repeating: add, count: most)) == .limitReached)
    #expect(author.send(Array(repeating: add, count: 100)) == nil)
  }

  /// One workspace always has more waiting batches than a transaction takes; they are accepted, or
  /// refused after they were examined.
  @Test(arguments: [true, false])
  func aBusyWorkspaceDelaysNoOther(isTaken: Bool) throws {
    var scene = ServerScene {
      $0.commits.batchesMax = 4
      $0.commits.operationsMax = 100
    }
    var (device, other) = (scene.device(1), scene.device(2, workspace: ServerScene.otherWorkspace))
    let connection = try scene.join(&device)
    let elsewhere = try scene.join(&other)
    scene.holdsTasks = true
    var session = 0
    func flood() throws {
      for _ in 0..<10 {
        session += 1
        for _ in 0..<(isTaken ? 1 : 40) { try device.write("text", in: "session \(session)") }
        // Batches of a writer that has not begun are refused as a whole.
        if !isTaken { device.outgoing.removeFirst() }
        scene.send(device.changes(), on: connection)
        if !isTaken { device.beginRun() }
      }
    }
    try flood()
    try other.write("text")
    scene.send(other.changes(), on: elsewhere)
    for _ in 1...3 {
      scene.finishOneTask()
      try flood()
    }
    #expect(scene.take(elsewhere).acks.count == 1)
    let answered = { (frames: [Frame]) in frames.acks.count + frames.refusals.count }
    #expect(answered(scene.take(connection)) < 20)
    // All of it gets its turn.
    scene.finishTasks()
    #expect(answered(scene.take(connection)) > 10)
  }

  /// An expensive batch comes after those that another workspace sent meanwhile, not before: those
  /// wait only for the batch that is being examined.
  @Test func theLeastServedIsNext() throws {
    var scene = ServerScene { $0.commits.operationsMax = 30 }
    var (device, other) = (scene.device(1), scene.device(2, workspace: ServerScene.otherWorkspace))
    let connection = try scene.join(&device)
    let elsewhere = try scene.join(&other)
    scene.holdsTasks = true
    for batch in 0..<4 {
      for message in 0..<40 { try device.write("text", in: "session \(batch) \(message)") }
      scene.send(device.changes(), on: connection)
    }
    try other.write("text")
    scene.send(other.changes(), on: elsewhere)
    scene.finishOneTask()
    #expect(scene.take(connection).acks.count == 1)
    #expect(scene.take(elsewhere).acks.isEmpty)
    scene.finishOneTask()
    #expect(scene.take(elsewhere).acks.count == 1)
    scene.finishTasks()
    #expect(scene.take(connection).acks.count == 3)
  }

  /// A workspace with low limits is not refused because of data that a snapshot would drop.
  @Test func aLongTailIsASnapshotBeforeItIsTooMuch() throws {
    var scene = ServerScene { $0.quota.bytesMax = 8_000 }
    var device = scene.device(1)
    let connection = try scene.join(&device)
    let session = try SessionID("main")
    try device.write("text")
    for index in 0..<250 {
      try device.perform(index % 2 == 0 ? .pause(session, reason: nil) : .resume(session))
      scene.send(device.changes(), on: connection)
      #expect(scene.take(connection).refusals.isEmpty, "batch \(index)")
    }
    #expect(try !scene.tables.snapshots.isEmpty)
  }

  @Test func aWorkspaceWithoutQuotaGetsNoEmptySnapshot() throws {
    var scene = ServerScene { $0.quota.bytesMax = 0 }
    var device = scene.device(1)
    _ = try scene.join(&device)
    scene.finishTasks()
    #expect(try scene.tables.snapshots.isEmpty)
  }

  @Test(arguments: [true, false])
  func aWorkspaceOverItsQuotaStopsNoOther(inBytes: Bool) throws {
    var scene = ServerScene {
      if inBytes { $0.quota.bytesMax = 2_000 } else { $0.quota.unitsMax = 2_000 }
    }
    var (device, other) = (scene.device(1), scene.device(2, workspace: ServerScene.otherWorkspace))
    let connection = try scene.join(&device)
    let elsewhere = try scene.join(&other)
    var refusals: [RefusalCode] = []
    var generator = scene.generator
    for _ in 0..<100 where refusals.isEmpty {
      let text = (0..<100).map { _ in String(generator.next(), radix: 36) }.joined()
      try device.write(text)
      scene.send(device.changes(), on: connection)
      refusals += scene.take(connection).refusals.map(\.code)
    }
    #expect(refusals == [.limitReached])
    try other.write("text")
    scene.send(other.changes(), on: elsewhere)
    #expect(scene.take(elsewhere).acks.count == 1)
    // Existing data is still readable.
    var reader = scene.device(3)
    _ = try scene.join(&reader)
    #expect(try !reader.texts().isEmpty)
  }
}
