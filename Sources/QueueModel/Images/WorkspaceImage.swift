package import SequenceCRDT

/// The whole replicated state as plain values in canonical order: the content of a snapshot.
///
/// Workspaces that applied the same operations have equal images, whatever the order of arrival.
/// Arrays are sorted as documented; runs are as long as possible. Waiting operations are not part
/// of it. Anchors are always slot ids, never elements. The owner of a dead slot is not kept:
/// positions move to later stamps only, so it never becomes an element's place again.
package struct WorkspaceImage: Hashable, Sendable {
  /// By replica id.
  package var replicas: [Replica] = []
  /// The thread queue's slots in their order.
  package var threadSlots: [SlotRun] = []
  /// By session id.
  package var sessions: [Session] = []

  package init() {}

  /// The known operations of each replica.
  package var vector: VersionVector {
    VersionVector(Dictionary(replicas.map { ($0.id, $0.seq) }) { first, _ in first })
  }

  package struct Replica: Hashable, Sendable {
    package var id: ReplicaID
    /// The last applied sequence number.
    package var seq: UInt32
    /// Its announcement, if it made one: the operation's seq, the device and its name.
    package var announcement: Announcement?

    package init(id: ReplicaID, seq: UInt32, announcement: Announcement?) {
      self.id = id
      self.seq = seq
      self.announcement = announcement
    }
  }

  package struct Announcement: Hashable, Sendable {
    package var seq: UInt32
    package var device: DeviceID
    package var name: String

    package init(seq: UInt32, device: DeviceID, name: String) {
      self.seq = seq
      self.device = device
      self.name = name
    }
  }

  /// A stretch of slots or scalars with consecutive ids: unit *k* > 0 has the left origin
  /// `id + k − 1`, and the right origin and time of the run.
  package struct SlotRun: Hashable, Sendable {
    package var id: OperationID
    package var length: Int
    package var origins: Operation.Origins

    package init(id: OperationID, length: Int, origins: Operation.Origins) {
      self.id = id
      self.length = length
      self.origins = origins
    }
  }

  package struct Register: Hashable, Sendable {
    package var field: RegisterField
    package var value: RegisterValue
    package var stamp: Stamp
    package var writer: OperationID

    package init(field: RegisterField, value: RegisterValue, stamp: Stamp, writer: OperationID) {
      self.field = field
      self.value = value
      self.stamp = stamp
      self.writer = writer
    }
  }

  package struct Tags: Hashable, Sendable {
    package var field: TagField
    /// By tag id; never empty.
    package var tags: [Tag]

    package init(field: TagField, tags: [Tag]) {
      self.field = field
      self.tags = tags
    }
  }

  package struct Tag: Hashable, Sendable {
    package var id: OperationID
    package var note: String

    package init(id: OperationID, note: String) {
      self.id = id
      self.note = note
    }
  }

  package struct Session: Hashable, Sendable {
    package var key: SessionID
    /// Every `openSession` that named it, by id; never empty.
    package var references: [OperationID]
    /// By field, only those with a tag.
    package var tags: [Tags]
    /// By field.
    package var registers: [Register]
    /// The winning slot of the thread queue with its stamp; the writer is the slot's id.
    package var threadPosition: Position?
    /// The stamp and id of the latest `enqueueThread`, whose milliseconds are `queuedAt`.
    package var enqueued: Position?
    /// The message queue's slots in their order.
    package var slots: [SlotRun]
    /// The messages whose place is in this queue, cancelled ones too, in the order of their slots.
    package var messages: [Message]

    package init(key: SessionID) {
      self.key = key
      references = []
      tags = []
      registers = []
      threadPosition = nil
      enqueued = nil
      slots = []
      messages = []
    }
  }

  package struct Position: Hashable, Sendable {
    package var stamp: Stamp
    package var slot: OperationID

    package init(stamp: Stamp, slot: OperationID) {
      self.stamp = stamp
      self.slot = slot
    }
  }

  package struct Message: Hashable, Sendable {
    package var id: MessageID
    /// Every `addMessage` that named it, by id, with its content; never empty.
    package var additions: [Addition]
    /// By field, only those with a tag.
    package var tags: [Tags]
    /// By field.
    package var registers: [Register]
    /// The winning slot and its stamp; the writer is the slot's id.
    package var position: Position

    package init(id: MessageID, position: Position) {
      self.id = id
      additions = []
      tags = []
      registers = []
      self.position = position
    }
  }

  package struct Addition: Hashable, Sendable {
    package var id: OperationID
    package var stamp: Stamp
    /// The content's scalars, deleted ones too, in order.
    package var runs: [TextRun]
    /// The text of all visible runs, joined.
    package var text: String

    package init(id: OperationID, stamp: Stamp, runs: [TextRun], text: String) {
      self.id = id
      self.stamp = stamp
      self.runs = runs
      self.text = text
    }
  }

  package struct TextRun: Hashable, Sendable {
    package var slots: SlotRun
    package var isVisible: Bool

    package init(slots: SlotRun, isVisible: Bool) {
      self.slots = slots
      self.isVisible = isVisible
    }
  }
}
