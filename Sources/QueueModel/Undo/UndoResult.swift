/// The effect of an undo or a redo now.
public struct UndoNext: Hashable, Sendable {
  /// The number of the change, for `Command.undo(change:skip:)` or `Command.redo(change:)`.
  public var change: Int64
  /// A description of the change.
  public var label: UndoLabel
  /// When it was made, in milliseconds since 1970 on this device's clock.
  public var milliseconds: Int64
  /// Whether others have worked on its messages since.
  public var isShared: Bool
  /// Why it cannot be undone; nil if it can.
  public var obstacle: UndoObstacle?
  /// Sessions that it would pause so that nothing starts, by id.
  public var pausing: [SessionID]
  /// Why parts of it would not be undone.
  public var leaving: [UndoObstacle]

  /// Creates a value from its parts.
  public init(
    change: Int64, label: UndoLabel, milliseconds: Int64, isShared: Bool = false,
    obstacle: UndoObstacle? = nil, pausing: [SessionID] = [], leaving: [UndoObstacle] = []
  ) {
    self.change = change
    self.label = label
    self.milliseconds = milliseconds
    self.isShared = isShared
    self.obstacle = obstacle
    self.pausing = pausing
    self.leaving = leaving
  }
}

/// Why a change, or a part of it, is not undone.
public enum UndoObstacle: Hashable, Sendable {
  /// An agent has the message with this text, in this session.
  case started(MessageID, String, SessionID?)
  /// As `started`, but the undo was written before that was known.
  case late(MessageID, String, SessionID?)
  /// An agent has had the message with this text. The command, if there is one, has the effect of
  /// the undo.
  case ended(MessageID, String, remedy: String?)
  /// Another change has written the same field since, or nothing of the change is left. The
  /// command, if there is one, has the effect of the undo.
  case overtaken(remedy: String?)
  /// No undo reverses such a change, but this command does.
  case needsCommand(String)
  /// The server does not answer, so this device does not know what the undo would start or remove.
  /// This command does it directly.
  case apart(String)
  /// Another user has since changed the text of a message that the undo would remove from the
  /// queue. The command has the effect of the undo.
  case rewritten(command: String)
  /// Such a change cannot be undone; the command, if there is one, continues from here.
  case final(remedy: String?)

  /// A stable name for scripts and the local API.
  public var code: String {
    switch self {
    case .started: "started"
    case .late: "late"
    case .ended: "ended"
    case .overtaken: "overtaken"
    case .needsCommand: "needsCommand"
    case .apart: "apart"
    case .rewritten: "rewritten"
    case .final: "final"
    }
  }

  /// The command to use instead; nil if there is none.
  public var command: String? {
    switch self {
    case .started(_, _, let session), .late(_, _, let session):
      session.map { ShellLine.session("queue stop", $0) }
    case .needsCommand(let command), .apart(let command), .rewritten(let command): command
    case .ended(_, _, let remedy), .overtaken(let remedy), .final(let remedy): remedy
    }
  }
}

extension UndoObstacle: CustomStringConvertible {
  /// The obstacle and the advice, in one or two sentences.
  public var description: String {
    switch self {
    case .started(_, let text, _), .late(_, let text, _):
      "\"\(text)\" has started"
        + (command.map { ". Stop it with: \($0)" } ?? ", and an undo does not stop it.")
    case .ended(_, let text, let remedy):
      "An agent has had \"\(text)\", and an undo does not take that back."
        + (remedy.map { " To reverse that: \($0)" } ?? "")
    case .overtaken(let remedy):
      "Something else has changed it since." + (remedy.map { " Reverse it with: \($0)" } ?? "")
    case .needsCommand(let command): "An undo does not take that back. Reverse it with: \(command)"
    case .apart(let command):
      "The server does not answer, and this device does not know what others changed. Reverse it with: "
        + command
    case .rewritten(let command):
      "The text was changed elsewhere since. To cancel it anyway: \(command)"
    case .final(let remedy):
      "That cannot be undone." + (remedy.map { " To have it done again: \($0)" } ?? "")
    }
  }
}

/// The effect of an undo or a redo.
public struct UndoResult: Hashable, Sendable {
  /// The change that was undone or redone.
  public var label: UndoLabel
  /// Sessions that the same command paused to prevent starts, by id.
  public var paused: [SessionID]
  /// Why parts of the change were not undone.
  public var left: [UndoObstacle]
  /// Messages for which the authority has not answered: their change applies unless an agent has
  /// got them meanwhile.
  public var unconfirmed: [MessageID]

  /// Creates a value from its parts.
  public init(
    label: UndoLabel, paused: [SessionID] = [], left: [UndoObstacle] = [],
    unconfirmed: [MessageID] = []
  ) {
    self.label = label
    self.paused = paused
    self.left = left
    self.unconfirmed = unconfirmed
  }
}

extension CommandOutcome.Notice {
  /// The effect of an undo or a redo; nil for any other notice.
  package var undoResult: UndoResult? {
    switch self {
    case .undone(let result), .redone(let result): result
    default: nil
    }
  }
}
