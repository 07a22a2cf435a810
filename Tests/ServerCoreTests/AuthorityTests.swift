import DispatchAuthority
import QueueModel
import SequenceCRDT
import ServerCore
import SyncTestSupport
import Testing
import WireProtocol

/// Leases and dispatch as the server grants them: in order with batches, and durable first.
@Suite struct AuthorityTests {
  private let session: SessionID

  init() throws {
    session = try SessionID("main")
  }

  private func ask(
    _ request: AuthorityRequest, as id: UInt64, on connection: ConnectionID,
    _ scene: inout ServerScene
  ) throws -> AuthorityAnswer? {
    scene.send(.request(request.request(id: id)), on: connection)
    return try answer(to: request, id, on: connection, &scene)
  }

  private func answer(
    to request: AuthorityRequest, _ id: UInt64, on connection: ConnectionID,
    _ scene: inout ServerScene
  ) throws -> AuthorityAnswer? {
    for case .response(let response) in scene.take(connection) where response.id == id {
      return try AuthorityAnswer(response, to: request)
    }
    return nil
  }

  /// A host that queued a prompt and runs its session; its changes are sent, except the
  /// announcement of its name.
  private func host(_ scene: inout ServerScene) throws -> (ScriptedDevice, ConnectionID) {
    var host = scene.device(1)
    let connection = try scene.join(&host)
    try host.write("first")
    try host.perform(.setHost(session, host.id))
    scene.send(host.changes(), on: connection)
    return (host, connection)
  }

  private func dispatch(_ host: inout ScriptedDevice, token: UInt64) throws -> AuthorityRequest {
    let message = MessageID(high: 1, low: 1)
    let state = try #require(host.workspace.dispatchState(of: message))
    return .dispatch(
      DispatchRequest(
        session: session, message: message, token: token, attempt: 1, tags: state.tags,
        content: DispatchRequest.contentDigest(state.text)))
  }

  private func lease(_ scene: inout ServerScene, on connection: ConnectionID) throws -> UInt64 {
    let answer = try ask(.lease(session: session, token: 0), as: 1, on: connection, &scene)
    guard case .leased(let token, _, _)? = answer else {
      Issue.record("no lease: \(String(describing: answer))")
      return 0
    }
    return token
  }

  private func content(of request: AuthorityRequest) throws -> UInt64 {
    guard case .dispatch(let dispatch) = request else { throw NoDispatch() }
    return dispatch.content
  }

  /// One register must not use up the tokens of all sessions.
  @Test func aTokenThatWasNotGrantedIsMovedDown() throws {
    var scene = ServerScene()
    var (host, connection) = try host(&scene)
    var reader = scene.device(2)
    let granted = try lease(&scene, on: connection)
    let poison = Run(token: Fence.tokenMax, attempt: 1, phase: .running, milliseconds: 1)
    try host.perform(.reportRun(MessageID(high: 1, low: 1), poison))
    scene.send(host.changes(), on: connection)
    #expect(scene.take(connection).refusals.isEmpty)
    _ = try scene.join(&reader)
    let state = try #require(reader.workspace.dispatchState(of: MessageID(high: 1, low: 1)))
    let written = try #require(state.runState.run?.token)
    #expect(written >= granted && written < Fence.tokenMax)

    // Each lease has its own token, even those of other sessions.
    var tokens = [granted, Fence.tokenMax]
    for number in 0..<3 {
      let other = try SessionID("other \(number)")
      try host.write("text", in: other.rawValue)
      try host.perform(.setHost(other, host.id))
      scene.send(host.changes(), on: connection)
      _ = scene.take(connection)
      let answer = try ask(
        .lease(session: other, token: 0), as: UInt64(10 + number), on: connection, &scene)
      guard case .leased(let token, _, _)? = answer else {
        Issue.record("no lease")
        continue
      }
      tokens.append(token)
    }
    #expect(Set(tokens).count == tokens.count)
  }

  private struct NoDispatch: Error {}

