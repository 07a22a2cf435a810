import Basics
import LocalAPI
import QueueModel

extension APIDescription {
  /// All schemas, by the names that operations call them.
  static let schemas: [String: JSONValue] =
    requestSchemas.merging(queueSchemas) { first, _ in first }
    .merging(deviceSchemas) { first, _ in first }
    .merging(documentSchemas) { first, _ in first }
    .merging(settingsSchemas) { first, _ in first }
    .merging(activitySchemas) { first, _ in first }
    .merging(attachmentSchemas) { first, _ in first }
    .merging(executionSchemas) { first, _ in first }
    .merging(taskSchemas) { first, _ in first }
    .merging(notificationSchemas) { first, _ in first }
    .merging(webSchemas) { first, _ in first }

  private static let priority = Schema.choice(["urgent", "normal"])
  private static let status = Schema.choice([
    "queued", "running", "failed", "interrupted", "unknown", "succeeded", "skipped", "cancelled",
  ])
  private static let base = Schema.described(
    Schema.text, "What the content is now, for a later edit; opaque.")

  // MARK: - Requests

  private static let requestSchemas: [String: JSONValue] = [
    "PairRequest": Schema.body(
      ["server": Schema.text, "code": Schema.text], optional: ["insecure": Schema.flag]),
    "SyncRequest": Schema.body(["enabled": Schema.flag]),
    "WaitRequest": Schema.body([
      "timeoutSeconds": ["type": "number", "minimum": 0, "maximum": 86_400]
    ]),
    "SessionRequest": Schema.body(
      ["id": Schema.sessionID],
      optional: ["name": Schema.text, "project": Schema.text, "byAgent": Schema.flag]),
    "RenameRequest": Schema.body(["name": Schema.text]),
    "PauseRequest": Schema.body([:], optional: ["reason": Schema.text]),
    "SendRequest": Schema.body(
      ["text": Schema.prompt],
      optional: [
        "id": Schema.uuid, "priority": priority, "project": Schema.text,
        "attachments": Schema.list(Schema.reference("AttachmentRequest")),
      ]),
    "EditRequest": Schema.body(["content": Schema.prompt], optional: ["base": base]),
    "PriorityRequest": Schema.body(["priority": priority]),
    "MessagesRequest": Schema.body(["ids": names(Schema.messageName)]),
    "MoveRequest": Schema.body(
      ["ids": names(Schema.messageName)],
      optional: [
        "to": ["type": "integer", "minimum": 1], "before": Schema.messageName,
        "after": Schema.messageName,
      ]),
    "ThreadsRequest": Schema.body(["sessions": names(Schema.sessionID)]),
    "ThreadsMoveRequest": Schema.body(
      ["sessions": names(Schema.sessionID)],
      optional: [
        "to": ["type": "integer", "minimum": 1], "before": Schema.sessionID,
        "after": Schema.sessionID,
      ]),
    "ThreadMoveRequest": Schema.body(["to": ["type": "integer", "minimum": 1]]),
  ]

  private static func names(_ items: JSONValue) -> JSONValue {
    ["type": "array", "items": items, "minItems": 1, "maxItems": .integer(Limits.batchMax)]
  }

  // MARK: - Queues

  private static let messageFields: [String: JSONValue] = [
    "id": Schema.uuid, "content": Schema.text, "priority": priority, "status": status,
    "position": Schema.position, "createdAt": Schema.time, "device": Schema.nullable("string"),
  ]

