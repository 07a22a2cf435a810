import ClientCore
import QueueModel
import SequenceCRDT
import SyncTestSupport
import Testing
import WireProtocol

/// A restored server lacks what its log once held: devices send their states back.
@Suite struct JoiningTests {
  /// Two devices, and a server that forgot all but the first message.
  private func fleet() throws -> Fleet {
    var fleet = try Fleet(devices: 2)
    try fleet.start()
    try fleet.perform(.send("kept", as: 1, in: "a"), on: 0)
    try fleet.settle()
    let position = fleet.server.log.count
    try fleet.perform(.send("lost", as: 2, in: "a"), on: 0)
    try fleet.settle()
    for index in fleet.devices.indices { fleet.cut(index) }
    try fleet.server.restore(upTo: position)
    return fleet
  }

  /// Lets the first device alone connect, until the server has something of its own to say.
  private func advance(_ fleet: inout Fleet, until isReached: (Fleet) -> Bool) throws {
    fleet.now = try #require(fleet.devices[0].core.deadline)
    fleet.note(0) { $0.timePassed(at: $1, store: $2) }
    while !isReached(fleet) {
      try #require(!fleet.devices[0].actions.isEmpty)
      try fleet.advance(1)
    }
  }

  @Test func theStateIsOfferedWithoutWhatWasNeverLogged() throws {
    var fleet = try fleet()
    try fleet.perform(.send("unsent", as: 3, in: "a"), on: 0)
    try fleet.perform(.insertText(.numbered(2), at: 4, text: "!"), on: 0)
    let received = fleet.server.received.count
    try advance(&fleet) { $0.server.statesTaken == 1 }
    #expect(fleet.server.workspace.contents("a") == ["kept", "lost"])
    #expect(fleet.server.received.count == received)
    // Nothing was lost here meanwhile.
    let shown = fleet.devices[0].core.replica.workspace
    #expect(shown.contents("a") == ["kept", "lost!", "unsent"])
    #expect(fleet.devices[0].store.baseImage == nil)
    try fleet.pass(60_000)
    try fleet.expectConvergence()
    #expect(fleet.server.workspace.contents("a") == ["kept", "lost!", "unsent"])
    #expect(fleet.server.received.count > received)
    // The other device had nothing that the joined state lacks.
    #expect(fleet.server.statesOffered == 1)
  }

  @Test func nothingElseIsSentUntilTheServerHasJoinedTheState() throws {
    var fleet = try fleet()
    fleet.server.ignoresOffers = true
    try advance(&fleet) { $0.server.statesOffered == 1 }
    try fleet.perform(.send("meanwhile", as: 3, in: "a"), on: 0)
    #expect(fleet.devices[0].actions.allSatisfy { if case .send = $0 { false } else { true } })
    #expect(fleet.devices[0].core.problem?.message.contains("is missing") == true)
    // The others' operations do not reach a device whose state is behind theirs.
    let prefix = fleet.devices[0].core.replica.record.prefix
    var other = TestDevice(50)
    try other.perform(.send("other", as: 4, in: "a"))
    fleet.deliver(try fleet.server.append(other.made), to: 0)
    #expect(fleet.devices[0].core.replica.record.prefix == prefix)
    fleet.server.ignoresOffers = false
    try fleet.pass(120_000)
    try fleet.expectConvergence()
    #expect(
      fleet.server.workspace.contents("a").sorted() == ["kept", "lost", "meanwhile", "other"])
  }

  @Test func aServerThatDoesNotAnswerGetsTheStateAgain() throws {
    var fleet = try fleet()
    fleet.server.ignoresOffers = true
    try advance(&fleet) { $0.server.statesOffered == 1 }
    // Pings do not count as an answer.
    let end = fleet.now + ClientLimits.answerMilliseconds
    while fleet.now < end - 10_000 {
      fleet.now += 9_999
      fleet.deliver(.presence([]), to: 0)
      fleet.note(0) { $0.timePassed(at: $1, store: $2) }
    }
    try fleet.settle()
    #expect(fleet.devices[0].open != nil)
    fleet.now = end + 1_000
    fleet.note(0) { $0.timePassed(at: $1, store: $2) }
    try fleet.settle()
    #expect(fleet.devices[0].open == nil)
    #expect(fleet.devices[0].reports.last?.message.contains("did not accept") == true)
    fleet.server.ignoresOffers = false
    try fleet.pass(120_000)
    try fleet.expectConvergence()
    #expect(fleet.server.workspace.contents("a") == ["kept", "lost"])
    #expect(fleet.server.statesOffered > 1)
  }

  /// Each has something that no other device has.
  @Test(arguments: [[0, 1], [1, 0]])
  func everyDeviceBringsWhatItHas(order: [Int]) throws {
    var fleet = try Fleet(devices: 2)
    try fleet.start()
    try fleet.perform(.send("shared", as: 1, in: "a"), on: 0)
    try fleet.settle()
    let position = fleet.server.log.count
    for index in 0...1 { fleet.cut(index) }
    // Time does not pass, so that the other one does not connect.
    for index in 0...1 {
      fleet.note(index) { core, context, _ in core.syncRequested(at: context) }
      try fleet.settle()
      try fleet.perform(.insertText(.numbered(1), at: 0, text: "\(index)"), on: index)
      try fleet.perform(.send("text \(index)", as: 10 + UInt64(index), in: "a"), on: index)
      try fleet.settle()
      fleet.cut(index)
      try fleet.server.restore(upTo: position)
    }
    #expect(fleet.server.statesTaken == 0)
    for index in order {
      fleet.note(index) { core, context, _ in core.syncRequested(at: context) }
      try fleet.settle()
    }
    try fleet.pass(120_000)
    try fleet.expectConvergence()
    #expect(fleet.server.statesTaken == 2)
    let contents = fleet.server.workspace.contents("a")
    #expect(Set(contents[1...]) == ["text 0", "text 1"])
    #expect(["01shared", "10shared"].contains(contents[0]))
  }

  @Test func aServerThatForgotEverythingGetsItBack() throws {
    var fleet = try fleet()
    let all = fleet.devices[0].core.replica.workspace.image()
    try fleet.server.restore(upTo: 0)
    try fleet.pass(120_000)
    try fleet.expectConvergence()
    #expect(fleet.server.workspace.image() == all)
  }

  @Test(arguments: 0..<4)
  func aDiskThatFailsLosesNothing(commits: Int) throws {
    var fleet = try fleet()
    try fleet.perform(.send("unsent", as: 3, in: "a"), on: 0)
    fleet.devices[0].store.commitsLeft = commits
    try fleet.pass(60_000)
    try fleet.expectStoreAgrees(fleet.devices[0])
    fleet.devices[0].store.commitsLeft = nil
    try fleet.pass(120_000)
    try fleet.expectConvergence()
    #expect(fleet.server.workspace.contents("a") == ["kept", "lost", "unsent"])
  }

  @Test func aProgramThatEndsBeforeItIsAnsweredOffersItAgain() throws {
    var fleet = try fleet()
    try fleet.perform(.send("unsent", as: 3, in: "a"), on: 0)
    fleet.server.ignoresOffers = true
    try advance(&fleet) { $0.server.statesOffered == 1 }
    fleet.server.ignoresOffers = false
    try fleet.restart(0)
    try fleet.pass(120_000)
    try fleet.expectConvergence()
    #expect(fleet.server.workspace.contents("a") == ["kept", "lost", "unsent"])
  }
}
