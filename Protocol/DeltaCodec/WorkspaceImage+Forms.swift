import QueueModel
import SequenceCRDT

/// Parts of an image that are not written because they follow from the usual case.
extension SessionToWrite {
  /// Whether each slot is the one at which its message was added, at the time of its stamp, after
  /// the previous one.
  var hasPlainSlots: Bool {
    guard places.allSatisfy({ $0.slot == $0.addition }) else { return false }
    return session.slots
      == WorkspaceImage.SlotRun.plain(places.map { ($0.slot, $0.stamp.milliseconds) })
  }

  /// For each message, the number of dead slots between the previous message and its own slot.
  var deadSlotsBeforeMessages: [Int] {
    var gaps: [Int] = []
    var gap = 0
    for run in session.slots {
      var offset = 0
      while gaps.count < places.count {
        let slot = places[gaps.count].slot
        guard slot.replica == run.id.replica, slot.seq >= run.id.seq,
          Int(slot.seq - run.id.seq) < run.length, Int(slot.seq - run.id.seq) >= offset
        else { break }
        gaps.append(gap + Int(slot.seq - run.id.seq) - offset)
        gap = 0
        offset = Int(slot.seq - run.id.seq) + 1
      }
      gap += run.length - offset
    }
    precondition(gaps.count == places.count, "messages are at their slots, in order")
    return gaps
  }
}

extension WorkspaceImage.SlotRun {
  /// The id of the last unit; nil if it would leave the range of sequence numbers.
  var lastID: OperationID? { id.advanced(by: length - 1) }

  /// Slots that were each added after the previous one, at the end of the list.
  static func plain(_ slots: [(id: OperationID, time: Int64)]) -> [WorkspaceImage.SlotRun] {
    var runs: [WorkspaceImage.SlotRun] = []
    for (id, time) in slots {
      if let last = runs.last, last.id.advanced(by: last.length) == id, last.origins.time == time {
        runs[runs.count - 1].length += 1
      } else {
        runs.append(
          WorkspaceImage.SlotRun(
            id: id, length: 1, origins: .init(left: runs.last?.lastID, right: nil, time: time)))
      }
    }
    return runs
  }
}

extension WorkspaceImage.Message {
  /// The message's form byte.
  func form(deadSlotsBefore gap: Int) -> UInt8 {
    guard let first = additions.first else { return 0 }
    var form = first.form.rawValue << SnapshotFormat.MessageForm.textShift
    if tags == [.added(by: first.id)] {
      form |= SnapshotFormat.MessageForm.addedTag
    } else if !tags.isEmpty {
      form |= SnapshotFormat.MessageForm.explicitTags
    }
    if registers == [.added(.urgent, by: first.id, first.stamp)] {
      form |= SnapshotFormat.MessageForm.addedUrgent
    } else if registers != [.added(.normal, by: first.id, first.stamp)] {
      form |= SnapshotFormat.MessageForm.explicitRegisters
    }
    if gap != 0 || position.stamp != first.stamp {
      form |= SnapshotFormat.MessageForm.explicitPosition
    }
    if additions.count > 1 { form |= SnapshotFormat.MessageForm.severalAdditions }
    return form
  }
}

extension WorkspaceImage.Tags {
  /// The `live` tag that an addition adds.
  static func added(by addition: OperationID) -> WorkspaceImage.Tags {
    WorkspaceImage.Tags(field: .live, tags: [WorkspaceImage.Tag(id: addition, note: "")])
  }
}

extension WorkspaceImage.Register {
  /// The priority as an addition writes it.
  static func added(
    _ priority: Priority, by addition: OperationID, _ stamp: Stamp
  ) -> WorkspaceImage.Register {
    WorkspaceImage.Register(
      field: .priority, value: .number(UInt64(priority.rawValue)), stamp: stamp, writer: addition)
  }
}

extension WorkspaceImage.Addition {
  /// The origin of the content.
  enum Form: UInt8 {
    /// No text was ever inserted.
    case none
    /// The text came with the message and was never edited.
    case added
    case explicit
  }

  var form: Form {
    guard let run = runs.first else { return .none }
    let isAdded =
      runs.count == 1 && run.isVisible && run.slots.id == id.advanced(by: 1)
      && run.slots.origins == .init(left: nil, right: nil)
    return isAdded ? .added : .explicit
  }
}
