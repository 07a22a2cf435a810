import QueueModel
import SequenceCRDT

/// A session's part without its runs, which views do not need. Texts are ranges of the stream.
struct SnapshotOutline {
  var key: SessionID
  var references: [OperationID] = []
  var tags: [WorkspaceImage.Tags] = []
  var registers: [WorkspaceImage.Register] = []
  var threadPosition: WorkspaceImage.Position?
  var enqueued: WorkspaceImage.Position?
  var hasPlainSlots = false
  var messages: [Message] = []

  struct Addition {
    var id: OperationID
    var stamp: Stamp
    var form: WorkspaceImage.Addition.Form
    /// Bytes of the stream of texts.
    var text: Range<Int>
  }

  struct Message {
    var id: MessageID
    var form: UInt8
    var first: Addition
    /// Almost always empty.
    var others: [Addition] = []
    var deadSlotsBefore = 0
    /// The position's stamp.
    var stamp: Stamp
    var explicitTags: [WorkspaceImage.Tags] = []
    var explicitRegisters: [WorkspaceImage.Register] = []

    var tags: [WorkspaceImage.Tags] {
      form & SnapshotFormat.MessageForm.tags == SnapshotFormat.MessageForm.addedTag
        ? [.added(by: first.id)] : explicitTags
    }

    var registers: [WorkspaceImage.Register] {
      switch form & SnapshotFormat.MessageForm.registers {
      case SnapshotFormat.MessageForm.addedNormal: [.added(.normal, by: first.id, first.stamp)]
      case SnapshotFormat.MessageForm.addedUrgent: [.added(.urgent, by: first.id, first.stamp)]
      default: explicitRegisters
      }
    }
  }
}