  private static let queueSchemas: [String: JSONValue] = [
    "Refusal": Schema.object([
      "error": Schema.object(
        [
          "code": Schema.described(Schema.text, "Stable, for programs."),
          "message": Schema.described(Schema.text, "What happened and what to do."),
          "exitCode": Schema.described(Schema.count, "What `cospool` exits with."),
        ],
        optional: [
          "candidates": Schema.list(Schema.text), "current": Schema.reference("Current"),
        ])
    ]),
    "Current": Schema.object(
      [:],
      optional: [
        "queue": Schema.reference("Queue"), "message": Schema.reference("Message"),
        "sync": Schema.reference("Sync"), "undo": Schema.reference("Undo"),
      ]),
    "Receipt": Schema.object(
      [
        "result": Schema.choice([
          "done", "unchanged", "queued", "moved", "affected", "undone", "redone", "imported",
        ])
      ],
      optional: [
        "position": Schema.position, "count": Schema.count, "what": Schema.text,
        "outcomes": Schema.list(
          Schema.object([
            "id": Schema.uuid, "outcome": Schema.choice(["cancelled", "invoked", "unconfirmed"]),
          ])), "unconfirmed": Schema.flag,
      ]),
    "Sent": Schema.object(
      [
        "id": Schema.uuid, "session": Schema.sessionID, "status": status,
        "position": Schema.position, "count": Schema.count,
      ],
      optional: ["warning": Schema.text]),
    "Message": Schema.object(
      messageFields,
      optional: [
        "session": Schema.sessionID, "base": base, "project": Schema.text,
        "attempts": Schema.count, "lastError": Schema.text, "notBefore": Schema.time,
        "heldUntil": Schema.time,
        "attachments": Schema.list(Schema.reference("Attachment")),
      ]),
    "MessageIDs": Schema.object(["ids": Schema.list(Schema.uuid)]),
    "Queue": Schema.object(
      [
        "session": Schema.sessionID, "paused": Schema.flag,
        "pauseReasons": Schema.list(Schema.text),
        "messages": Schema.list(Schema.reference("Message")),
      ],
      optional: ["next": Schema.text, "currentError": Schema.text]),
    "Session": Schema.object(
      [
        "id": Schema.sessionID, "name": Schema.text, "project": Schema.text,
        "paused": Schema.flag, "waiting": Schema.count, "locked": Schema.flag,
      ],
      optional: ["threadPosition": Schema.position, "host": Schema.uuid]),
    "Sessions": Schema.object(
      ["sessions": Schema.list(Schema.reference("Session"))], optional: ["next": Schema.text]),
    "Thread": Schema.object(
      [
        "session": Schema.sessionID, "name": Schema.text, "project": Schema.text,
        "position": Schema.position, "queuedAt": Schema.time, "locked": Schema.flag,
      ], optional: ["awaits": Schema.choice(["approval", "answer"])]),
    "Threads": Schema.object(
      ["enabled": Schema.flag, "threads": Schema.list(Schema.reference("Thread"))],
      optional: ["next": Schema.text]),
    "ThreadVisit": Schema.object(
      ["waiting": Schema.count, "removed": Schema.flag],
      optional: ["thread": Schema.reference("Thread")]),
    "ThreadStatistics": Schema.object(
      [
        "enabled": Schema.flag, "count": Schema.count, "ready": Schema.count,
        "locked": Schema.count, "reviews": Schema.count,
      ],
      optional: [
        "oldestQueuedAt": Schema.time, "reviewSeconds": Schema.count,
        "estimateSeconds": Schema.count,
      ]),
    "Undo": Schema.object(
      ["undoCount": Schema.count, "redoCount": Schema.count],
      optional: ["undo": Schema.text, "redo": Schema.text]),
    "History": Schema.object(
      ["entries": Schema.list(Schema.reference("HistoryEntry"))],
      optional: ["next": Schema.text, "output": Schema.reference("Output")]),
    "HistoryEntry": Schema.object(
      [
        "estimated": Schema.flag, "action": Schema.text, "what": Schema.text,
        "replica": Schema.text, "first": Schema.count, "last": Schema.count,
      ],
      optional: [
        "at": Schema.time, "device": Schema.text, "session": Schema.sessionID,
        "message": Schema.uuid,
      ]),
  ]

  // MARK: - The device

