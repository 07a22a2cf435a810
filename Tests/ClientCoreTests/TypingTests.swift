import ClientCore
import QueueModel
import SequenceCRDT
import SyncTestSupport
import Testing

/// When a device ends typing with an edition: in a pause, and offline before it merges or sends.
@Suite struct TypingTests {
  private static let id = MessageID.numbered(1)

  private static func fleet(saved: Bool = true) throws -> Fleet {
    var fleet = try Fleet(devices: 2)
    try fleet.start()
    try fleet.perform(.send("Deploy", as: 1, in: "a"), on: 0)
    if saved { try fleet.perform(.edit(id, content: "Deploy it", base: nil), on: 0) }
    try fleet.settle()
    return fleet
  }

  private static func message(_ fleet: Fleet, _ index: Int) throws -> MessageView {
    try fleet.devices[index].core.replica.workspace.message(id)
  }

  private static func editions(_ workspace: Workspace) -> [String] {
    Edition.shown(of: id, in: workspace).map(\.text)
  }

  private static func isOpen(_ fleet: Fleet, _ index: Int) -> Bool {
    fleet.devices[index].core.replica.undo.openTyping != nil
  }

  private static func type(_ text: String, on index: Int, _ fleet: inout Fleet) throws {
    let end = try message(fleet, index).content.unicodeScalars.count
    try fleet.perform(.insertText(id, at: end, text: text), on: index)
  }

  private static func expectVersions(
    _ texts: [String], in fleet: Fleet, _ location: SourceLocation = #_sourceLocation
  ) throws {
    for index in fleet.devices.indices {
      #expect(
        try Set(message(fleet, index).versions.compactMap(\.text)) == Set(texts),
        sourceLocation: location)
    }
    try fleet.expectConvergence()
  }

  @Test func aPauseEndsAStretch() throws {
    var fleet = try Self.fleet()
    try Self.type(" n", on: 0, &fleet)
    try fleet.settle()
    #expect(Self.isOpen(fleet, 0))
    #expect(try Self.message(fleet, 1).content == "Deploy it n")
    try fleet.pass(500)
    try Self.type("ow", on: 0, &fleet)
    try fleet.pass(900)
    #expect(Self.isOpen(fleet, 0))
    try fleet.pass(200)
    #expect(!Self.isOpen(fleet, 0) && fleet.devices[0].core.isSynced)
    #expect(
      UndoHistory(fleet.devices[0].store.loaded.undo).entries
        == fleet.devices[0].core.replica.undo.entries)
    for device in fleet.devices {
      #expect(Self.editions(device.core.replica.workspace) == ["Deploy it now"])
    }
    // A user who saves now has seen it.
    try fleet.perform(.edit(Self.id, content: "Deploy it now!", base: nil), on: 1)
    try fleet.settle()
    try Self.expectVersions([], in: fleet)
  }

  @Test func twoWhoTypeTogetherAreNotMarked() throws {
    var fleet = try Self.fleet()
    for letter in "together" {
      for index in 0..<2 {
        try Self.type(String(letter), on: index, &fleet)
        try fleet.settle()
        try fleet.pass(50)
      }
    }
    try fleet.pass(5_000)
    #expect(!Self.isOpen(fleet, 0) && !Self.isOpen(fleet, 1))
    try Self.expectVersions([], in: fleet)
  }

  /// Offline typing is marked, and its version is the text that its user saw.
  @Test(arguments: [0, 500, 5_000] as [Int64])
  func typingApartIsMarked(away: Int64) throws {
    var fleet = try Self.fleet()
    fleet.cut(0)
    try Self.type(" now", on: 0, &fleet)
    try fleet.perform(.edit(Self.id, content: "Deploy it to staging", base: nil), on: 1)
    try fleet.pass(away)
    try fleet.pass(60_000)
    #expect(!Self.isOpen(fleet, 0))
    try Self.expectVersions(["Deploy it now", "Deploy it to staging"], in: fleet)
  }

  @Test func typingOnBothSidesApartIsMarked() throws {
    var fleet = try Self.fleet(saved: false)
    fleet.cut(0)
    fleet.cut(1)
    try Self.type(" now", on: 0, &fleet)
    try Self.type(" later", on: 1, &fleet)
    try fleet.pass(60_000)
    try Self.expectVersions(["Deploy now", "Deploy later"], in: fleet)
  }

  /// No letter is sent before its edition.
  @Test func theEditionIsThereBeforeItIsSent() throws {
    var fleet = try Self.fleet()
    fleet.cut(0)
    try Self.type(" now", on: 0, &fleet)
    let typed = try #require(fleet.devices[0].core.replica.record.outbox.ranges.last)
    var hasSeen = false
    for _ in 0..<200 where !hasSeen {
      try fleet.pass(20)
      if fleet.server.workspace.contents("a") == ["Deploy it now"] {
        hasSeen = true
        #expect(Self.editions(fleet.server.workspace) == ["Deploy it now"])
      }
    }
    #expect(hasSeen, "\(typed) was never sent")
  }

  /// The program ends in the middle of a stretch, some letters of which were sent, and is started again.
  @Test(arguments: [true, false])
  func aCrashInAStretchIsEnded(isSent: Bool) throws {
    var fleet = try Self.fleet()
    if !isSent { fleet.cut(0) }
    try Self.type(" now", on: 0, &fleet)
    if isSent { try fleet.settle() }
    fleet.cut(0)
    fleet.cut(1)
    try fleet.perform(.edit(Self.id, content: "Deploy it to staging", base: nil), on: 1)
    try fleet.restart(0)
    try fleet.pass(60_000)
    #expect(!Self.isOpen(fleet, 0))
    // A user who had seen the letters replaced them.
    let other = "Deploy it to staging"
    try Self.expectVersions(["Deploy it now", other], in: fleet)
  }

  /// Without a server, too, an edition ends the typing, also at the next start.
  @Test func aDeviceOfItsOwnEndsItAsWell() throws {
    var fleet = try Fleet(devices: 1, isPaired: false)
    try fleet.start()
    try fleet.perform(.send("Deploy", as: 1, in: "a"), on: 0)
    try Self.type(" now", on: 0, &fleet)
    #expect(fleet.devices[0].core.deadline == fleet.now + Limits.typingPauseMillisecondsMax)
    try fleet.restart(0, isPaired: false)
    #expect(Self.isOpen(fleet, 0))
    try fleet.pass(1)
    #expect(!Self.isOpen(fleet, 0))
    #expect(
      Self.editions(fleet.devices[0].core.replica.workspace) == ["Deploy now"])
  }

  /// A full disk is tried again, but not at once.
  @Test func aFullDiskIsTriedAgain() throws {
    var fleet = try Self.fleet()
    try Self.type(" now", on: 0, &fleet)
    try fleet.settle()
    fleet.devices[0].store.failure = StoreError(code: .full, message: "the disk is full")
    try fleet.pass(1_100)
    #expect(Self.isOpen(fleet, 0))
    #expect(try #require(fleet.devices[0].core.deadline) > fleet.now)
    fleet.devices[0].store.failure = nil
    try fleet.pass(1_100)
    #expect(!Self.isOpen(fleet, 0))
  }
}
