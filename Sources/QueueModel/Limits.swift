/// Every maximum of the model, in one place; each is tested at the limit and one past it.
public enum Limits {
  /// UTF-8 bytes of a session id.
  public static let sessionIDBytesMax = 128
  /// UTF-8 bytes of a session's or device's name, of a project path and of a pause reason.
  public static let nameBytesMax = 1_024
  /// UTF-8 bytes of one message's content.
  public static let contentBytesMax = 1 << 20
  /// UTF-8 bytes of the longest text that is kept complete while it waits for a check.
  public static let editionBytesMax = 64 << 10
  /// The approximate maximum size, in bytes, of a change to one message that fits in one delta for
  /// every peer. A longer change is marked as incomplete until all of it has arrived.
  public static let unmarkedChangeBytesMax = 8 << 10
  /// Sessions a workspace may hold.
  public static let sessionsMax = 10_000
  /// Devices a workspace may hold.
  public static let devicesMax = 100
  /// Waiting messages of one session that a local enqueue may reach by default.
  public static let queueSizeDefault = 10
  /// The allowed range of the queue size setting.
  public static let queueSizeRange = 1...1_000
  /// Whether to warn users that a queue of this length is nearly full: from 80 % (C-7).
  package static func isNearlyFull(_ count: Int, of max: Int) -> Bool { count * 10 >= max * 8 }
  /// Operations that may wait for others, per workspace.
  public static let pendingOperationsMax = 100_000
  /// Messages or sessions that one command may name.
  public static let batchMax = 10_000
  /// Tags one operation may clear.
  public static let clearedTagsMax = 10_000
  /// How far ahead of the server's clock a stamp may be, in milliseconds.
  public static let stampAheadMillisecondsMax: Int64 = 120_000
  /// Changes that a device keeps for undo, and as many for redo.
  public static let undoGroupsMax = 1_000
  /// Their approximate total size, in bytes.
  public static let undoBytesMax = 8 << 20
  /// Typing in one message is undone together if each keystroke follows the previous one within
  /// this number of milliseconds.
  public static let typingPauseMillisecondsMax: Int64 = 1_000
  /// Scalars of one stretch of typing; further scalars begin another stretch.
  public static let typingScalarsMax = 500
  /// A stretch of typing without a pause is saved with the next letter after this time,
  package static let stretchMillisecondsMax: Int64 = 60_000
  /// or after this many scalars.
  package static let stretchScalarsMax = 2_000
  /// Bytes of one attachment.
  public static let attachmentBytesMax = 10 << 20
  /// UTF-8 bytes of an attachment's name.
  public static let attachmentNameBytesMax = 255
  /// Bytes of a media type.
  public static let mediaTypeBytesMax = 127
  /// Attachments that a local command gives one message.
  public static let messageAttachmentsMax = 20
  /// Messages that one message may wait for.
  public static let needsMax = 16
  /// Drafts a device keeps; each holds at most `contentBytesMax`.
  public static let draftsMax = 1_000
  /// Tools of one session that are recorded as running.
  public static let runningToolsMax = 1_000
  /// UTF-8 bytes of an agent's id for a tool.
  public static let toolIDBytesMax = 256
  /// UTF-8 bytes of a task's present operation, of a tool's name, and of one answer to choose.
  public static let taskNameBytesMax = 200
  /// UTF-8 bytes of a task's result or error, and of the summary of an approval request.
  public static let taskSummaryBytesMax = 1_000
  /// UTF-8 bytes of the details of a request.
  public static let taskDetailsBytesMax = 4_000
  /// UTF-8 bytes of the details of a request that users can answer; longer ones are unreadable.
  public static let taskInputBytesMax = 256 << 10
  /// UTF-8 bytes of a question.
  public static let taskQuestionBytesMax = 2_000
  /// Answers to choose from.
  public static let taskOptionsMax = 10
  /// UTF-8 bytes of a request's text that fit in the register at any place in it.
  package static let taskShortBytesMax = 400
  /// Requests that a task shows at once, all of which can be answered.
  public static let taskRequestsMax = 8
  /// Bytes of a request other than the first, in the form of the task's register.
  package static let taskAlsoBytesMax = 1_500
  /// UTF-8 bytes of an answer to a question, and of a remark that goes with another answer.
  public static let answerBytesMax = 4_096
  /// Sequence numbers a replica uses before it takes a new replica id.
  public static let sequenceMax: UInt32 = 1 << 31
}
