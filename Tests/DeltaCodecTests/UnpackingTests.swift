import QueueModel
import SyncTestSupport
import Synchronization
import Testing

@testable import DeltaCodec

/// How many times a packed session is unpacked: unpacking takes longer the larger the session is.
struct UnpackingTests {
  /// Packed sessions that count how many times each is read.
  private final class CountedSessions: PackedSessions {
    let sessions: SnapshotSessions
    let readings = Mutex(0)

    init(_ sessions: SnapshotSessions) { self.sessions = sessions }

    var count: Int { sessions.count }
    func head(of index: Int) -> WorkspaceImage.Session { sessions.head(of: index) }
    func outline(of index: Int) -> WorkspaceImage.Session { sessions.outline(of: index) }
    func messages(of index: Int, at numbers: [Int]) -> [WorkspaceImage.Message] {
      sessions.messages(of: index, at: numbers)
    }
    func session(at index: Int) throws(MergeError) -> WorkspaceImage.Session {
      readings.withLock { $0 += 1 }
      return try sessions.session(at: index)
    }
  }

  private static let ids = (UInt64(1)...40).map(MessageID.numbered)

  /// Clearing a packed queue of 990 messages took minutes: each message was removed from the
  /// session, and inserting it again unpacked the session.
  @Test(arguments: [
    Command.cancel(ids), .clear(.named("a")), .move(ids, to: .position(1)),
    .deleteSession(.named("a")),
  ])
  func aChangeOfManyMessagesUnpacksTheirSessionOnce(command: Command) throws {
    var device = TestDevice(1, queueSizeMax: 40)
    for number in UInt64(1)...40 { try device.perform(.send("text", as: number, in: "a")) }
    var plain = device
    try device.restoreFromSnapshot()
    let sessions = CountedSessions(
      try #require(device.workspace.packedSessions as? SnapshotSessions))
    try device.workspace.pack(into: sessions, summaries: try sessions.sessions.summaries())
    try device.perform(command)
    #expect(sessions.readings.withLock(\.self) == 1)
    try plain.perform(command)
    #expect(device.workspace.dump() == plain.workspace.dump())
    try device.workspace.checkInvariants()
  }
}
