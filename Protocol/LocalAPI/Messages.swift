import Basics
package import QueueModel

package struct SendRequest: APIValue {
  package static let notes: [String: Note] = [
    "text": .prompt, "id": .uuid, "priority": .priority, "later": .time,
    "needs": .list(of: .messageName, upTo: Limits.needsMax),
  ]

  package var text: String
  /// Your own id, which makes the request repeatable.
  package var id: String?
  package var priority: String?
  package var project: String?
  /// Its attached files.
  package var attachments: [AttachmentRequest]?
  /// Whether an agent sends it, which every device shows.
  package var byAgent: Bool?
  /// The time before which it is not in line. It has a place in the queue from the start.
  package var later: String?
  /// The messages, of any session, that must succeed before it is in line.
  package var needs: [String]?
  /// The turn that is to be stopped for it. The message goes before the others of its priority, whether
  /// or not a turn is stopped.
  package var interrupt: InterruptRequest?

  package init(
    text: String, id: String? = nil, priority: String? = nil, project: String? = nil,
    attachments: [AttachmentRequest]? = nil, byAgent: Bool? = nil, later: String? = nil,
    needs: [String]? = nil, interrupt: InterruptRequest? = nil
  ) {
    self.text = text
    self.id = id
    self.priority = priority
    self.project = project
    self.attachments = attachments
    self.byAgent = byAgent
    self.later = later
    self.needs = needs
    self.interrupt = interrupt
  }
}

/// The turn that the user saw running: if another one runs by then, nothing is stopped.
package struct InterruptRequest: APIValue {
  /// The message on which the agent works. Without it, what runs as this device knows when it takes the
  /// request; a request that is repeated stops nothing then.
  package var message: MessageID?
  /// The `attempts` of that message.
  package var attempts: Int?

  package init(message: MessageID? = nil, attempts: Int? = nil) {
    self.message = message
    self.attempts = attempts
  }
}

/// The answer to a send.
package struct SentAnswer: APIValue {
  package var id: MessageID
  package var session: SessionID
  package var status: MessageStatus
  package var position: Int
  package var count: Int
  /// For the user, from 80 % of the cap on.
  package var warning: String?
  /// The device that runs it, if it is another one.
  package var hostName: String?
  /// Why no device starts it, and the remedy; absent if a device starts it in its turn.
  package var note: String?
  /// For a message that interrupts: whether a turn is stopped for it; if not, `note` in here says why.
  package var stop: StopAnswer?

  package init(
    id: MessageID, session: SessionID, status: MessageStatus, position: Int, count: Int,
    warning: String? = nil
  ) {
    self.id = id
    self.session = session
    self.status = status
    self.position = position
    self.count = count
    self.warning = warning
  }
}

package struct EditRequest: APIValue {
  package static let notes: [String: Note] = ["content": .prompt, "base": .base]

  package var content: String
  /// The `base` of the message that the editor showed.
  package var base: String?

  package init(content: String, base: String? = nil) {
    self.content = content
    self.base = base
  }
}

/// The text of a merged message to use.
package struct ResolveRequest: APIValue {
  package static let notes: [String: Note] = [
    "take": .text("The number of one of its `editions`, from 1, or `merged`."), "base": .base,
  ]

  package var take: String
  /// The `base` of the message whose `editions` were shown; later editions continue to wait.
  package var base: String?

  package init(take: String, base: String? = nil) {
    self.take = take
    self.base = base
  }
}

package struct PriorityRequest: APIValue {
  package static let notes = ["priority": Note.priority]

  package var priority: String

  package init(priority: String) { self.priority = priority }
}

package struct MessagesRequest: APIValue {
  package static let notes = ["ids": Note.list(of: .messageName, upTo: Limits.batchMax)]

  package var ids: [String]

  package init(ids: [String]) { self.ids = ids }
}

/// Exactly one of `to`, `before` and `after`.
package struct MoveRequest: APIValue {
  package static let notes: [String: Note] = [
    "ids": .list(of: .messageName, upTo: Limits.batchMax), "to": .positive,
    "before": .messageName, "after": .messageName,
  ]

  package var ids: [String]
  package var to: Int?
  package var before: String?
  package var after: String?

  package init(ids: [String], to: Int? = nil, before: String? = nil, after: String? = nil) {
    self.ids = ids
    self.to = to
    self.before = before
    self.after = after
  }
}

package struct LaterRequest: APIValue {
  package static let notes = ["later": Note.time]

  package var later: String

  package init(later: String) { self.later = later }
}

/// The messages, of any session, that must succeed before a message is in line.
package struct NeedsRequest: APIValue {
  package static let notes = ["needs": Note.list(of: .messageName, upTo: Limits.needsMax)]

  package var needs: [String]

  package init(needs: [String]) { self.needs = needs }
}

