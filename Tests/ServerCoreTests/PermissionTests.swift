import QueueModel
import SequenceCRDT
import ServerCore
import SyncTestSupport
import Testing
import WireProtocol

/// The rights and limits of each role.
@Suite struct PermissionTests {
  private func refusal(_ scene: inout ServerScene, _ id: ConnectionID) -> RefusalCode? {
    scene.take(id).refusals.first?.code
  }

  private func answer(
    to request: AuthorityRequest, on connection: ConnectionID, _ scene: inout ServerScene
  ) throws -> AuthorityAnswer? {
    scene.send(.request(request.request(id: 1)), on: connection)
    for case .response(let response) in scene.take(connection) {
      return try AuthorityAnswer(response, to: request)
    }
    return nil
  }

  private func give(_ role: DeviceRole, to device: ScriptedDevice, in scene: ServerScene) {
    scene.storage.withState {
      $0.workspaces[device.workspaceID]?.devices[device.id]?.record.role = role
    }
  }

  /// A database that moves to another device includes its outbox, with its ids.
  @Test func anOutboxComesInWithWhoeverHasIt() throws {
    var scene = ServerScene()
    var (gone, heir) = (scene.device(1), scene.device(2))
    try gone.write("mine")
    let connection = try scene.join(&heir)
    heir.outgoing = gone.outgoing
    scene.send(heir.changes(), on: connection)
    #expect(scene.take(connection).acks.count == 1)
  }

  @Test func viewersReadAndChangeNothing() throws {
    var scene = ServerScene()
    var (writer, viewer) = (scene.device(1), scene.device(2))
    give(.viewer, to: viewer, in: scene)
    let writing = try scene.join(&writer)
    let viewing = try scene.join(&viewer)
    try writer.write("text")
    scene.send(writer.changes(), on: writing)
    try viewer.take(scene.take(viewing))
    #expect(try viewer.texts() == ["text"])
    try viewer.write("more")
    scene.send(viewer.changes(), on: viewing)
    #expect(refusal(&scene, viewing) == .notAllowed)
    #expect(try scene.tables.head.position == 1)
    let answer = try answer(
      to: .answer(
        AnswerRequest(
          session: SessionID("main"), request: RequestID(high: 1, low: 1), verdict: .allowed)),
      on: viewing, &scene)
    #expect(answer == .notAwaited)
  }

  /// The device knows it as it begins; for a host whose access does not end, nothing is sent.
  @Test func aDeviceLearnsItsRoleBeforeItsWelcome() throws {
    for (role, end, expected) in [
      (DeviceRole.viewer, Int64?.none, AccessNotice(role: .viewer, expiresAt: nil)),
      (.host, 2_000_000_000_000, AccessNotice(role: .host, expiresAt: 2_000_000_000_000)),
      (.host, nil, nil),
    ] {
      var scene = ServerScene()
      let device = scene.device(1)
      give(role, to: device, in: scene)
      scene.storage.withState { state in
        for hash in state.tokens.keys { state.expiries[hash] = end }
      }
      let frames = scene.take(scene.connect(device))
      guard
        let welcome = frames.firstIndex(where: { if case .welcome = $0 { true } else { false } })
      else {
        Issue.record("no welcome: \(frames)")
        continue
      }
      #expect(Array(frames[..<welcome]) == (expected.map { [.access($0)] } ?? []))
    }
  }

  @Test func authorsQueueAndRunNothing() throws {
    var scene = ServerScene()
    var author = scene.device(1)
    give(.author, to: author, in: scene)
    let connection = try scene.join(&author)
    try author.write("text")
    try author.perform(.setHost(try SessionID("main"), author.id))
    // A device that may queue any text may also let a merged one run.
    try author.perform(.setOnMerge(try SessionID("main"), .run))
    scene.send(author.changes(), on: connection)
    #expect(scene.take(connection).acks.count == 1)
    #expect(author.workspace.session(try SessionID("main"))?.onMerge == .run)
    let answer = try answer(
      to: .lease(session: SessionID("main"), token: 0), on: connection, &scene)
    #expect(answer == AuthorityAnswer.otherHost(nil))
  }

