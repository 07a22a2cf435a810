/// What an undo or a redo would do now.
public struct UndoNext: Hashable, Sendable {
  /// The number of the change, for `Command.undo(change:skip:)` or `Command.redo(change:)`.
  public var change: Int64
  /// What the change did.
  public var label: UndoLabel
  /// When it was made, in milliseconds since 1970 on this device's clock.
  public var milliseconds: Int64
  /// Whether somebody else worked on its messages since.
  public var isShared: Bool
  /// Why it is not taken back; nil if it would be.
  public var obstacle: UndoObstacle?
  /// Later changes that would be passed over, since they are over or others changed them; latest first.
  public var passedOver: [UndoLabel]

  /// Puts the parts together.
  public init(
    change: Int64, label: UndoLabel, milliseconds: Int64, isShared: Bool = false,
    obstacle: UndoObstacle? = nil, passedOver: [UndoLabel] = []
  ) {
    self.change = change
    self.label = label
    self.milliseconds = milliseconds
    self.isShared = isShared
    self.obstacle = obstacle
    self.passedOver = passedOver
  }
}

/// Why a change, or a part of it, is not taken back.
public enum UndoObstacle: Hashable, Sendable {
  /// An agent has the message of this text, in this session.
  case started(MessageID, String, SessionID?)
  /// An agent has had the message of this text.
  case ended(MessageID, String)
  /// Somebody changed the same thing since, or nothing of the change is left.
  case overtaken
  /// No undo takes such a change back; this command reverses it.
  case needsCommand(String)

  /// A stable name for scripts and the local API.
  public var code: String {
    switch self {
    case .started: "started"
    case .ended: "ended"
    case .overtaken: "overtaken"
    case .needsCommand: "needsCommand"
    }
  }

  /// The command to give instead; nil if there is none.
  public var command: String? {
    switch self {
    case .started(_, _, let session):
      session.map { "cospool queue stop -s \($0.rawValue.quotedWord)" }
    case .needsCommand(let command): command
    case .ended, .overtaken: nil
    }
  }
}

extension UndoObstacle: CustomStringConvertible {
  /// What is in the way and what to do, in one or two sentences.
  public var description: String {
    switch self {
    case .started(_, let text, _):
      "\"\(text)\" has started"
        + (command.map { ". Stop it with: \($0)" } ?? ", and an undo does not stop it.")
    case .ended(_, let text): "An agent has had \"\(text)\", and an undo does not take that back."
    case .overtaken: "Somebody changed it since."
    case .needsCommand(let command): "An undo does not take that back. Reverse it with: \(command)"
    }
  }
}

/// What an undo or a redo did.
public struct UndoResult: Hashable, Sendable {
  /// The change that was taken back, or done again.
  public var label: UndoLabel
  /// Sessions that the same command paused so that nothing starts, by id.
  public var paused: [SessionID]
  /// Why parts of the change were left alone.
  public var left: [UndoObstacle]
  /// Later changes that were passed over, since they are over or others changed them; latest first.
  public var passedOver: [UndoLabel]

  /// Puts the parts together.
  public init(
    label: UndoLabel, paused: [SessionID] = [], left: [UndoObstacle] = [],
    passedOver: [UndoLabel] = []
  ) {
    self.label = label
    self.paused = paused
    self.left = left
    self.passedOver = passedOver
  }
}
