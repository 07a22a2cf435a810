import ClientCore
import DispatchAuthority
import QueueModel
import SequenceCRDT
import SyncTestSupport
import Testing
import WireProtocol

/// What one command did may need several frames, and the connection may break between them. What has
/// come until then must not be let out.
@Suite struct SplitCommandTests {
  private let session = SessionID.named("a")
  private let host = LeaseHolder(
    device: DeviceID(high: 0xE, low: 1), replica: ReplicaID(rawValue: 99))

  /// A text that hardly gets shorter.
  private func noise(_ bytes: Int, seed: UInt64) -> String {
    var generator = SeededGenerator(seed: seed)
    var text = String.UnicodeScalarView()
    for _ in 0..<bytes { text.append(Unicode.Scalar(UInt8(33 + generator.below(94)))) }
    return String(text)
  }

  /// A device whose commands the server knows so far, and who else is the session's host.
  private func fleet(frameBytesMax: Int) throws -> (fleet: Fleet, token: UInt64) {
    var fleet = try Fleet(devices: 1)
    fleet.server.frameBytesMax = UInt32(frameBytesMax)
    try fleet.start()
    try fleet.perform(.addSession(session, name: nil, project: nil), on: 0)
    try fleet.perform(.setHost(session, host.device), on: 0)
    try fleet.settle()
    let answer = fleet.server.authority.answer(
      .lease(session: session, token: 0), id: 1, from: host, in: fleet.server.workspace, uptime: 0,
      wall: fleet.wall
    ).answer
    guard case .leased(let token, _)? = answer else { throw NoLease() }
    return (fleet, token)
  }

  private struct NoLease: Error {}

  /// The texts that may start now, or when those before them are done.
  private func startable(_ workspace: Workspace) -> Set<String> {
    let messages = (try? workspace.messageQueue(session).messages) ?? []
    return Set(
      messages.compactMap { workspace.dispatchState(of: $0.id) }.filter { !$0.queueStands }
        .map(\.text))
  }

  /// The text that the host would be given now; nil where nothing may start.
  private func offered(by server: ModelServer, token: UInt64, wall: Int64) throws -> String? {
    var authority = server.authority
    let next = AuthorityRequest.next(session: session, token: token)
    let standing = authority.answer(
      next, id: 2, from: host, in: server.workspace, uptime: 0, wall: wall
    ).answer
    guard let queue = try? server.workspace.messageQueue(session), let head = queue.messages.first,
      let state = server.workspace.dispatchState(of: head.id)
    else {
      #expect(standing == nil)
      return nil
    }
    authority = server.authority
    let dispatch = DispatchRequest(
      session: session, message: head.id, token: token, attempt: 1, tags: state.tags,
      content: DispatchRequest.contentDigest(state.text))
    let answer = authority.answer(
      .dispatch(dispatch), id: 3, from: host, in: server.workspace, uptime: 0, wall: wall
    ).answer
    #expect((answer == .go) == (standing != nil), "\(String(describing: answer))")
    guard case .letOut(_, _, let content)? = standing else {
      #expect(answer == .paused)
      return nil
    }
    #expect(content == DispatchRequest.contentDigest(state.text))
    return state.text
  }

  /// Has the server take the device's frames one by one, breaking the connection behind each, and
  /// gives every text that an agent might have been given in between.
  private func texts(
    offeredDuring fleet: inout Fleet, token: UInt64
  ) throws -> (texts: Set<String>, frames: Int) {
    var texts: Set<String> = []
    let before = fleet.server.received.count
    var frames = before
    for _ in 0..<4_000 where !fleet.devices[0].core.isSynced {
      try fleet.advance(1)
      if fleet.devices[0].actions.isEmpty { try fleet.pass(1_000) }
      guard fleet.server.received.count > frames else { continue }
      frames = fleet.server.received.count
      texts.formUnion(startable(fleet.server.workspace))
      if let text = try offered(by: fleet.server, token: token, wall: fleet.wall) {
        #expect(texts.contains(text))
      }
      fleet.cut(0)
    }
    #expect(fleet.devices[0].core.isSynced)
    return (texts, frames - before)
  }

  @Test(arguments: [
    (WireLimits.frameBytesFloor, 100_000), (WireLimits.frameBytesMax, Limits.contentBytesMax),
  ])
  func aPromptIsLetOutWholeOrNotAtAll(frameBytesMax: Int, bytes: Int) throws {
    var (fleet, token) = try fleet(frameBytesMax: frameBytesMax)
    let text = noise(bytes, seed: 1)
    try fleet.perform(.send(text, as: 1, in: "a"), on: 0)
    let seen = try texts(offeredDuring: &fleet, token: token)
    #expect(seen.texts == [text])
    #expect((seen.frames > 1) == (frameBytesMax == WireLimits.frameBytesFloor))
  }