  /// The same claim in a batch, and in the state of a device whose log the server supposedly lacks.
  @Test func anAuthorsRightsAreTheSameInBatchesAndStates() throws {
    var scene = ServerScene()
    var author = scene.device(1)
    give(.author, to: author, in: scene)
    let connection = try scene.join(&author)
    try author.write("text")
    scene.send(author.changes(), on: connection)
    try author.take(scene.take(connection))
    let run = Run(token: 1, attempt: 1, phase: .succeeded, milliseconds: 1)
    try author.perform(.reportRun(MessageID(high: 1, low: 1), run))
    scene.send(author.changes(), on: connection)
    #expect(refusal(&scene, connection) == .notAllowed)
    author.prefix = LogPrefix(position: 9, chain: 9)
    let diverged = scene.connect(author)
    _ = scene.take(diverged)
    for frame in author.offer() { scene.send(frame, on: diverged) }
    #expect(refusal(&scene, diverged) == .notAllowed)
    #expect(try scene.tables.head.position == 1)
  }

  /// Its batch waits while its access is revoked: an unknown device is not a host.
  @Test func waitingBatchesOfARevokedDeviceAreNotWritten() throws {
    var scene = ServerScene()
    var device = scene.device(1)
    give(.author, to: device, in: scene)
    let connection = try scene.join(&device)
    scene.holdsTasks = true
    try device.write("in flight")
    scene.send(device.changes(), on: connection)
    let run = Run(token: 1, attempt: 1, phase: .succeeded, milliseconds: 1)
    try device.perform(.reportRun(MessageID(high: 1, low: 1), run))
    scene.send(device.changes(), on: connection)
    scene.storage.revoke(device.id, in: ServerScene.workspace)
    scene.pass(1_000)
    scene.findLapsed()
    #expect(refusal(&scene, connection) == .revoked)
    scene.finishTasks()
    #expect(try scene.tables.head.position == 1)
  }

  @Test func accessEndsAtItsTime() throws {
    var scene = ServerScene()
    var device = scene.device(1)
    let end = scene.now.wallMilliseconds + 60_000
    scene.storage.withState { $0.expiries[device.token + [0]] = end }
    let connection = try scene.join(&device)
    scene.pass(59_000)
    #expect(scene.closed[connection] == nil)
    scene.pass(2_000)
    #expect(refusal(&scene, connection) == .revoked)
    #expect(scene.closed[connection] == .policyViolation)
    let again = scene.connect(device)
    #expect(refusal(&scene, again) == .revoked)
  }

  @Test func aDayHasItsShareAndTheNextOneHasItsOwn() throws {
    var scene = ServerScene { $0.quota.dailyBytesMax = 4_000 }
    var device = scene.device(1)
    let connection = try scene.join(&device)
    func fill() throws -> Refusal? {
      for _ in 0..<100 {
        try device.write((0..<100).map { _ in String(scene.generator.next(), radix: 36) }.joined())
        let outgoing = device.outgoing
        scene.send(device.changes(), on: connection)
        if let refusal = scene.take(connection).refusals.first {
          device.outgoing = outgoing
          return refusal
        }
      }
      return nil
    }
    let refusal = try #require(try fill())
    #expect(refusal.code == .limitReached)
    let pause = Int64(try #require(refusal.retryAfterMilliseconds))
    #expect(pause > 0 && pause <= 86_400_000)
    let position = try scene.tables.head.position
    // Data that leaves memory is not forgotten.
    scene.pass(scene.core.configuration.times.connectedIdleMilliseconds)
    scene.send(device.changes(), on: connection)
    #expect(scene.take(connection).refusals.first?.code == .limitReached)
    scene.now.wallMilliseconds += pause
    let left = scene.device(2)
    var other = left
    let fresh = try scene.join(&other)
    try other.write("tomorrow")
    scene.send(other.changes(), on: fresh)
    #expect(scene.take(fresh).acks.count == 1)
    #expect(try scene.tables.head.position == position + 1)
  }

  @Test func changesByTheOwnerCountWithinSeconds() throws {
    var scene = ServerScene()
    var device = scene.device(1)
    let connection = try scene.join(&device)
    try device.write("text")
    scene.send(device.changes(), on: connection)
    #expect(scene.take(connection).acks.count == 1)
    for (quota, code) in [
      (WorkspaceQuota(bytesMax: 0), RefusalCode.limitReached),
      (WorkspaceQuota(unitsMax: 1), .limitReached),
      (WorkspaceQuota(dailyBytesMax: 0), .limitReached),
    ] {
      scene.storage.withState { $0.workspaces[ServerScene.workspace]?.quota = quota }
      scene.pass(1_500)
      _ = scene.take(connection)
      // A refused batch is sent again before any later one.
      let before = device
      try device.write("more")
      scene.send(device.changes(), on: connection)
      #expect(refusal(&scene, connection) == code, "\(quota)")
      device = before
    }
  }
}
