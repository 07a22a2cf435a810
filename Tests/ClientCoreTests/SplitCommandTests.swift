import ClientCore
import DispatchAuthority
import QueueModel
import SequenceCRDT
import SyncTestSupport
import Testing
import WireProtocol

/// The operations of one command may need several frames, and the connection may break between
/// them. A message with only a part of them must not be granted.
@Suite struct SplitCommandTests {
  private let session = SessionID.named("a")
  private let host = LeaseHolder(
    device: DeviceID(high: 0xE, low: 1), store: StoreID(rawValue: 99))

  /// A text that hardly compresses.
  private func noise(_ bytes: Int, seed: UInt64) -> String {
    var generator = SeededGenerator(seed: seed)
    var text = String.UnicodeScalarView()
    for _ in 0..<bytes { text.append(Unicode.Scalar(UInt8(33 + generator.below(94)))) }
    return String(text)
  }

  /// A writer whose commands reach the server in parts of this many bytes.
  private struct Scene {
    var author = TestDevice(1, queueSizeMax: 100)
    var server = ModelServer()
    let bytesMax: Int
    var token: UInt64 = 0
    /// The operations of each command that the server does not have yet.
    var commands: [[QueueModel.Operation]] = []

    var wall: Int64 { author.now }

    mutating func perform(_ command: Command) throws {
      commands.append(try author.perform(command).operations)
    }

    /// The operations of each frame.
    mutating func parts() -> [[UInt8]] {
      defer { commands = [] }
      return PackedDelta.pack(commands: commands, bytesMax: bytesMax)
    }

    mutating func deliver() throws {
      for part in parts() { try deliver(part) }
    }

    mutating func deliver(_ part: [UInt8]) throws {
      _ = try server.append(PackedDelta.unpack(part))
    }
  }

  /// Parts of 16 KiB, to cut even what fits a frame.
  private static let small = 16 << 10

  /// The server knows the session, and that another device is its host.
  private func scene(bytesMax: Int = small) throws -> Scene {
    var scene = Scene(bytesMax: bytesMax)
    _ = try scene.server.append(scene.author.made)
    try scene.perform(.addSession(session, name: nil, project: nil))
    try scene.perform(.setHost(session, host.device))
    try scene.deliver()
    let answer = scene.server.authority.answer(
      .lease(session: session, token: 0), id: 1, from: host, in: scene.server.workspace, uptime: 0,
      wall: scene.wall
    ).answer
    guard case .leased(let token, _, _)? = answer else { throw NoLease() }
    scene.token = token
    return scene
  }

  private struct NoLease: Error {}

  /// The texts that may start now, or when those before them are done.
  private func startable(_ workspace: Workspace) -> Set<String> {
    let messages = (try? workspace.messageQueue(session).messages) ?? []
    return Set(
      messages.compactMap { workspace.dispatchState(of: $0.id) }.filter { !$0.queueStands }
        .map(\.text))
  }

  /// The text that the host would get now; nil if nothing may start.
  private func offered(in scene: Scene) throws -> String? {
    let (server, token, wall) = (scene.server, scene.token, scene.wall)
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
    guard case .granted(_, _, let content)? = standing else {
      #expect(answer == .paused)
      return nil
    }
    #expect(content == DispatchRequest.contentDigest(state.text))
    return state.text
  }

