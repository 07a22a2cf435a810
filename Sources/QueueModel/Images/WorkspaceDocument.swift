/// The visible content of a workspace, to be written as JSON, stored, and imported elsewhere.
///
/// It contains no operation ids and no replicas. Messages are identified by their ids, so a second
/// import adds nothing. Deleted sessions are left out.
public struct WorkspaceDocument: Hashable, Sendable {
  /// The kind of document: always `cospool-workspace`.
  public var format: String
  /// The version of the format. Version 1 has its times in milliseconds since 1970.
  public var version: Int
  /// By session id.
  public var sessions: [Session]
  /// The thread queue in order.
  public var threads: [Thread]
  /// Whether it is a later part of a document imported in several commands; not in its JSON.
  var isContinuation = false

  private enum CodingKeys: CodingKey {
    case format, version, sessions, threads
  }

  /// The kind of document that is written and read.
  public static let format = "cospool-workspace"
  /// The version that is written.
  public static let version = 2
  /// The versions that are read.
  public static let versionsRead = 1...2

  /// Creates a document.
  public init(sessions: [Session] = [], threads: [Thread] = []) {
    format = WorkspaceDocument.format
    version = WorkspaceDocument.version
    self.sessions = sessions
    self.threads = threads
  }

  /// A session with its messages.
  public struct Session: Hashable, Sendable {
    /// The session's id.
    public var id: SessionID
    /// Its display name, if one was given.
    public var name: String?
    /// Its project path, if one was given.
    public var project: String?
    /// The reason of each open pause; empty if none was given.
    public var pauses: [String]
    /// Whether its thread is locked.
    public var locked: Bool
    /// Whether its messages with merged texts start; absent if they wait.
    public var onMerge: MergePolicy?
    /// Whether its agent stops without the server; absent if it finishes.
    public var onLostServer: LostServerPolicy?
    /// Whether it is archived; absent if it is not.
    public var archived: Bool?
    /// The waiting messages in effective order.
    public var messages: [Message]
    /// The cancelled messages by id.
    public var cancelled: [Message]

    /// Creates a value from its parts.
    public init(
      id: SessionID, name: String?, project: String?, pauses: [String], locked: Bool,
      messages: [Message], cancelled: [Message]
    ) {
      self.id = id
      self.name = name
      self.project = project
      self.pauses = pauses
      self.locked = locked
      self.messages = messages
      self.cancelled = cancelled
    }
  }

  /// A message.
  public struct Message: Hashable, Sendable {
    /// The message's permanent name.
    public var id: MessageID
    /// The prompt.
    public var content: String
    /// `normal` or `urgent`.
    public var priority: String
    /// When it was queued.
    public var createdAt: DocumentTime
    /// The name of the device that queued it, for people; an import does not use it.
    public var device: String?
    /// Its own project path, if it has one besides its session's.
    public var project: String?
    /// The number of attempts to run it, if there were any.
    public var attempts: Int?
    /// The error of the latest attempt.
    public var lastError: String?
    /// The files that go with it; their bytes are not part of the document.
    public var attachments: [Attachment]?
    /// Whether an agent queued it; absent if its user did.
    public var byAgent: Bool?
    /// The time before which it is not in line; absent if it always is. An imported message waits,
    /// too.
    public var later: DocumentTime?
    /// The messages that still have to succeed before it is in line; absent if there are none. An
    /// imported message waits for them, too.
    public var needs: [MessageID]?
    /// The texts from which `content` was merged, until a user has checked it. An imported message
    /// waits, too.
    public var editions: [Edition]?

    /// Creates a value from its parts.
    public init(
      id: MessageID, content: String, priority: String, createdAt: Int64, device: String?
    ) {
      self.id = id
      self.content = content
      self.priority = priority
      self.createdAt = DocumentTime(createdAt)
      self.device = device
    }
  }

