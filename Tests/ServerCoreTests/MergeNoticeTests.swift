import QueueModel
import SequenceCRDT
import SyncTestSupport
import Testing
import WireProtocol

@testable import ServerCore

/// A merged message notifies every device once, and is retracted when its text is chosen or the
/// message is gone.
@Suite struct MergeNoticeTests {
  static let id = MessageID(high: 1, low: 1)

  /// Two devices that save a text of one message independently.
  struct Scene {
    var pair: NotifiedPair
    /// The notifications that each device got.
    var received: [[InboxNotification]] = [[], []]

    init() throws {
      pair = try NotifiedPair()
      // Without the notifications of the session's first message.
      pair.scene.drop(pair.phoneConnection)
      pair.phoneConnection = pair.scene.connect(pair.phone)
      try meet()
      received = [[], []]
    }

    mutating func edit(_ content: String, on device: Int) throws {
      let command = Command.edit(MergeNoticeTests.id, content: content, base: nil)
      try perform(command, on: device)
    }

    mutating func perform(_ command: Command, on device: Int) throws {
      if device == 0 { try pair.host.perform(command) } else { try pair.phone.perform(command) }
    }

    /// A device sends its changes.
    mutating func send(from device: Int) {
      if device == 0 {
        pair.scene.send(pair.host.changes(), on: pair.hostConnection)
      } else {
        pair.scene.send(pair.phone.changes(), on: pair.phoneConnection)
      }
    }

    /// Both receive the server's changes for them.
    mutating func meet() throws {
      let frames = [pair.scene.take(pair.hostConnection), pair.scene.take(pair.phoneConnection)]
      try pair.host.take(frames[0])
      try pair.phone.take(frames[1])
      for device in 0...1 { received[device] += frames[device].notifications }
    }

    /// Both save, and receive each other's changes.
    mutating func merge(_ first: String = "build 1.3", _ second: String = "build 2.0") throws {
      try edit(first, on: 0)
      try edit(second, on: 1)
      send(from: 0)
      send(from: 1)
      try meet()
    }

    /// The merged messages in the inboxes, by device.
    var standing: [DeviceID] {
      let positions = pair.scene.storage.withState {
        $0.workspaces[ServerScene.workspace]?.inboxes.notifications.filter { $0.message != nil }
          .map(\.position) ?? []
      }
      return pair.entries.filter { positions.contains($0.position) }.map(\.device).sorted()
    }
  }

  @Test func bothDevicesAreNotifiedOnceByOneName() throws {
    var scene = try Scene()
    try scene.merge()
    #expect(scene.received[0].map(\.category) == [.messageMerged])
    // The device that saved the second text has not seen the first.
    #expect(scene.received[1].map(\.name) == scene.received[0].map(\.name))
    let notice = try #require(scene.received[0].first)
    #expect(notice.message == Self.id && notice.request == nil && notice.session.rawValue == "main")
    #expect(notice.title == "Message Merged" && notice.body == "build 1.3 2.0", "\(notice)")
    #expect(notice.milliseconds == NotifiedPair.wall)
  }

  @Test func oneSaveSendsNoNotification() throws {
    var scene = try Scene()
    try scene.edit("build 1.3", on: 0)
    scene.send(from: 0)
    try scene.meet()
    try scene.edit("build 2.0", on: 1)
    scene.send(from: 1)
    try scene.meet()
    #expect(scene.received == [[], []] && scene.standing.isEmpty)
  }

  /// One text that both saved does not wait; a merged one that may run unchecked does not wait,
  /// either.
  @Test func aMessageThatDoesNotWaitIsNotReported() throws {
    var scene = try Scene()
    try scene.merge("build", "build")
    #expect(scene.received == [[], []])
    scene = try Scene()
    try scene.perform(.setOnMerge(.named("main"), .run), on: 0)
    scene.send(from: 0)
    try scene.meet()
    try scene.merge()
    #expect(try scene.pair.host.workspace.message(Self.id).isMerged)
    #expect(scene.received == [[], []] && scene.standing.isEmpty)
    // The user then chose that it waits.
    try scene.perform(.setOnMerge(.named("main"), .wait), on: 0)
    scene.send(from: 0)
    try scene.meet()
    #expect(scene.received[1].map(\.message) == [Self.id] && scene.standing.count == 2)
  }

