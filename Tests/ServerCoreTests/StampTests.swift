import QueueModel
import SequenceCRDT
import ServerCore
import Testing
import WireProtocol

/// Stamps too far ahead of the server's clock are lowered once, before they have a place in the
/// log.
@Suite struct StampTests {
  private var session: SessionID {
    get throws { try SessionID("main") }
  }

  private func stamps(_ scene: ServerScene) throws -> [[Stamp]] {
    try scene.tables.log.map { entry in
      try PackedDelta.unpack(entry.content.bytes).compactMap(\.stamp)
    }
  }

  @Test func twoMinutesAheadIsTakenAsItIs() throws {
    var scene = ServerScene()
    var author = scene.device(1)
    let from = try scene.join(&author)
    try author.write("in time", at: scene.now.wallMilliseconds + 120_000)
    let sent = author.outgoing
    scene.send(author.changes(), on: from)
    let frames = scene.take(from)
    #expect(frames.acks.count == 1)
    #expect(frames.changes.isEmpty)
    #expect(try stamps(scene) == [sent.compactMap(\.stamp)])
  }

  @Test func moreIsLoweredAndTheAuthorGetsWhatTheLogHolds() throws {
    var scene = ServerScene()
    var (author, reader) = (scene.device(1), scene.device(2))
    let (from, to) = (try scene.join(&author), try scene.join(&reader))
    _ = scene.take(to)
    let limit = scene.now.wallMilliseconds + 120_000
    try author.write("ahead", at: limit + 1)
    let sent = author.outgoing
    scene.send(author.changes(), on: from)
    let frames = scene.take(from)
    #expect(frames.acks.isEmpty && frames.refusals.isEmpty)
    let entry = try #require(try scene.tables.log.first)
    #expect(
      frames.changes == [
        Changes(batch: 1, prefix: try scene.prefix(1), delta: entry.content.bytes)
      ])
    #expect(
      scene.take(to).changes == [
        Changes(batch: 0, prefix: try scene.prefix(1), delta: entry.content.bytes)
      ])
    let stored = try PackedDelta.unpack(entry.content.bytes)
    #expect(stored.map(\.id) == sent.map(\.id))
    #expect(stored.compactMap(\.stamp).allSatisfy { $0.milliseconds <= limit })
    // If it is repeated, it is known: the log never changes.
    author.outgoing = sent
    scene.send(author.changes(), on: from)
    #expect(scene.take(from).acks.map(\.batch) == [2])
    #expect(try scene.tables.log == [entry])
  }

  @Test func theirOrderStays() throws {
    var scene = ServerScene()
    var author = scene.device(1)
    let from = try scene.join(&author)
    let wall = scene.now.wallMilliseconds
    try author.write("one", at: wall + 7_200_000)
    try author.perform(.renameSession(session, name: "first"), at: wall + 7_200_001)
    try author.perform(.renameSession(session, name: "second"), at: wall + 3_600_000_000)
    scene.send(author.changes(), on: from)
    let lowered = try #require(try stamps(scene).first)
    #expect(Set(lowered).count >= 3)
    #expect(lowered == lowered.sorted())
  }

  /// Two batches within one millisecond of the server's clock.
  @Test func laterBatchesCountAsLater() throws {
    var scene = ServerScene()
    var (author, reader) = (scene.device(1), scene.device(2))
    let (from, to) = (try scene.join(&author), try scene.join(&reader))
    let ahead = scene.now.wallMilliseconds + 7_200_000
    try author.perform(.addSession(session, name: "first", project: nil), at: ahead)
    try author.perform(.renameSession(session, name: "second"), at: ahead)
    try author.perform(.renameSession(session, name: "third"), at: ahead)
    scene.send(author.changes(), on: from)
    try author.perform(.renameSession(session, name: "last"), at: ahead)
    scene.send(author.changes(), on: from)
    try reader.take(scene.take(to))
    #expect(reader.workspace.sessions().map(\.name) == ["last"])
  }

  /// A stamp just within the limit, followed by one beyond it.
  @Test func loweredStampsStayBehindOthers() throws {
    var scene = ServerScene()
    var (author, reader) = (scene.device(1), scene.device(2))
    let (from, to) = (try scene.join(&author), try scene.join(&reader))
    let limit = scene.now.wallMilliseconds + 120_000
    try author.perform(.addSession(session, name: "first", project: nil), at: limit)
    try author.perform(.renameSession(session, name: "second"), at: limit)
    try author.perform(.renameSession(session, name: "last"), at: limit + 1)
    scene.send(author.changes(), on: from)
    try reader.take(scene.take(to))
    #expect(reader.workspace.sessions().map(\.name) == ["last"])
    let lowered = try #require(try stamps(scene).first)
    #expect(lowered == lowered.sorted() && Set(lowered).count == lowered.count)
  }

  /// The server's clock is set back: the user's later write still counts as later.
  @Test func writesAfterTheServersClockWasSetBackCountAsLater() throws {
    var scene = ServerScene()
    var (author, reader) = (scene.device(1), scene.device(2))
    let (from, to) = (try scene.join(&author), try scene.join(&reader))
    let wall = scene.now.wallMilliseconds
    try author.perform(.addSession(session, name: "first", project: nil), at: wall)
    try author.perform(.renameSession(session, name: "before"), at: wall)
    scene.send(author.changes(), on: from)
    scene.now.wallMilliseconds = wall - 3_600_000
    try author.perform(.renameSession(session, name: "after"), at: wall + 1_000)
    scene.send(author.changes(), on: from)
    try reader.take(scene.take(to))
    #expect(reader.workspace.sessions().map(\.name) == ["after"])
    #expect(try stamps(scene).joined().allSatisfy { $0.milliseconds <= wall })
  }
}