  /// A text that was saved for a message.
  public struct Edition: Hashable, Sendable {
    /// The text; nil if it is longer than `Limits.editionBytesMax`.
    public var content: String?
    /// UTF-8 bytes of an omitted text.
    public var bytes: Int?
    /// FNV-1a of an omitted text, in hexadecimal.
    public var digest: String?
    /// When it was saved.
    public var savedAt: DocumentTime
    /// The name of the device that saved it.
    public var device: String?
  }

  /// An entry of the thread queue.
  public struct Thread: Hashable, Sendable {
    /// The session.
    public var session: SessionID
    /// When it was queued.
    public var queuedAt: DocumentTime

    /// Creates a value from its parts.
    public init(session: SessionID, queuedAt: Int64) {
      self.session = session
      self.queuedAt = DocumentTime(queuedAt)
    }
  }

  /// The reason of the pause of a session that received a message which was started before.
  static let startedBefore = "imported messages were started before"

  /// The files of its messages, by hash; their bytes are not part of the document.
  package var files: [ContentHash: String] {
    let all = sessions.flatMap { $0.messages + $0.cancelled }.flatMap { $0.attachments ?? [] }
    return Dictionary(all.map { ($0.hash, $0.name) }) { first, _ in first }
  }

  /// How many messages the document holds.
  public var messageCount: Int {
    sessions.reduce(0) { $0 + $1.messages.count + $1.cancelled.count }
  }
}

/// The result of an import.
public struct ImportCounts: Hashable, Sendable {
  /// Sessions that did not exist.
  public var sessions = 0
  /// Messages that did not exist.
  public var messages = 0
  /// Messages that existed already, and did not change.
  public var known = 0
  /// Threads that were queued.
  public var threads = 0
  /// Those of the messages that were started before the export; their sessions are paused.
  public var started = 0
  /// The sessions of those messages.
  public var held: Set<SessionID> = []
  /// Those of the messages that wait for a message which is neither in the document nor known.
  public var inVain = 0
  /// The names of its files that the importing device lacks: a document contains no files.
  public var missingFiles: [String] = []

  /// Creates empty counts.
  public init() {}

  /// Adds the counts of another import.
  public static func += (left: inout ImportCounts, right: ImportCounts) {
    left.sessions += right.sessions
    left.messages += right.messages
    left.known += right.known
    left.threads += right.threads
    left.started += right.started
    left.held.formUnion(right.held)
  }
}

extension WorkspaceDocument {
  /// The fault of the document, and its place: `sessions[2].messages[0].priority: …`. nil if there
  /// is none.
  package var fault: String? {
    guard format == WorkspaceDocument.format else {
      return "format: \"\(format)\" is not \"\(WorkspaceDocument.format)\""
    }
    if let fault = WorkspaceDocument.fault(ofVersion: version) { return fault }
    guard sessions.count <= Limits.sessionsMax else {
      return "sessions: more than \(Limits.sessionsMax)"
    }
    for (index, session) in sessions.enumerated() {
      if let fault = session.fault { return "sessions[\(index)].\(fault)" }
    }
    for (index, thread) in threads.enumerated() where thread.queuedAt.milliseconds < 0 {
      return "threads[\(index)].queuedAt: it is before 1970"
    }
    return nil
  }

  /// Why a version cannot be read; nil if it can.
  package static func fault(ofVersion version: Int) -> String? {
    guard !versionsRead.contains(version) else { return nil }
    return "version: \(version) is unknown; this version of Cospool reads "
      + versionsRead.map(String.init).joined(separator: " and ")
  }