  /// Sends part after part to the server, and returns every text that an agent might have got in
  /// between.
  private func texts(offeredDuring scene: inout Scene) throws -> (texts: Set<String>, parts: Int) {
    var texts: Set<String> = []
    let parts = scene.parts()
    for part in parts {
      try scene.deliver(part)
      texts.formUnion(startable(scene.server.workspace))
      if let text = try offered(in: scene) { #expect(texts.contains(text)) }
    }
    #expect(scene.server.workspace.image() == scene.author.workspace.image())
    return (texts, parts.count)
  }

  @Test(arguments: [
    (small, 100_000), (WireLimits.deltaBytesMax, Limits.contentBytesMax),
  ])
  func aPromptIsGrantedWholeOrNotAtAll(bytesMax: Int, bytes: Int) throws {
    var scene = try scene(bytesMax: bytesMax)
    let text = noise(bytes, seed: 1)
    try scene.perform(.send(text, as: 1, in: "a"))
    let seen = try texts(offeredDuring: &scene)
    #expect(seen.texts == [text])
    #expect((seen.parts > 1) == (bytesMax == SplitCommandTests.small))
  }

  /// Each fits a frame, but not all together: none is cut.
  @Test func manyPromptsAreCutBetweenThemAlone() throws {
    var scene = try scene()
    let texts = (0..<40).map { noise(1_500, seed: UInt64($0)) }
    for (number, text) in texts.enumerated() {
      try scene.perform(.send(text, as: UInt64(number + 1), in: "a"))
    }
    let seen = try self.texts(offeredDuring: &scene)
    #expect(seen.texts == Set(texts))
    #expect(seen.parts > 3)
  }

  @Test(arguments: [
    (small, 60_000), (WireLimits.deltaBytesMax, Limits.contentBytesMax),
  ])
  func anEditIsGrantedWholeOrNotAtAll(bytesMax: Int, bytes: Int) throws {
    var scene = try scene(bytesMax: bytesMax)
    let (old, new) = (noise(bytes, seed: 1), noise(bytes, seed: 2))
    try scene.perform(.send(old, as: 1, in: "a"))
    try scene.deliver()
    try scene.perform(.edit(.numbered(1), content: new, base: nil))
    let seen = try texts(offeredDuring: &scene)
    #expect(seen.texts == [new])
    #expect(seen.parts > 1)
  }

  @Test func typedAndUndoneTextIsGrantedWhole() throws {
    var scene = try scene()
    let (old, more) = ("fix it", noise(50_000, seed: 3))
    try scene.perform(.send(old, as: 1, in: "a"))
    try scene.deliver()
    try scene.perform(.insertText(.numbered(1), at: 6, text: more))
    #expect(try texts(offeredDuring: &scene).texts == [old + more])
    try scene.perform(.deleteText(.numbered(1), 3..<40_000))
    try scene.deliver()
    let short = try #require(scene.server.workspace.contents("a").first)
    try scene.perform(.undo)
    #expect(try texts(offeredDuring: &scene).texts == [old + more])
    try scene.perform(.redo)
    #expect(try texts(offeredDuring: &scene).texts == [short])
  }

  /// Each message of a document arrives whole; a cancelled one is never in the queue.
  @Test func anImportIsGrantedWhole() throws {
    var scene = try scene()
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
    try scene.perform(.importDocument(WorkspaceDocument(sessions: [section])))
    #expect(try self.texts(offeredDuring: &scene).texts == Set(texts[1...]))
    #expect(scene.server.workspace.contents("a") == Array(texts[1...]))
  }

  /// The device with the rest may be gone forever: if a user cancels and restores the part that has
  /// arrived, it starts as it is. If that has no text, no agent gets it before a user writes one.
  @Test func restoredPartsStartAsTheyAre() throws {
    var scene = try scene()
    try scene.perform(.send(noise(60_000, seed: 4), as: 1, in: "a"))
    var other = TestDevice(2)
    try scene.deliver(try #require(scene.parts().first))
    #expect(try offered(in: scene) == nil)
    try other.merge(scene.server.operations)
    #expect(other.workspace.contents("a") == [""])
    try other.perform(.cancel([.numbered(1)]))
    try other.perform(.restore(.numbered(1)))
    _ = try scene.server.append(other.made)
    #expect(try offered(in: scene) == nil)
    let edit = try other.perform(.edit(.numbered(1), content: "as it is", base: nil))
    _ = try scene.server.append(edit.operations)
    #expect(try offered(in: scene) == "as it is")
  }
}