package struct HoldRequest: APIValue {
  package static let notes = ["seconds": Note.positive]

  package var seconds: Int?

  package init(seconds: Int? = nil) { self.seconds = seconds }
}

/// A text of a merged message that was saved independently of the others.
package struct EditionAnswer: APIValue {
  package static let notes: [String: Note] = [
    "device": .nullable("string", isAlwaysThere: true), "savedAt": .time,
  ]

  /// Absent if it is longer than 64 KiB; such a text cannot be chosen.
  package var text: String?
  package var bytes: Int
  /// The name of the device that saved it; null if it is not known yet.
  package var device: String?
  package var savedAt: String
  /// The attempt whose agent got this text; absent if a user saved it.
  package var attempt: Int?

  package init(_ version: MessageVersion) {
    text = version.text
    bytes = version.bytes
    device = version.device
    savedAt = ISOTime.text(milliseconds: version.savedAt)
    attempt = version.attempt.map(Int.init)
  }

  package func encode(to encoder: any Encoder) throws {
    var container = encoder.container(keyedBy: CodingKeys.self)
    try container.encodeIfPresent(text, forKey: .text)
    try container.encode(bytes, forKey: .bytes)
    try container.encode(device, forKey: .device)
    try container.encode(savedAt, forKey: .savedAt)
    try container.encodeIfPresent(attempt, forKey: .attempt)
  }
}

/// One message; with `session`, unless the surrounding answer names it.
package struct MessageAnswer: APIValue {
  package static let notes: [String: Note] = [
    "priority": .priority, "createdAt": .time, "notBefore": .time, "heldUntil": .time,
    "later": .time,
    "base": .base, "device": .nullable("string", isAlwaysThere: true),
  ]

  package var id: MessageID
  package var session: SessionID?
  package var content: String
  package var priority: String
  package var status: MessageStatus
  package var position: Int
  package var createdAt: String
  /// The name of the device that queued it; null if it is not known yet.
  package var device: String?
  /// Optional properties of a message: its own project, attempts, error and files.
  package var project: String?
  package var attempts: Int?
  package var lastError: String?
  /// The earliest time of its start, if it must wait for a time.
  package var notBefore: String?
  /// The time until which it is held back, which may have passed.
  package var heldUntil: String?
  /// The time before which it is not in line, because a user postponed it; the time may have
  /// passed.
  package var later: String?
  /// The messages that must succeed before it is in line, whether or not they have. Absent if there
  /// are none.
  package var needs: [MessageID]?
  /// The message that it waits for, to show to a user: the first of `needs` that needs a decision,
  /// or else the first that has not succeeded. Absent if it waits for none, and in events.
  package var waitsFor: String?
  package var attachments: [Attachment]?
  /// Whether an agent queued it; absent if a user did.
  package var byAgent: Bool?
  /// Whether `content` was merged from independently saved texts, so that the message waits until a
  /// user chooses one, or edits it. Absent if not.
  package var merged: Bool?
  /// These texts, the earliest first.
  package var editions: [EditionAnswer]?
  /// The texts that were saved for it too late, the earliest first: its agent received `content`
  /// before. Absent if there are none.
  package var late: [EditionAnswer]?
  /// How a user stopped or cancelled it while it runs: unless the attempt succeeds, it counts as
  /// cancelled. Absent if no user did.
  package var withdrawn: WithdrawalAnswer?
  /// How far it has been sent to the server; absent if the server has it, if there is no server,
  /// and in events.
  package var delivery: Delivery?
  /// For an edit based on this content; present if one message is requested, and for merged
  /// messages in a session's queue.
  package var base: String?

  package init(_ view: MessageView, namesSession: Bool) {
    id = view.id
    session = namesSession ? view.session : nil
    content = view.content
    priority = view.priority.name
    status = view.status
    position = view.position
    createdAt = ISOTime.text(milliseconds: view.createdAt)
    device = view.device?.name
    project = view.project
    attempts = view.attempts == 0 ? nil : view.attempts
    lastError = view.lastError
    notBefore = view.notBefore.map { ISOTime.text(milliseconds: $0) }
    heldUntil = view.heldUntil.map { ISOTime.text(milliseconds: $0) }
    later = view.later.map { ISOTime.text(milliseconds: $0) }
    needs = view.needs.isEmpty ? nil : view.needs
    attachments = view.attachments.isEmpty ? nil : view.attachments
    byAgent = view.isByAgent ? true : nil
    merged = view.isMerged ? true : nil
    editions = view.isMerged ? view.versions.map(EditionAnswer.init) : nil
    late = view.lateVersions.isEmpty ? nil : view.lateVersions.map(EditionAnswer.init)
    withdrawn = view.withdrawal.map { $0 == .stopped ? .stopping : .cancelled }
  }

  package func encode(to encoder: any Encoder) throws {
    var container = encoder.container(keyedBy: CodingKeys.self)
    try container.encode(id, forKey: .id)
    try container.encodeIfPresent(session, forKey: .session)
    try container.encode(content, forKey: .content)
    try container.encode(priority, forKey: .priority)
    try container.encode(status, forKey: .status)
    try container.encode(position, forKey: .position)
    try container.encode(createdAt, forKey: .createdAt)
    // Always present, so that scripts can rely on the field.
    try container.encode(device, forKey: .device)
    try container.encodeIfPresent(project, forKey: .project)
    try container.encodeIfPresent(attempts, forKey: .attempts)
    try container.encodeIfPresent(lastError, forKey: .lastError)
    try container.encodeIfPresent(notBefore, forKey: .notBefore)
    try container.encodeIfPresent(heldUntil, forKey: .heldUntil)
    try container.encodeIfPresent(later, forKey: .later)
    try container.encodeIfPresent(needs, forKey: .needs)
    try container.encodeIfPresent(waitsFor, forKey: .waitsFor)
    try container.encodeIfPresent(attachments, forKey: .attachments)
    try container.encodeIfPresent(byAgent, forKey: .byAgent)
    try container.encodeIfPresent(merged, forKey: .merged)
    try container.encodeIfPresent(editions, forKey: .editions)
    try container.encodeIfPresent(late, forKey: .late)
    try container.encodeIfPresent(withdrawn, forKey: .withdrawn)
    try container.encodeIfPresent(delivery, forKey: .delivery)
    try container.encodeIfPresent(base, forKey: .base)
  }
}