  private static let deviceSchemas: [String: JSONValue] = [
    "Description": ["type": "object"],
    "Status": Schema.object([
      "daemon": Schema.object([
        "version": Schema.text, "processID": Schema.count, "dataDirectory": Schema.text,
        "socket": Schema.text, "threadQueue": Schema.flag, "queueSizeMax": Schema.count,
      ]),
      "sync": Schema.reference("Sync"),
      "queues": Schema.object([
        "sessions": Schema.count, "messages": Schema.count, "threads": Schema.count,
        "threadsReady": Schema.count, "awaited": Schema.count,
      ]),
    ]),
    "Sync": Schema.object(
      [
        "state": Schema.choice([
          "notPaired", "disabled", "connecting", "connected", "waiting", "refused",
        ]),
        "device": Schema.text, "deviceName": Schema.text, "outgoing": Schema.count,
        "synced": Schema.flag,
        "devices": Schema.list(
          Schema.object([
            "id": Schema.text, "name": Schema.text, "connected": Schema.flag,
            "seenEverything": Schema.flag,
          ])),
        "repairs": Schema.count,
      ],
      optional: [
        "server": Schema.text, "workspace": Schema.text, "lastError": Schema.text,
        "refusalCode": Schema.text, "connectedSince": Schema.milliseconds,
        "lastSyncedAt": Schema.milliseconds, "retryAfterMilliseconds": Schema.count,
      ]),
    "Synced": Schema.object(["synced": Schema.flag]),
    "Pairing": Schema.object([
      "workspace": Schema.text, "workspaceName": Schema.text, "device": Schema.text,
      "server": Schema.text,
    ]),
  ]

  // MARK: - Everything

  private static let messageExtras: [String: JSONValue] = [
    "device": Schema.nullable("string"), "project": Schema.nullable("string"),
    "attempts": ["type": ["integer", "null"], "minimum": 0],
    "lastError": Schema.nullable("string"),
    "attachments": [
      "type": ["array", "null"], "items": Schema.reference("Attachment"),
    ],
  ]

  private static let documentMessages = Schema.list(
    Schema.object(
      [
        "id": Schema.uuid, "content": Schema.text, "priority": priority,
        "createdAt": Schema.milliseconds,
      ],
      optional: messageExtras))

  private static let dumpMessages = Schema.list(
    Schema.object(
      [
        "id": Schema.uuid, "content": Schema.text, "priority": priority,
        "position": Schema.position, "createdAt": Schema.milliseconds,
      ],
      optional: messageExtras))

  private static let documentSchemas: [String: JSONValue] = [
    "Document": Schema.object([
      "format": ["const": "cospool-workspace"], "version": ["const": 1],
      "sessions": Schema.list(
        Schema.object(
          [
            "id": Schema.sessionID, "pauses": Schema.list(Schema.text), "locked": Schema.flag,
            "messages": documentMessages, "cancelled": documentMessages,
          ],
          optional: [
            "name": Schema.nullable("string"), "project": Schema.nullable("string"),
            "task": Schema.reference("Task"),
          ])),
      "threads": Schema.list(
        Schema.object(["session": Schema.sessionID, "queuedAt": Schema.milliseconds])),
    ]),
    "Imported": Schema.object([
      "sessions": Schema.count, "messages": Schema.count, "known": Schema.count,
      "threads": Schema.count, "dryRun": Schema.flag,
    ]),
    "Dump": Schema.object([
      "replicas": Schema.list(
        Schema.object(
          ["replica": Schema.text, "seq": Schema.count],
          optional: ["device": Schema.text, "deviceName": Schema.text])),
      "threads": Schema.list(
        Schema.object([
          "session": Schema.sessionID, "position": Schema.position,
          "queuedAt": Schema.milliseconds, "locked": Schema.flag,
        ])),
      "sessions": Schema.list(
        Schema.object(
          [
            "session": Schema.sessionID, "name": Schema.text, "project": Schema.text,
            "paused": Schema.flag, "pauseReasons": Schema.list(Schema.text),
            "messages": dumpMessages, "cancelled": dumpMessages,
          ], optional: ["task": Schema.reference("Task")])),
    ]),
  ]
}
