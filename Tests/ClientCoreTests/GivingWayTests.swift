import QueueModel
import SequenceCRDT
import SyncTestSupport
import Testing
import WireProtocol

@testable import ClientCore

/// A base that a state of the server contradicts; SPECIFICATION.md, section "Contradicting states".
@Suite struct GivingWayTests {
  private static let occasion = Occasion(now: 5, wall: TestDevice.startOfTime, random: 5)
  /// The number of the device whose base is contradicted.
  private static let author: UInt64 = 7

  /// A device whose base is a given state.
  private struct Holder {
    var replica: Replica
    let store = MemoryStore()

    /// - Parameter number: that of the device; its own replica has the same.
    init(_ base: Workspace, as number: UInt64 = 99) throws {
      let id = DeviceID(high: 0xD, low: number)
      let name = "device \(number)"
      let record = ReplicaRecord(
        device: id, deviceName: name, replica: ReplicaID(rawValue: number))
      let workspace = base.vector[record.replica] > 0 ? base : nil
      replica = try Replica(
        Replica.Opening(
          loaded: LoadedReplica(record: record, workspace: workspace), device: id,
          deviceName: name, needsFreshReplica: false),
        at: GivingWayTests.occasion, store: store)
      try take(base)
    }

    /// Takes a state as the base of the first epoch.
    mutating func take(_ base: Workspace) throws {
      _ = try replica.install(
        Replica.Base(image: base.compacted().image(), epoch: 1 << 32, logPosition: 1),
        store: store)
    }

    @discardableResult
    mutating func giveWay(to state: WorkspaceImage) throws -> TouchedQueues? {
      let touched = try replica.giveWay(to: state, at: GivingWayTests.occasion, store: store)
      try replica.workspace.checkInvariants()
      return touched
    }

    mutating func perform(_ command: Command) throws {
      _ = try replica.perform(
        command, queueSizeMax: 100, wall: GivingWayTests.occasion.wall, at: GivingWayTests.occasion,
        store: store)
    }

    var vector: VersionVector { replica.workspace.vector }

    /// What is shown of some replicas, or of all but the one that the device has just taken.
    func names(of replicas: ReplicaID...) -> [OperationID: StateComparison.Name] {
      replica.workspace.image().names { replicas.isEmpty || replicas.contains($0.replica) }
    }
  }

  /// Two stores that write under one replica id, and have both sent "shared".
  private func twins() throws -> (TestDevice, TestDevice) {
    var one = TestDevice(GivingWayTests.author)
    try one.perform(.send("shared", as: 1, in: "a"))
    return (one, one)
  }

