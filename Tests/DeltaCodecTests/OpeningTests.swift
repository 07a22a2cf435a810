import DeltaCodec
import QueueModel
import SequenceCRDT
import SyncTestSupport
import Testing

/// Workspaces opened from a snapshot: a session stays packed until something touches it.
struct OpeningTests {
  /// Three sessions: one is as it was sent, one has moved, cancelled, edited and urgent messages,
  /// and one is deleted.
  private func device() throws -> TestDevice {
    var device = TestDevice(1)
    for number in UInt64(1)...3 {
      try device.perform(.send("plain \(number)", as: number, in: "a"))
    }
    for number in UInt64(4)...8 { try device.perform(.send("töxt \(number)", as: number, in: "b")) }
    try device.perform(.move([.numbered(4)], to: .position(3)))
    try device.perform(.cancel([.numbered(5)]))
    try device.perform(.edit(.numbered(6), content: "a new text 👩‍👩‍👧", base: nil))
    try device.perform(.setPriority(.numbered(8), .urgent))
    try device.perform(.pause(.named("b"), reason: "lunch"))
    try device.perform(.send("gone", as: 9, in: "c"))
    try device.perform(.deleteSession(.named("c")))
    return device
  }

  private func bytes(of workspace: Workspace) -> [UInt8] {
    SnapshotCodec.encodeParts(workspace).bytes
  }

  private func open(_ bytes: [UInt8]) throws -> Workspace {
    try SnapshotCodec.open(ByteReader(bytes))
  }