  /// The document in pieces, each of which is one command: a hundred messages or 256 KiB of text.
  /// The thread queue comes last.
  package var parts: [WorkspaceDocument] {
    var parts: [WorkspaceDocument] = []
    for session in sessions {
      var open = session
      var bytes = 0
      (open.messages, open.cancelled) = ([], [])
      func isFull(_ message: Message) -> Bool {
        let count = open.messages.count + open.cancelled.count
        return count >= 100
          || (count > 0 && bytes + message.content.utf8.count + message.editionBytes > 256 << 10)
      }
      for (message, isWaiting) in session.messages.map({ ($0, true) })
        + session.cancelled.map({ ($0, false) })
      {
        if isFull(message) {
          parts.append(WorkspaceDocument(sessions: [open]))
          (open.messages, open.cancelled, bytes) = ([], [], 0)
          open.pauses = []
        }
        if isWaiting { open.messages.append(message) } else { open.cancelled.append(message) }
        bytes += message.content.utf8.count + message.editionBytes
      }
      parts.append(WorkspaceDocument(sessions: [open]))
    }
    if !threads.isEmpty { parts.append(WorkspaceDocument(threads: threads)) }
    for index in parts.indices.dropFirst() { parts[index].isContinuation = true }
    return parts
  }
}

extension WorkspaceDocument.Session {
  fileprivate var fault: String? {
    for (field, text) in [("name", name), ("project", project)] {
      if let text, text.utf8.count > Limits.nameBytesMax {
        return "\(field): it is longer than \(Limits.nameBytesMax) bytes"
      }
    }
    for (index, reason) in pauses.enumerated() where reason.utf8.count > Limits.nameBytesMax {
      return "pauses[\(index)]: it is longer than \(Limits.nameBytesMax) bytes"
    }
    for (field, messages) in [("messages", messages), ("cancelled", cancelled)] {
      for (index, message) in messages.enumerated() {
        if let fault = message.fault { return "\(field)[\(index)].\(fault)" }
      }
    }
    return nil
  }
}

extension WorkspaceDocument.Message {
  fileprivate var fault: String? {
    if Priority(name: priority) == nil {
      return "priority: \"\(priority)\" is neither urgent nor normal"
    }
    if content.utf8.count > Limits.contentBytesMax {
      return "content: it is longer than \(Limits.contentBytesMax) bytes"
    }
    for (field, text) in [("project", project), ("lastError", lastError)] {
      if let text, text.utf8.count > Limits.nameBytesMax {
        return "\(field): it is longer than \(Limits.nameBytesMax) bytes"
      }
    }
    if let attempts, attempts < 0 { return "attempts: it is negative" }
    if (attachments ?? []).count > Limits.messageAttachmentsMax {
      return "attachments: more than \(Limits.messageAttachmentsMax)"
    }
    if createdAt.milliseconds < 0 { return "createdAt: it is before 1970" }
    if let later, later.milliseconds < 0 { return "later: it is before 1970" }
    if (needs ?? []).count > Limits.needsMax { return "needs: more than \(Limits.needsMax)" }
    return editionsFault
  }
}

extension WorkspaceDocument: Codable {}
extension WorkspaceDocument.Session: Codable {
  /// Reads a session; a setting known only to a later version counts as absent.
  public init(from decoder: any Decoder) throws {
    let fields = try decoder.container(keyedBy: CodingKeys.self)
    id = try fields.decode(SessionID.self, forKey: .id)
    name = try fields.decodeIfPresent(String.self, forKey: .name)
    project = try fields.decodeIfPresent(String.self, forKey: .project)
    pauses = try fields.decode([String].self, forKey: .pauses)
    locked = try fields.decode(Bool.self, forKey: .locked)
    messages = try fields.decode([WorkspaceDocument.Message].self, forKey: .messages)
    cancelled = try fields.decode([WorkspaceDocument.Message].self, forKey: .cancelled)
    // A value known only to a later version makes them wait.
    onMerge = try? fields.decodeIfPresent(MergePolicy.self, forKey: .onMerge)
    onLostServer = try? fields.decodeIfPresent(LostServerPolicy.self, forKey: .onLostServer)
    archived = try fields.decodeIfPresent(Bool.self, forKey: .archived)
  }
}
extension WorkspaceDocument.Message: Codable {}
extension WorkspaceDocument.Edition: Codable {}
extension WorkspaceDocument.Thread: Codable {}
extension ImportCounts: Codable {}

extension WorkspaceDocument.Message {
  /// Whether an agent had it before the export, according to the document.
  var wasStarted: Bool { (attempts ?? 0) > 0 || lastError?.isEmpty == false }
}
