import DeltaCodec
package import QueueModel
package import SequenceCRDT

/// A device in a test: the real engine, a clock, and the operations that it made, without any I/O.
package struct TestDevice: Sendable {
  package var workspace: Workspace
  package let replica: ReplicaID
  /// Wall clock time for the next commands, in milliseconds since 1970.
  package var now: Int64
  package var queueSizeMax: Int
  /// What the device knows for certain while it is offline; nil while it is not.
  package var apart: Apartness?
  /// The connection over which it receives the others' operations at once; nil while it is offline.
  package var connection: UInt64?
  /// The operations that it made, in order.
  package private(set) var made: [Operation] = []
  /// What it can undo and redo.
  package private(set) var history = UndoHistory()
  private var clock = HybridClock()

  /// A new device with this number, from 1, that has announced itself.
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

  /// Performs the command one millisecond after the last one.
  @discardableResult
  package mutating func perform(_ command: Command) throws(QueueError) -> CommandOutcome {
    var history = history
    let outcome = try author { workspace, context throws(QueueError) in
      try workspace.perform(command, in: context, history: &history).outcome
    }
    self.history = history
    return outcome
  }

  /// Ends typing with an edition, like a pause.
  package mutating func endTyping() throws(QueueError) {
    var history = history
    _ = try author { workspace, context throws(QueueError) in
      history.endTyping(of: &workspace, in: context).outcome
    }
    self.history = history
  }

  /// Its program ends, and continues with its stored data.
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

  /// Merges operations of others.
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

  /// Restores itself from a snapshot; waiting operations are stored separately.
  package mutating func restoreFromImage() throws(MergeError) {
    let pending = workspace.pendingOperations
    workspace = try Workspace(image: workspace.image())
    _ = try workspace.merge(pending)
  }

  /// Restores itself from the bytes of a snapshot, like an opened store: sessions stay packed until
  /// something touches them.
  package mutating func restoreFromSnapshot() throws {
    let pending = workspace.pendingOperations
    let bytes = SnapshotCodec.encodeParts(workspace).bytes
    workspace = try SnapshotCodec.open(ByteReader(bytes))
    _ = try workspace.merge(pending)
  }

  /// Packs touched sessions, as an unused device does after a while.
  package mutating func packSessions() {
    SnapshotCodec.pack(&workspace)
  }
}

/// Shortcuts for values in tests.
extension SessionID {
  /// The session of this name.
  ///
  /// - Precondition: the name is valid.
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
  /// Undoes the latest change.
  package static var undo: Command { .undo(change: nil, skip: false) }
  /// Redoes the latest undone change.
  package static var redo: Command { .redo(change: nil) }

  /// A send without the parts that a test does not care about.
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
  /// The texts of a session's queue in effective order; empty if the session does not exist.
  package func contents(_ session: String) -> [String] {
    ((try? messageQueue(.named(session)))?.messages ?? []).map(\.content)
  }

  /// The message numbers of a session's queue in effective order.
  package func numbers(_ session: String) -> [UInt64] {
    ((try? messageQueue(.named(session)))?.messages ?? []).map(\.id.low)
  }

  /// The status of a message; nil if it is unknown.
  package func status(_ number: UInt64) -> MessageStatus? {
    (try? message(.numbered(number)))?.status
  }

  /// The names of all threads in the queue, in order.
  package var threadNames: [String] { threadQueue().threads.map(\.session.rawValue) }
}