/// How a message that an agent has was withdrawn.
package enum WithdrawalAnswer: String, Codable, CaseIterable, Sendable {
  /// It was cancelled as it started; its agent continues.
  case cancelled
  /// Its agent was stopped, and stops within seconds; in events, or when its device is back.
  case stopping
  /// Its agent was stopped, but its device is away, and stops it when it is back.
  case hostAway
}

/// How far a message of this device was sent, if the server may lack it.
package enum Delivery: String, Codable, CaseIterable, Sendable {
  /// It is only on this device, and waits for a connection.
  case here
  /// It is being sent, or the server has not confirmed it yet.
  case sending
  /// The server refused it; it is tried again with the next connection.
  case refused
}

/// `GET /v1/messages/unsent`.
package struct UnsentAnswer: APIValue {
  package struct Message: APIValue {
    package var id: MessageID
    package var delivery: Delivery
    /// Why the server refused it.
    package var error: String?

    package init(id: MessageID, delivery: Delivery, error: String?) {
      self.id = id
      self.delivery = delivery
      self.error = error
    }
  }

  package var messages: [Message]

  package init(messages: [Message]) { self.messages = messages }
}

/// The queued messages, session by session.
package struct MessageIDsAnswer: APIValue {
  package var ids: [MessageID]

  package init(ids: [MessageID]) { self.ids = ids }
}

/// One session's queue.
package struct QueueAnswer: APIValue {
  package var session: SessionID
  package var paused: Bool
  package var pauseReasons: [String]
  package var messages: [MessageAnswer]
  /// Why it is stopped until a user decides; absent if it is not (S0-65).
  package var currentError: String?
  /// Why none of its messages starts, if nothing else shows it: no host, no agent, a host that is
  /// away.
  package var note: String?
  /// The beginning of the next page; absent on the last page.
  package var next: String?

  /// - Parameter page: the messages of this page, and the rest that follows them.
  package init(
    _ view: MessageQueueView, page: (items: [MessageView], next: String?)? = nil
  ) {
    currentError = view.currentError
    session = view.session
    paused = view.paused
    pauseReasons = view.pauseReasons
    messages = (page?.items ?? view.messages).map { MessageAnswer($0, namesSession: false) }
    next = page?.next
  }
}

/// Messages of several sessions, session by session.
package struct QueuesAnswer: APIValue {
  package var queues: [QueueAnswer]

  package init(queues: [QueueAnswer]) { self.queues = queues }
}

/// The output of an attempt, or a part of it.
package struct OutputAnswer: APIValue {
  package var attempt: Int
  package var text: String
  /// Whether the text begins after the beginning of the output.
  package var truncated: Bool
  /// Whether the agent may still write.
  package var running: Bool
  /// The value of `from` for the bytes after this text.
  package var next: Int
  /// The message.
  package var message: MessageID
  /// The device that has the output, if it is another one.
  package var device: String?

  package init(
    attempt: Int, text: String, truncated: Bool, running: Bool, next: Int, message: MessageID,
    device: String?
  ) {
    self.attempt = attempt
    self.text = text
    self.truncated = truncated
    self.running = running
    self.next = next
    self.message = message
    self.device = device
  }
}