  @Test func theHostIsLeasedAndItsPromptGoesOutOnce() throws {
    var scene = ServerScene()
    var (host, connection) = try host(&scene)
    let token = try lease(&scene, on: connection)
    let request = try dispatch(&host, token: token)
    #expect(try ask(request, as: 2, on: connection, &scene) == .go)
    #expect(try ask(request, as: 2, on: connection, &scene) == .go)
    let other = scene.device(2)
    let reader = scene.connect(other)
    _ = scene.take(reader)
    #expect(
      try ask(.outcome(MessageID(high: 1, low: 1)), as: 9, on: reader, &scene)
        == .outcome(attempt: 1, token: token, content: try content(of: request)))
    #expect(
      try ask(.lease(session: session, token: 0), as: 10, on: reader, &scene)
        == .otherHost(host.id))
  }

  @Test func nothingIsPromisedBeforeItIsDurable() throws {
    var scene = ServerScene()
    var (host, connection) = try host(&scene)
    let token = try lease(&scene, on: connection)
    let request = try dispatch(&host, token: token)
    scene.holdsTasks = true
    #expect(try ask(request, as: 2, on: connection, &scene) == nil)
    // A question about it waits, too: the answer would not be durable yet.
    let outcome = AuthorityRequest.outcome(MessageID(high: 1, low: 1))
    #expect(try ask(outcome, as: 3, on: connection, &scene) == nil)
    scene.storage.withState { $0.writeFault = StorageFault(code: .full, message: "disk full") }
    scene.finishTasks()
    scene.storage.withState { $0.writeFault = nil }
    #expect(try answer(to: request, 2, on: connection, &scene) == .unavailable)
    scene.pass(5_000)
    scene.finishTasks()
    _ = scene.take(connection)
    scene.holdsTasks = false
    let answer = try ask(outcome, as: 4, on: connection, &scene)
    #expect(answer == .outcome(attempt: 0, token: 0, content: 0))
    #expect(try ask(request, as: 5, on: connection, &scene) == .go)
  }

  /// A state that is joined after a failed transaction must not hide the failure.
  @Test func anUnstoredGrantIsNotSentThoughAStateIsJoinedAfterIt() throws {
    var world = try DivergedWorld()
    var scene = world.scene
    let host = try scene.join(&world.other)
    try world.other.write("first")
    try world.other.perform(.setHost(session, world.other.id))
    scene.send(world.other.changes(), on: host)
    let token = try lease(&scene, on: host)
    let message = try #require(
      try world.other.workspace.messageQueue(session).messages.first { $0.content == "first" }?.id)
    let state = try #require(world.other.workspace.dispatchState(of: message))
    let request = AuthorityRequest.dispatch(
      DispatchRequest(
        session: session, message: message, token: token, attempt: 1, tags: state.tags,
        content: DispatchRequest.contentDigest(state.text)))
    let behind = scene.connect(world.author)
    scene.holdsTasks = true
    #expect(try ask(request, as: 2, on: host, &scene) == nil)
    for frame in world.author.offer() { scene.send(frame, on: behind) }
    #expect(scene.waitingTasks.count == 2, "the commit, and the state after it")
    scene.storage.withState { $0.writeFault = StorageFault(code: .busy, message: "locked") }
    scene.finishOneTask()
    scene.storage.withState { $0.writeFault = nil }
    #expect(try answer(to: request, 2, on: host, &scene) == .unavailable)
    scene.holdsTasks = false
    scene.finishTasks()
    #expect(scene.closed[behind] == .serviceRestart)
    let again = try scene.join(&world.other)
    #expect(try ask(request, as: 3, on: again, &scene) == .go)
    #expect(try scene.tables.dispatches[message]?.request == 3)
  }

  @Test func batchesSentBeforeTheRequestCount() throws {
    var scene = ServerScene()
    var (host, connection) = try host(&scene)
    let token = try lease(&scene, on: connection)
    let request = try dispatch(&host, token: token)
    var other = scene.device(2)
    let canceller = try scene.join(&other)
    try other.perform(.cancel([MessageID(high: 1, low: 1)]))
    scene.holdsTasks = true
    // A commit is in flight, the cancel waits for it, and the request for the cancel.
    try host.write("second")
    scene.send(host.changes(), on: connection)
    scene.send(other.changes(), on: canceller)
    scene.send(.request(request.request(id: 2)), on: connection)
    scene.finishTasks()
    #expect(try answer(to: request, 2, on: connection, &scene) == .cancelled)
    #expect(scene.take(canceller).acks.count == 1)
  }

  @Test func aRestartedServerKnowsWhatItGranted() throws {
    var scene = ServerScene()
    var (host, connection) = try host(&scene)
    let token = try lease(&scene, on: connection)
    let request = try dispatch(&host, token: token)
    #expect(try ask(request, as: 2, on: connection, &scene) == .go)
    scene.restart(ServerConfiguration())
    let again = scene.connect(host)
    _ = scene.take(again)
    #expect(try ask(request, as: 2, on: again, &scene) == .go)
    #expect(try ask(request, as: 3, on: again, &scene) == .go)
    #expect(
      try ask(.lease(session: session, token: token), as: 4, on: again, &scene)
        == .leased(token: token, milliseconds: 30_000))
  }

  /// The server knows which hosts are connected, and since when the others are not.
  @Test func aTurnIsTakenOverFromAHostThatIsAway() throws {
    var scene = ServerScene()
    var (host, connection) = try host(&scene)
    let token = try lease(&scene, on: connection)
    #expect(try ask(try dispatch(&host, token: token), as: 2, on: connection, &scene) == .go)
    var other = scene.device(2)
    let second = try scene.join(&other)
    let attempt = AttemptName(message: MessageID(high: 1, low: 1), number: 1)
    guard
      case .held(host.id, _, .some(let atWork))? =
        try ask(.takeOver(attempt), as: 1, on: second, &scene)
    else {
      Issue.record("a connected host was taken over")
      return
    }
    #expect(atWork == AttemptAtWork(attempt: attempt, awaySince: nil))
    let left = scene.now.wallMilliseconds
    scene.drop(connection)
    scene.pass(5_000)
    let devices = scene.take(second).compactMap { frame -> [DevicePresence]? in
      if case .presence(let devices) = frame { devices } else { nil }
    }
    let shown = devices.last?.first { $0.device == host.id }
    #expect(shown?.isConnected == false)
    let since = try #require(shown?.lastSeenAt)
    #expect((left...left + 2_000).contains(since))
    let answer = try ask(.stop(attempt), as: 2, on: second, &scene)
    guard case .stopping(host.id, let away?)? = answer else {
      Issue.record("\(String(describing: answer)) to a stop, away since \(since)")
      return
    }
    // The departure is recorded with the next tick of the clock, here five seconds later.
    #expect((left...left + 5_000).contains(away))
    #expect(try ask(.takeOver(attempt), as: 3, on: second, &scene) == .taken)
    scene.restart(ServerConfiguration())
    let again = scene.connect(host)
    _ = scene.take(again)
    #expect(
      try ask(.lease(session: session, token: token), as: 9, on: again, &scene) == .fenced)
  }

  /// Two devices: the host, idle with a request for the next message, and another one that sends.
  private func idle(
    _ scene: inout ServerScene
  ) throws -> (
    host: ConnectionID, next: AuthorityRequest, other: ScriptedDevice, sender: ConnectionID
  ) {
    var host = scene.device(1)
    let connection = try scene.join(&host)
    try host.perform(.addSession(session, name: nil, project: nil))
    try host.perform(.setHost(session, host.id))
    scene.send(host.changes(), on: connection)
    let token = try lease(&scene, on: connection)
    var other = scene.device(2)
    let sender = try scene.join(&other)
    let next = AuthorityRequest.next(session: session, token: token)
    #expect(try ask(next, as: 2, on: connection, &scene) == nil)
    return (connection, next, other, sender)
  }

  @Test func theNextMessageComesOutOfTheCommitThatStoresIt() throws {
    var scene = ServerScene()
    var (host, next, other, sender) = try idle(&scene)
    _ = scene.take(host)
    scene.holdsTasks = true
    try other.write("first")
    scene.send(other.changes(), on: sender)
    #expect(scene.take(host).isEmpty)
    scene.finishOneTask()
    let frames = scene.take(host)
    // The message comes before its grant.
    guard case .changes? = frames.first(where: { if case .presence = $0 { false } else { true } }),
      let response = frames.lazy.compactMap({ frame -> Response? in
        if case .response(let response) = frame, response.id == 2 { response } else { nil }
      }).first
    else {
      Issue.record("not dispatched: \(frames)")
      return
    }
    #expect(
      try AuthorityAnswer(response, to: next)
        == .granted(
          message: MessageID(high: 2, low: 1), attempt: 1,
          content: DispatchRequest.contentDigest("first")))
    // It was answered once, and is not open any more.
    try other.write("second")
    scene.send(other.changes(), on: sender)
    scene.finishTasks()
    #expect(try answer(to: next, 2, on: host, &scene) == nil)
  }

  /// The connection breaks between the frames of a prompt that is longer than one.
  @Test func aPromptIsGrantedWhenAllOfItHasCome() throws {
    var scene = ServerScene()
    var (host, next, other, sender) = try idle(&scene)
    var generator = SeededGenerator(seed: 3)
    let text = String(
      String.UnicodeScalarView(
        (0..<40_000).map { _ in Unicode.Scalar(UInt8(33 + generator.below(94))) }))
    try other.write(text)
    let parts = PackedDelta.pack(other.outgoing, bytesMax: 16_384)
    #expect(parts.count > 2)
    var answers: [AuthorityAnswer?] = []
    for part in parts {
      scene.send(.changes(Changes(batch: 1, delta: part)), on: sender)
      #expect(scene.take(sender).acks.count == 1)
      answers.append(try answer(to: next, 2, on: host, &scene))
      scene.drop(sender)
      sender = scene.connect(other)
      _ = scene.take(sender)
    }
    #expect(answers.prefix(2) == [nil, nil])
    #expect(
      answers.compactMap { $0 } == [
        .granted(
          message: MessageID(high: 2, low: 1), attempt: 1,
          content: DispatchRequest.contentDigest(text))
      ])
  }

  @Test func unstoredAttemptsAreNotGranted() throws {
    var scene = ServerScene()
    var (host, next, other, sender) = try idle(&scene)
    scene.storage.withState { $0.writeFault = StorageFault(code: .full, message: "disk full") }
    try other.write("first")
    scene.send(other.changes(), on: sender)
    #expect(try answer(to: next, 2, on: host, &scene) == .unavailable)
    scene.storage.withState { $0.writeFault = nil }
    scene.pass(5_000)
    let outcome = AuthorityRequest.outcome(MessageID(high: 2, low: 1))
    #expect(
      try ask(outcome, as: 3, on: host, &scene) == .outcome(attempt: 0, token: 0, content: 0))
  }

  @Test(arguments: ["withdrawn", "released", "disconnected"])
  func removedQuestionsAreNotAnswered(how: String) throws {
    var scene = ServerScene()
    var (host, next, other, sender) = try idle(&scene)
    guard case .next(_, let token) = next else { return }
    switch how {
    case "withdrawn":
      #expect(try ask(.withdraw(session), as: 3, on: host, &scene) == .withdrawn)
    case "released":
      let release = AuthorityRequest.release(session: session, token: token)
      #expect(try ask(release, as: 3, on: host, &scene) == .released)
    default: scene.drop(host)
    }
    try other.write("first")
    scene.send(other.changes(), on: sender)
    #expect(try answer(to: next, 2, on: host, &scene) == nil)
    let outcome = AuthorityRequest.outcome(MessageID(high: 2, low: 1))
    #expect(
      try ask(outcome, as: 4, on: sender, &scene) == .outcome(attempt: 0, token: 0, content: 0))
  }

  @Test func aRequestThatCannotBeReadIsAFault() throws {
    var scene = ServerScene()
    let (_, connection) = try host(&scene)
    scene.send(.request(Request(id: 1, kind: 3, payload: [1])), on: connection)
    #expect(scene.closed[connection] == .protocolError)
  }

  @Test func anUnknownKindIsAnsweredAndTheConnectionStays() throws {
    var scene = ServerScene()
    let (_, connection) = try host(&scene)
    _ = scene.take(connection)
    scene.send(.request(Request(id: 7, kind: 900, payload: [])), on: connection)
    #expect(
      scene.take(connection).contains(.response(Response(id: 7, status: 1, payload: []))))
    #expect(scene.closed[connection] == nil)
  }
}