  /// The same, and then each has sent something else.
  private func contradicting() throws -> (one: TestDevice, other: TestDevice, first: Operation) {
    var (one, other) = try twins()
    let sent = try one.perform(.send("good", as: 2, in: "a"))
    try other.perform(.send("evil", as: 3, in: "a"))
    return (one, other, try #require(sent.operations.first { $0.introduces(.numbered(2)) }))
  }

  /// What a state shows, under the ids that a rule gives.
  private func names(
    _ workspace: Workspace, _ renamed: (OperationID) -> OperationID
  ) -> [OperationID: StateComparison.Name] {
    let names = workspace.compacted().image().names { _ in true }
    return Dictionary(
      uniqueKeysWithValues: names.map { id, name in
        guard case .scalar(let addition, let scalar) = name else { return (renamed(id), name) }
        return (renamed(id), .scalar(renamed(addition), scalar))
      })
  }

  /// Number 2 of the successor for the operation, and so on in the same distances.
  private func heirs(of operations: Operation...) -> (OperationID) -> OperationID {
    let heirs = operations.map { ($0.id, $0.successorReplica) }
    return { id in
      for (first, heir) in heirs where first.replica == id.replica && first.seq <= id.seq {
        return OperationID(replica: heir, seq: id.seq - first.seq + 2)
      }
      return id
    }
  }

  // MARK: Ids

  @Test func idsFromTheContradictionOnAreTheSuccessorsInTheSameDistances() throws {
    let (one, other, first) = try contradicting()
    var holder = try Holder(one.workspace)
    let touched = try #require(try holder.giveWay(to: other.workspace.image()))
    #expect(!touched.isEmpty)
    #expect(holder.names() == names(one.workspace, heirs(of: first)))
    let heir = first.successorReplica
    #expect(holder.vector[one.replica] == first.id.seq - 1)
    #expect(holder.vector[heir] == one.workspace.vector[one.replica] - first.id.seq + 2)
    let device = one.workspace.device(of: one.replica)
    #expect(holder.replica.workspace.device(of: heir) == device && device != nil)
    #expect(holder.replica.workspace.contents("a") == ["shared", "good"])
  }

  /// What stands before it in the base alone may be another event too.
  @Test func whatTheStateDoesNotShowBeforeTheContradictionGoesWithIt() throws {
    var (one, other) = try twins()
    let typed = try one.perform(.insertText(.numbered(1), at: 6, text: " more"))
    try one.perform(.send("good", as: 2, in: "a"))
    for round in 1...5 {
      try other.perform(.setPriority(.numbered(1), round % 2 == 1 ? .urgent : .normal))
    }
    try other.perform(.send("evil", as: 3, in: "a"))
    var holder = try Holder(one.workspace)
    try holder.giveWay(to: other.workspace.image())
    let first = try #require(typed.operations.first)
    #expect(holder.names() == names(one.workspace, heirs(of: first)))
    #expect(holder.vector[one.replica] == first.id.seq - 1)
    #expect(holder.replica.workspace.contents("a") == ["shared more", "good"])
  }

  @Test func whatStandsInAMessageWithOtherIDsGetsOthersToo() throws {
    var (one, other, first) = try contradicting()
    var third = TestDevice(8)
    try third.merge(one.made)
    try third.perform(.insertText(.numbered(1), at: 6, text: " too"))
    let known = third.made.count
    try third.perform(.insertText(.numbered(2), at: 4, text: " over"))
    try third.perform(.setPriority(.numbered(2), .urgent))
    try one.merge(third.made)
    try other.merge(Array(third.made[..<known]))
    var holder = try Holder(one.workspace)
    try holder.giveWay(to: other.workspace.image())
    let second = third.made[known]
    #expect(holder.names() == names(one.workspace, heirs(of: first, second)))
    #expect(holder.vector[third.replica] == second.id.seq - 1)
    #expect(holder.replica.workspace.contents("a") == ["good over", "shared too"])
  }

  @Test func whatStandsInASessionWithOtherIDsGetsOthersToo() throws {
    var (one, other) = try twins()
    let opened = try one.perform(.addSession(.named("good"), name: nil, project: nil))
    try other.perform(.addSession(.named("evil"), name: nil, project: nil))
    var third = TestDevice(8)
    try third.merge(one.made)
    let renamed = try third.perform(.renameSession(.named("good"), name: "better"))
    try third.perform(.send("in it", as: 4, in: "good"))
    try one.merge(third.made)
    var holder = try Holder(one.workspace)
    try holder.giveWay(to: other.workspace.image())
    let (first, second) = (opened.operations[0], renamed.operations[0])
    #expect(holder.names() == names(one.workspace, heirs(of: first, second)))
    #expect(holder.replica.workspace.contents("good") == ["in it"])
  }

  /// Of two additions of a message one gets other ids; what stands in it has the other to stand in.
  @Test func whatStandsInAMessageThatAnotherAddedTooKeepsItsIDs() throws {
    var (one, other, first) = try contradicting()
    var third = TestDevice(8)
    try third.perform(.send("good", as: 2, in: "a"))
    try third.merge(one.made)
    try third.perform(.setPriority(.numbered(2), .urgent))
    try one.merge(third.made)
    try other.merge([third.made[0]])
    var holder = try Holder(one.workspace)
    try holder.giveWay(to: other.workspace.image())
    #expect(holder.names() == names(one.workspace, heirs(of: first)))
    #expect(holder.vector[third.replica] == third.workspace.vector[third.replica])
  }

  /// The state has the message, with another text under the same ids.
  @Test func whatStandsInAMessageThatTheStateHasKeepsItsIDs() throws {
    var (one, other) = try twins()
    let sent = try one.perform(.send("good", as: 2, in: "a"))
    try other.perform(.send("evil", as: 2, in: "a"))
    var third = TestDevice(8)
    try third.merge(one.made)
    try third.perform(.insertText(.numbered(2), at: 4, text: " over"))
    try one.merge(third.made)
    var holder = try Holder(one.workspace)
    try holder.giveWay(to: other.workspace.image())
    let first = try #require(
      sent.operations.first { if case .insertText = $0.body { true } else { false } })
    #expect(holder.names() == names(one.workspace, heirs(of: first)))
    #expect(holder.vector[third.replica] == third.workspace.vector[third.replica])
  }