  /// A message that was cancelled, with its session or alone, waits again when it is restored.
  @Test(arguments: [Command.cancel([id]), .deleteSession(.named("main"))])
  func aMessageThatWaitsAgainIsReportedAgain(_ end: Command) throws {
    var scene = try Scene()
    try scene.merge()
    let first = scene.received[1].map(\.name)
    try scene.perform(end, on: 0)
    scene.send(from: 0)
    try scene.meet()
    #expect(scene.standing.isEmpty && scene.received[1].map(\.name) == first)
    try scene.perform(.restore(Self.id), on: 0)
    scene.send(from: 0)
    try scene.meet()
    try #require(try scene.pair.host.workspace.message(Self.id).isMerged)
    #expect(scene.received.map(\.count) == [2, 2] && Set(scene.received[1].map(\.name)).count == 2)
    #expect(
      scene.received[0].map(\.name) == scene.received[1].map(\.name) && scene.standing.count == 2)
  }

  /// Notifications of several messages of one session have names of their own.
  @Test func allMessagesThatBeginToWaitAreNews() throws {
    var scene = try Scene()
    let other = MessageID(high: 1, low: 2)
    var send = Command.Send(session: .named("main"), id: other, text: "test 1")
    send.requeuesThread = false
    try scene.perform(.send(send), on: 0)
    try scene.perform(.setOnMerge(.named("main"), .run), on: 0)
    scene.send(from: 0)
    try scene.meet()
    scene.received = [[], []]
    for device in 0...1 {
      let command = Command.edit(other, content: "test 1.\(device)", base: nil)
      try scene.perform(command, on: device)
    }
    try scene.merge()
    #expect(scene.received == [[], []])
    try scene.perform(.setOnMerge(.named("main"), .wait), on: 0)
    scene.send(from: 0)
    try scene.meet()
    #expect(Set(scene.received[1].map(\.message)) == [Self.id, other])
    #expect(Set(scene.received[1].map(\.name)).count == 2)
  }

  @Test(arguments: [
    Command.edit(id, content: "build 2.0", base: nil), .cancel([id]),
    .deleteSession(.named("main")),
    .setOnMerge(.named("main"), .run),
  ])
  func itIsTakenBackWhenItIsOver(_ command: Command) throws {
    var scene = try Scene()
    try scene.pair.addTarget()
    scene.pair.phoneLeaves()
    // The phone's text comes from another device, so that the phone is away.
    var other = scene.pair.scene.device(3)
    let connection = try scene.pair.scene.join(&other)
    try scene.edit("build 1.3", on: 0)
    try other.perform(.edit(Self.id, content: "build 2.0", base: nil))
    scene.send(from: 0)
    scene.pair.scene.send(other.changes(), on: connection)
    try scene.pair.host.take(scene.pair.scene.take(scene.pair.hostConnection))
    #expect(scene.standing.count == 3)
    #expect(scene.pair.orders.map(\.kind) == [.alert])
    try scene.perform(command, on: 0)
    scene.send(from: 0)
    #expect(scene.standing.isEmpty)
    #expect(scene.pair.orders.map(\.kind) == [.alert, .retract])
  }

  /// Two different choices are merged again, and both devices are notified.
  @Test func choicesThatDifferAreNewsAgain() throws {
    var scene = try Scene()
    try scene.merge()
    let first = scene.received[0].map(\.name)
    try scene.edit("build 1.3", on: 0)
    try scene.edit("build 2.0", on: 1)
    scene.send(from: 0)
    #expect(scene.standing.isEmpty)
    scene.send(from: 1)
    try scene.meet()
    #expect(scene.received[0].count == 2 && scene.received[1].count == 2)
    #expect(Set(scene.received[1].map(\.name)).count == 2 && scene.received[1].map(\.name) != first)
    #expect(scene.standing.count == 2, "the first ones have ended")
  }

  /// A third text is not another merge; a choice that leaves it makes a notification that replaces
  /// the first.
  @Test func aChoiceThatLeavesAVersionIsReportedInItsPlace() throws {
    var scene = try Scene()
    var other = scene.pair.scene.device(3)
    let connection = try scene.pair.scene.join(&other)
    try other.perform(.edit(Self.id, content: "build 3.0", base: nil))
    try scene.merge()
    // Its user has seen two of three.
    try scene.edit("build 1.3", on: 0)
    scene.pair.scene.send(other.changes(), on: connection)
    try scene.meet()
    #expect(scene.received.map(\.count) == [1, 1] && scene.standing.count == 3)
    scene.send(from: 0)
    try scene.meet()
    #expect(scene.received.map(\.count) == [2, 2] && scene.standing.count == 3)
    #expect(Set(scene.received[0].map(\.name)).count == 2)
  }

  /// A restart keeps waiting messages.
  @Test func aRestartKeepsWhatWaits() throws {
    var scene = try Scene()
    scene.pair.phoneLeaves()
    var other = scene.pair.scene.device(3)
    let connection = try scene.pair.scene.join(&other)
    try scene.edit("build 1.3", on: 0)
    try other.perform(.edit(Self.id, content: "build 2.0", base: nil))
    scene.send(from: 0)
    scene.pair.scene.send(other.changes(), on: connection)
    scene.pair.scene.restart(ServerConfiguration())
    #expect(try scene.pair.phoneReturns().map(\.message) == [Self.id])
  }
}