  @Test func anOpenedWorkspaceShowsTheSameWithoutUnpacking() throws {
    let source = try device().workspace
    let opened = try open(bytes(of: source))
    #expect(opened.untouchedSessions.map(\.key.rawValue) == ["a", "b", "c"])
    #expect(opened.dump() == source.dump())
    #expect(opened.vector == source.vector && opened.latestStamp == source.latestStamp)
    for number in UInt64(1)...9 {
      #expect(try opened.message(.numbered(number)) == source.message(.numbered(number)))
      #expect(opened.text(of: .numbered(number)) == source.text(of: .numbered(number)))
    }
    #expect(opened.text(of: .numbered(10)) == nil)
    for name in ["a", "b", "c", "d"] {
      #expect(opened.session(.named(name)) == source.session(.named(name)))
      #expect(
        opened.cancelledMessages(of: .named(name)) == source.cancelledMessages(of: .named(name)))
    }
    #expect(opened.image().isExactlyEqual(to: source.image()))
    #expect(opened.untouchedSessions.count == 3)
    try opened.checkInvariants()
  }

  /// The log names each message several times. Unpacking the session for each name blocked a device
  /// with a thousand messages for minutes.
  @Test(.timeLimit(.minutes(1))) func theLogOfAPackedSessionUnpacksNothing() throws {
    let count = 900 as UInt64
    var device = TestDevice(1, queueSizeMax: Int(count))
    for number in 1...count { try device.perform(.send("text", as: number, in: "a")) }
    let opened = try open(bytes(of: device.workspace))
    let written = device.made
    for _ in 0..<10 {
      #expect(opened.history(of: written) == device.workspace.history(of: written))
      #expect(opened.runs(of: (1...count).map(MessageID.numbered)).isEmpty)
    }
    #expect(opened.untouchedSessions.count == 1)
  }

  @Test func aChangeUnpacksItsSessionAlone() throws {
    let source = try device()
    var opened = source
    try opened.restoreFromSnapshot()
    let copy = opened.workspace
    try opened.perform(.cancel([.numbered(2)]))
    #expect(opened.workspace.untouchedSessions.map(\.key.rawValue) == ["b", "c"])
    #expect(copy.untouchedSessions.count == 3)
    #expect(copy.dump() == source.workspace.dump())
    // A move between two queues unpacks both.
    try opened.perform(.move([.numbered(1)], to: .before(.numbered(7))))
    #expect(opened.workspace.untouchedSessions.map(\.key.rawValue) == ["c"])
    var plain = source
    try plain.perform(.cancel([.numbered(2)]))
    try plain.perform(.move([.numbered(1)], to: .before(.numbered(7))))
    #expect(bytes(of: opened.workspace) == bytes(of: plain.workspace))
    #expect(SnapshotCodec.encode(plain.workspace.image()) == bytes(of: plain.workspace))
    try opened.workspace.checkInvariants()
  }

  @Test func operationsThatNameWhatIsPackedAreMerged() throws {
    let source = try device()
    var peer = TestDevice(2)
    try peer.merge(source.made)
    try peer.perform(.edit(.numbered(6), content: "another text", base: nil))
    try peer.perform(.restore(.numbered(9)))
    try peer.perform(.send("more", as: 11, in: "a"))
    try peer.perform(.renameSession(.named("b"), name: "the second"))
    var opened = source
    try opened.restoreFromSnapshot()
    try opened.merge(peer.made)
    #expect(opened.workspace.dump() == peer.workspace.dump())
    #expect(bytes(of: opened.workspace) == bytes(of: peer.workspace))
    try opened.workspace.checkInvariants()
  }

  @Test func damagedRunsAreATypedErrorAndChangeNothing() throws {
    let source = try device()
    var body = bytes(of: source.workspace)
    let good = try open(body)
    // The runs of session b follow the outlines; the first byte is the count of runs.
    let streams = try #require(SnapshotMap(body))
    body[streams.runsOfSession(1).lowerBound] = 1
    let opened = try open(body)
    #expect(opened.dump() == good.dump())
    #expect(throws: MergeError.self) { try opened.thawed() }
    var device = source
    device.workspace = opened
    #expect {
      try device.perform(.cancel([.numbered(4)]))
    } throws: {
      ($0 as? QueueError)?.code == "stateDamaged"
    }
    #expect {
      try device.perform(.send("more", as: 12, in: "b"))
    } throws: {
      ($0 as? QueueError)?.code == "stateDamaged"
    }
    #expect(device.workspace.dump() == good.dump())
    var peer = TestDevice(2)
    try peer.merge(source.made)
    try peer.perform(.setPriority(.numbered(6), .urgent))
    #expect(throws: MergeError.self) { try device.merge(peer.made) }
    #expect(device.workspace.dump() == good.dump())
    // The undamaged parts still work.
    try device.perform(.send("more", as: 12, in: "a"))
    _ = device.workspace.image()
    #expect(bytes(of: device.workspace).count > body.count)
  }

  /// Whatever opens must accept every reading and every change without a trap.
  @Test func damagedSnapshotsNeverTrap() throws {
    let source = try device()
    var peer = TestDevice(2)
    try peer.merge(source.made)
    for number in [1, 4, 6, 9] as [UInt64] {
      try peer.perform(.restoreOrEdit(number, in: peer.workspace))
    }
    let body = bytes(of: source.workspace)
    var opened = 0
    for bit in 0..<body.count * 8 {
      var damaged = body
      damaged[bit / 8] ^= 1 << UInt8(bit % 8)
      guard let workspace = try? open(damaged) else { continue }
      opened += 1
      _ = workspace.dump()
      _ = workspace.image()
      _ = bytes(of: workspace)
      var device = source
      device.workspace = workspace
      _ = try? device.merge(peer.made)
      _ = try? device.perform(.cancel([.numbered(4), .numbered(1)]))
      _ = try? device.perform(.send("more", as: 12, in: "b"))
      _ = try? device.perform(.clearThreads)
    }
    #expect(opened > 100)
    for length in body.indices {
      #expect(throws: DecodingFault.self) { try open(Array(body[..<length])) }
    }
  }

  @Test func sessionsThatContradictEachOtherAreRefused() throws {
    var image = try device().workspace.image()
    var message = image.sessions[0].messages[0]
    message.position = image.sessions[1].messages[0].position
    image.sessions[1].messages[0] = message
    #expect(throws: DecodingFault.self) { try open(SnapshotCodec.encode(image)) }
    image = try device().workspace.image()
    image.replicas[0].seq = 10
    #expect(throws: DecodingFault.self) { try open(SnapshotCodec.encode(image)) }
    image = try device().workspace.image()
    image.sessions.swapAt(0, 1)
    #expect(throws: DecodingFault.self) { try open(SnapshotCodec.encode(image)) }
  }
}

extension Command {
  /// Changes a message, whether it is cancelled or not.
  fileprivate static func restoreOrEdit(_ number: UInt64, in workspace: Workspace) -> Command {
    workspace.status(number) == .cancelled
      ? .restore(.numbered(number))
      : .edit(.numbered(number), content: "edited by the peer", base: nil)
  }
}

/// The places of a snapshot's parts, from its directory.
private struct SnapshotMap {
  private var runs: [Range<Int>] = []

  init?(_ bytes: [UInt8]) {
    var reader = ByteReader(bytes)
    guard (try? reader.number()) == 1, let sessions = try? reader.number() else { return nil }
    var columns: [[Int]] = []
    for _ in 0..<4 {
      var column: [Int] = []
      for _ in 0...sessions { column.append((try? reader.number()).map { Int($0) } ?? 0) }
      columns.append(column)
    }
    var start = reader.position + columns[0].reduce(0, +)
    for length in columns[1] {
      runs.append(start..<start + length)
      start += length
    }
  }

  func runsOfSession(_ index: Int) -> Range<Int> { runs[index + 1] }
}