  /// Somebody found the contradiction when the state still showed what is alike; it is gone by now.
  @Test func idsThatOthersGaveFromALaterNumberOnAreContinued() throws {
    var (one, other) = try twins()
    let typed = try one.perform(.insertText(.numbered(1), at: 6, text: "ab"))
    try other.perform(.insertText(.numbered(1), at: 6, text: "ab"))
    let sent = try one.perform(.send("good", as: 2, in: "a"))
    try other.perform(.send("evil", as: 3, in: "a"))
    var early = try Holder(one.workspace)
    try early.giveWay(to: other.workspace.image())
    try other.perform(.deleteText(.numbered(1), 6..<8))
    let state = other.workspace.compacted().image()
      .united(with: early.replica.workspace.compacted().image())
    var late = try Holder(one.workspace)
    try late.giveWay(to: state)
    let (first, second) = (typed.operations[0], sent.operations[0])
    #expect(early.names() == names(one.workspace, heirs(of: second)))
    #expect(late.names() == names(one.workspace, heirs(of: second, first)))
    // What both brought is there once, and what was deleted comes again rather than never.
    let united = try Workspace(
      image: state.united(with: late.replica.workspace.compacted().image()))
    let texts = united.image().sessions.flatMap(\.messages).flatMap(\.additions).map(\.text)
    #expect(texts.sorted() == ["evil", "good", "sharedab"])
    #expect(
      StateComparison(of: united.image(), with: late.replica.workspace.image())
        .contradictions.isEmpty)
  }

  /// Somebody found a contradiction at what this base does not show any more.
  @Test func idsThatOthersGaveFromAnEarlierNumberOnAreContinued() throws {
    var (one, other) = try twins()
    let ranked = try one.perform(.setPriority(.numbered(1), .urgent))
    try one.perform(.send("good", as: 2, in: "a"))
    try other.perform(.renameSession(.named("a"), name: "A"))
    try other.perform(.send("evil", as: 3, in: "a"))
    var early = try Holder(one.workspace)
    try early.giveWay(to: other.workspace.image())
    let state = other.workspace.compacted().image()
      .united(with: early.replica.workspace.compacted().image())
    var third = TestDevice(8)
    try third.merge(one.made)
    try third.perform(.setPriority(.numbered(1), .normal))
    var late = try Holder(third.workspace)
    try late.giveWay(to: state)
    let first = ranked.operations[0]
    #expect(early.names() == names(one.workspace, heirs(of: first)))
    #expect(
      late.names(of: one.replica, first.successorReplica)
        == names(third.workspace, heirs(of: first)).filter { $0.key.replica != third.replica })
    #expect(late.vector[one.replica] == first.id.seq)
  }

  @Test func successorThatIsKnownAlreadyIsReplaced() throws {
    var (one, other, first) = try contradicting()
    let heir = first.successorReplica
    var stranger = TestDevice(heir.rawValue)
    try stranger.perform(.send("of the stranger", as: 9, in: "b"))
    try one.merge(stranger.made)
    var holder = try Holder(one.workspace)
    try holder.giveWay(to: other.workspace.image())
    let random = ReplicaID(rawValue: GivingWayTests.occasion.random(heir.rawValue) | 1)
    #expect(
      holder.names()
        == names(one.workspace) { id in
          let renamed = heirs(of: first)(id)
          return renamed == id ? id : OperationID(replica: random, seq: renamed.seq)
        })
    #expect(holder.vector[heir] == stranger.workspace.vector[heir])
  }

  /// Behind the base the log holds what the server had under the following numbers.
  @Test func whatCameFromTheServerSinceKeepsItsIDs() throws {
    let (one, evil, first) = try contradicting()
    var other = evil
    let last = one.workspace.vector[one.replica]
    try #require(other.workspace.vector[one.replica] == last)
    try other.perform(.send("later", as: 4, in: "a"))
    try other.perform(.insertText(.numbered(1), at: 6, text: " more"))
    var holder = try Holder(one.workspace)
    _ = try holder.replica.merge(
      Replica.Delivery(operations: other.made.filter { $0.id.seq > last }, logPosition: 2),
      at: GivingWayTests.occasion, store: holder.store)
    try holder.perform(.deleteText(.numbered(1), 6..<8))
    try holder.perform(.insertText(.numbered(4), at: 5, text: " still"))
    try holder.perform(.insertText(.numbered(2), at: 4, text: " too"))
    try holder.giveWay(to: other.workspace.image())
    let texts = holder.replica.workspace.image().sessions.flatMap(\.messages)
      .flatMap(\.additions).map(\.text)
    #expect(texts.sorted() == ["evil", "good too", "later still", "sharedore"])
    #expect(holder.vector[one.replica] == other.workspace.vector[one.replica])
    #expect(holder.vector[first.successorReplica] == last - first.id.seq + 2)
    let state = other.workspace.image()
    #expect(
      StateComparison(of: state, with: holder.replica.workspace.image()).contradictions.isEmpty)
    // Of what the device itself typed only that has another id which stands in "good".
    let typed = OperationID(
      replica: ReplicaID(rawValue: 99), seq: holder.vector[.init(rawValue: 99)])
    let names = holder.names()
    guard case .scalar(let addition, _) = names[typed] else {
      Issue.record("nothing shows under \(typed)")
      return
    }
    #expect(names[addition] == .message(.numbered(4)))
    let record = holder.replica.record
    #expect(record.ownReplicas.count == 3)
    #expect(record.floor[one.replica] == holder.vector[one.replica])
    #expect(record.acknowledged[one.replica] == first.id.seq - 1)
  }

  // MARK: The device

  @Test func theWholeStateIsTheBaseAndTheLogIsEmpty() throws {
    let (one, other, first) = try contradicting()
    var holder = try Holder(one.workspace)
    try holder.perform(.send("unsent", as: 9, in: "b"))
    #expect(!holder.store.entries.isEmpty)
    let (before, commits) = (holder.replica.record, holder.store.commits)
    try holder.giveWay(to: other.workspace.image())
    let record = holder.replica.record
    #expect(holder.store.commits == commits + 1)
    #expect(holder.store.entries.isEmpty && holder.store.pending.isEmpty)
    #expect(holder.store.baseImage == holder.replica.workspace.image())
    #expect(holder.replica.workspace.contents("b") == ["unsent"])
    #expect(record.epoch == EpochName.own)
    #expect(record.floor == holder.vector)
    #expect(record.acknowledged[first.id.replica] == first.id.seq - 1)
    #expect(record.acknowledged[first.successorReplica] == 0)
    #expect(record.repairs == before.repairs + 1)
    #expect(record.replica == before.replica && record.ownReplicas == before.ownReplicas)
    #expect(holder.store.record == record)
  }

  @Test func theAuthorLeavesItsReplica() throws {
    let (one, other, first) = try contradicting()
    var holder = try Holder(one.workspace, as: GivingWayTests.author)
    #expect(holder.replica.record.replica == one.replica)
    try holder.giveWay(to: other.workspace.image())
    let record = holder.replica.record
    let fresh = record.replica
    #expect(fresh != one.replica && fresh != first.successorReplica)
    #expect(record.ownReplicas == [one.replica, first.successorReplica, fresh])
    // All that it writes in the log is its announcement.
    #expect(holder.store.operations.map(\.id) == [OperationID(replica: fresh, seq: 1)])
    #expect(holder.replica.workspace.device(of: fresh)?.id == record.device)
    #expect(record.floor[fresh] == 0 && holder.vector[fresh] == 1)
  }

  @Test func whatWasDoneUnderOldIDsCanBeUndone() throws {
    let (one, _) = try twins()
    var other = one
    try other.perform(.send("evil", as: 3, in: "a"))
    var holder = try Holder(one.workspace, as: GivingWayTests.author)
    try holder.perform(.send("good", as: 2, in: "a"))
    try holder.perform(.insertText(.numbered(2), at: 4, text: " and more"))
    try holder.take(holder.replica.workspace)
    #expect(try holder.giveWay(to: other.workspace.image()) != nil)
    #expect(holder.replica.workspace.contents("a") == ["shared", "good and more"])
    #expect(UndoHistory(holder.store.loaded.undo).entries == holder.replica.undo.entries)
    try holder.perform(.undo)
    #expect(holder.replica.workspace.contents("a") == ["shared", "good"])
    try holder.perform(.undo)
    #expect(holder.replica.workspace.contents("a") == ["shared"])
  }

  @Test func stateThatContradictsNothingChangesNothing() throws {
    var (one, other) = try twins()
    try one.perform(.insertText(.numbered(1), at: 6, text: "ab"))
    var third = TestDevice(8)
    try third.merge(one.made)
    try third.perform(.deleteText(.numbered(1), 6..<8))
    try third.perform(.send("good", as: 4, in: "a"))
    try other.perform(.insertText(.numbered(1), at: 6, text: "ab"))
    for state in [one.workspace, third.workspace, other.workspace, Workspace()] {
      var holder = try Holder(one.workspace)
      let (record, commits) = (holder.replica.record, holder.store.commits)
      #expect(try holder.giveWay(to: state.image()) == nil)
      #expect(holder.replica.record == record && holder.store.commits == commits)
    }
  }

  @Test func failingStoreChangesNothing() throws {
    let (one, other, _) = try contradicting()
    var holder = try Holder(one.workspace)
    let before = holder.replica
    let failure = StoreError(code: .full, message: "full")
    holder.store.failure = failure
    #expect(throws: Replica.Fault.store(failure)) {
      try holder.giveWay(to: other.workspace.image())
    }
    #expect(holder.replica.record == before.record)
    #expect(holder.replica.workspace.image() == before.workspace.image())
  }
}

extension Operation {
  fileprivate func introduces(_ message: MessageID) -> Bool {
    if case .addMessage(let addition) = body { addition.message == message } else { false }
  }
}
