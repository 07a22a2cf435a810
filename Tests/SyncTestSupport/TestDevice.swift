import DeltaCodec
package import QueueModel
package import SequenceCRDT

/// A device in a test: the real engine, a clock, and the operations it made, without any I/O.
package struct TestDevice: Sendable {
  package var workspace: Workspace
  package let replica: ReplicaID
  /// Wall clock time for the next commands, in milliseconds since 1970.
  package var now: Int64
  package var queueSizeMax: Int
  /// What is certain here while the device is apart from the others; nil while it is not.
  package var apart: Apartness?
  /// The connection over which it hears of the others at once; nil while it is apart.
  package var connection: UInt64?
  /// The operations it made, in order.
  package private(set) var made: [Operation] = []
  /// What it can undo and redo.
  package private(set) var history = UndoHistory()
  private var clock = HybridClock()

  /// A fresh device number `number`, from 1, that announced itself.
  package init(
    _ number: UInt64, now: Int64 = TestDevice.startOfTime,
    queueSizeMax: Int = Limits.queueSizeDefault
  ) {
    workspace = Workspace()
    replica = ReplicaID(rawValue: number)
    self.now = now
    self.queueSizeMax = queueSizeMax
    made = workspace.announce(
      device: DeviceID(high: 0xD, low: number), name: "device \(number)", replica: replica)
  }

  /// 2026-01-01T00:00:00Z.
  package static let startOfTime: Int64 = 1_767_225_600_000

  /// Does the command one millisecond after the last one.
  @discardableResult
  package mutating func perform(_ command: Command) throws(QueueError) -> CommandOutcome {
    var history = history
    let outcome = try author { workspace, context throws(QueueError) in
      try workspace.perform(command, in: context, history: &history).outcome
    }
    self.history = history
    return outcome
  }

  /// Ends what is typed by an edition, as a pause does.
  package mutating func endTyping() throws(QueueError) {
    var history = history
    _ = try author { workspace, context throws(QueueError) in
      history.endTyping(of: &workspace, in: context).outcome
    }
    self.history = history
  }

  /// Its program ends, and goes on with what it stored.
  package mutating func restart() throws {
    var entries: [UndoHistory.Entry] = []
    for entry in history.entries {
      entries.append(
        UndoHistory.Entry(
          number: entry.number, isUndone: entry.isUndone,
          change: try UndoEntry(bytes: entry.change.bytes)))
    }
    history = UndoHistory(entries)
    try restoreFromSnapshot()
  }

  /// Lets `body` make operations one millisecond after the last ones.
  package mutating func author(
    _ body: (inout Workspace, CommandContext) throws(QueueError) -> CommandOutcome
  ) throws(QueueError) -> CommandOutcome {
    now += 1
    clock.observe(workspace.latestStamp)
    var next = clock
    var context = CommandContext(
      replica: replica, stamp: next.tick(milliseconds: now), time: now,
      queueSizeMax: queueSizeMax)
    (context.apart, context.connection) = (apart, connection)
    let outcome = try body(&workspace, context)
    clock = next
    made.append(contentsOf: outcome.operations)
    return outcome
  }

  /// Takes operations from elsewhere.
  @discardableResult
  package mutating func merge(
    _ operations: [Operation]
  ) throws(MergeError) -> Workspace.MergeOutcome {
    let before = workspace
    let outcome = try workspace.merge(operations)
    _ = history.noteForeign(
      outcome.applied, from: before, to: workspace, areOfOthers: true)
    return outcome
  }

  /// Goes through a snapshot; waiting operations come along separately, as they are stored.
  package mutating func restoreFromImage() throws(MergeError) {
    let pending = workspace.pendingOperations
    workspace = try Workspace(image: workspace.image())
    _ = try workspace.merge(pending)
  }

  /// Goes through the bytes of a snapshot, as when a store is opened: sessions stay packed until
  /// something touches them.
  package mutating func restoreFromSnapshot() throws {
    let pending = workspace.pendingOperations
    let bytes = SnapshotCodec.encodeParts(workspace).bytes
    workspace = try SnapshotCodec.open(ByteReader(bytes))
    _ = try workspace.merge(pending)
  }

  /// Packs what was touched, as a device does that nobody uses for a while.
  package mutating func packSessions() {
    SnapshotCodec.pack(&workspace)
  }
}

/// Short ways to make values in tests.
extension SessionID {
  /// The session of this name.
  ///
  /// - Precondition: the name is a valid one.
  package static func named(_ name: String) -> SessionID {
    do {
      return try SessionID(name)
    } catch {
      preconditionFailure("\(error)")
    }
  }
}

extension MessageID {
  /// The message of this number.
  package static func numbered(_ number: UInt64) -> MessageID {
    MessageID(high: 0x4000, low: number)
  }
}

extension Command {
  /// Takes back the latest change.
  package static var undo: Command { .undo(change: nil, skip: false) }
  /// Does the latest undone change again.
  package static var redo: Command { .redo(change: nil) }

  /// A send without the parts a test does not care about.
  package static func send(
    _ text: String, as number: UInt64, in session: String, _ priority: Priority = .normal,
    requeues: Bool = true
  ) -> Command {
    .send(
      Send(
        session: .named(session), id: .numbered(number), text: text, priority: priority,
        requeuesThread: requeues))
  }
}

extension Workspace {
  /// The texts of a session's queue in effective order; empty where the session is not.
  package func contents(_ session: String) -> [String] {
    ((try? messageQueue(.named(session)))?.messages ?? []).map(\.content)
  }

  /// The message numbers of a session's queue in effective order.
  package func numbers(_ session: String) -> [UInt64] {
    ((try? messageQueue(.named(session)))?.messages ?? []).map(\.id.low)
  }

  /// What became of a message; nil where it is not known.
  package func status(_ number: UInt64) -> MessageStatus? {
    (try? message(.numbered(number)))?.status
  }

  /// The names of all threads in the queue, in order.
  package var threadNames: [String] { threadQueue().threads.map(\.session.rawValue) }
}