  /// Each fits a frame, all together do not: none is cut.
  @Test func manyPromptsAreCutBetweenThemAlone() throws {
    var (fleet, token) = try fleet(frameBytesMax: WireLimits.frameBytesFloor)
    fleet.isServerDown = true
    fleet.cut(0)
    let texts = (0..<40).map { noise(1_500, seed: UInt64($0)) }
    for (number, text) in texts.enumerated() {
      try fleet.perform(.send(text, as: UInt64(number + 1), in: "a"), on: 0)
    }
    fleet.isServerDown = false
    let seen = try self.texts(offeredDuring: &fleet, token: token)
    #expect(seen.texts == Set(texts))
    #expect(seen.frames > 3)
  }

  @Test(arguments: [
    (WireLimits.frameBytesFloor, 60_000), (WireLimits.frameBytesMax, Limits.contentBytesMax),
  ])
  func anEditIsLetOutWholeOrNotAtAll(frameBytesMax: Int, bytes: Int) throws {
    var (fleet, token) = try fleet(frameBytesMax: frameBytesMax)
    let (old, new) = (noise(bytes, seed: 1), noise(bytes, seed: 2))
    try fleet.perform(.send(old, as: 1, in: "a"), on: 0)
    try fleet.settle()
    try fleet.perform(.edit(.numbered(1), content: new, base: nil), on: 0)
    let seen = try texts(offeredDuring: &fleet, token: token)
    #expect(seen.texts == [new])
    #expect(seen.frames > 1)
  }

  @Test func whatIsTypedAndUndoneIsLetOutWhole() throws {
    var (fleet, token) = try fleet(frameBytesMax: WireLimits.frameBytesFloor)
    let (old, more) = ("fix it", noise(50_000, seed: 3))
    try fleet.perform(.send(old, as: 1, in: "a"), on: 0)
    try fleet.settle()
    try fleet.perform(.insertText(.numbered(1), at: 6, text: more), on: 0)
    #expect(try texts(offeredDuring: &fleet, token: token).texts == [old + more])
    try fleet.perform(.deleteText(.numbered(1), 3..<40_000), on: 0)
    try fleet.settle()
    let short = try #require(fleet.server.workspace.contents("a").first)
    try fleet.perform(.undo, on: 0)
    #expect(try texts(offeredDuring: &fleet, token: token).texts == [old + more])
    try fleet.perform(.redo, on: 0)
    #expect(try texts(offeredDuring: &fleet, token: token).texts == [short])
  }

  /// Each message of a document comes whole; one that was cancelled never stands.
  @Test func anImportIsLetOutWhole() throws {
    var (fleet, token) = try fleet(frameBytesMax: WireLimits.frameBytesFloor)
    var section = WorkspaceDocument.Session(
      id: session, name: nil, project: nil, pauses: [], locked: false, messages: [], cancelled: [])
    let texts = [30_000, 5_000, 50_000].map { noise($0, seed: UInt64($0)) }
    for (number, text) in texts.enumerated() {
      var message = WorkspaceDocument.Message(
        id: .numbered(UInt64(number + 1)), content: text, priority: "normal", createdAt: 1,
        device: nil)
      message.project = "/srv/\(number)"
      if number == 0 { section.cancelled = [message] } else { section.messages.append(message) }
    }
    try fleet.perform(.importDocument(WorkspaceDocument(sessions: [section])), on: 0)
    #expect(try self.texts(offeredDuring: &fleet, token: token).texts == Set(texts[1...]))
    #expect(fleet.server.workspace.contents("a") == Array(texts[1...]))
  }

  /// Whoever was to bring the rest may be gone for good: a person who cancels and restores what has
  /// come has it started as it is.
  @Test func whatIsRestoredStandsAsItIs() throws {
    var (fleet, token) = try fleet(frameBytesMax: WireLimits.frameBytesFloor)
    try fleet.addDevice()
    try fleet.start(1)
    try fleet.perform(.send(noise(60_000, seed: 4), as: 1, in: "a"), on: 0)
    let frames = fleet.server.received.count
    while fleet.server.received.count == frames { try fleet.advance(1) }
    fleet.losses[0] = .sent
    fleet.cut(0)
    try fleet.settle()
    #expect(try offered(by: fleet.server, token: token, wall: fleet.wall) == nil)
    let half = try #require(fleet.devices[1].core.replica.workspace.contents("a").first)
    #expect(half.count < 60_000)
    try fleet.perform(.cancel([.numbered(1)]), on: 1)
    try fleet.perform(.restore(.numbered(1)), on: 1)
    try fleet.settle()
    #expect(try offered(by: fleet.server, token: token, wall: fleet.wall) == half)
  }
}
