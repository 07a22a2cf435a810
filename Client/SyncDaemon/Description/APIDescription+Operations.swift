import Basics
import LocalAPI
import SyncClient

extension APIDescription {
  private static let pageParameters = [
    APIOperation.Parameter(
      name: "limit", summary: "Items of one answer at most.",
      schema: ["type": "integer", "minimum": 1, "maximum": 1000]),
    APIOperation.Parameter(
      name: "after", summary: "The `next` of the answer before.", schema: Schema.text),
  ]

  private static let eventParameters = [
    APIOperation.Parameter(
      name: "cursor", summary: "The id of the last event that was read.", schema: Schema.text),
    APIOperation.Parameter(
      name: "Last-Event-ID", summary: "The same; comes before the query.", schema: Schema.text,
      isHeader: true),
  ]

  static let deviceOperations = [
    APIOperation(
      method: "GET", path: "/v1/openapi.json", id: "describe", summary: "This document.",
      answer: .json("Description")),
    APIOperation(
      method: "GET", path: "/v1/status", id: "readStatus",
      summary: "The daemon, sync, and how much there is.", answer: .json("Status")),
    APIOperation(
      method: "GET", path: "/v1/dump", id: "dump",
      summary: "The whole workspace: equal on devices in sync.", answer: .json("Dump")),
    APIOperation(
      method: "GET", path: "/v1/events", id: "readEvents",
      summary: "What happens, as server-sent events.", parameters: eventParameters,
      answer: .events),
    APIOperation(
      method: "GET", path: "/events", id: "readEventsShortly",
      summary: "The same under a shorter path.", parameters: eventParameters, answer: .events),
    APIOperation(
      method: "POST", path: "/v1/pair", id: "pair", summary: "Pairs with a server.",
      body: .fields("PairRequest", isRequired: true), answer: .json("Pairing"),
      refusals: [409, 422, 502]),
    APIOperation(
      method: "PUT", path: "/v1/sync", id: "switchSync",
      summary: "Turns sync on or off, over restarts.",
      body: .fields("SyncRequest", isRequired: true), answer: .json("Sync")),
    APIOperation(
      method: "POST", path: "/v1/sync/now", id: "syncNow", summary: "Connects at once.",
      answer: .json("Sync"), refusals: [409]),
    APIOperation(
      method: "POST", path: "/v1/sync/wait", id: "waitForSync",
      summary: "Answers when everything is in sync.",
      body: .fields("WaitRequest", isRequired: true), answer: .json("Synced"),
      refusals: [409, 422, 502, 504]),
  ]

  static let sessionOperations = [
    APIOperation(
      method: "GET", path: "/v1/sessions", id: "listSessions", summary: "All sessions, by id.",
      parameters: pageParameters, answer: .json("Sessions"), refusals: [409]),
    APIOperation(
      method: "POST", path: "/v1/sessions", id: "addSession", summary: "Makes a session known.",
      body: .fields("SessionRequest", isRequired: true), answer: .json("Receipt"),
      refusals: [409, 422]),
    APIOperation(
      method: "GET", path: "/v1/sessions/{session}", id: "readSession", summary: "One session.",
      answer: .json("Session"), refusals: [404]),
    APIOperation(
      method: "PATCH", path: "/v1/sessions/{session}", id: "renameSession",
      summary: "Renames it.", body: .fields("RenameRequest", isRequired: true),
      answer: .json("Receipt"), refusals: [404]),
    APIOperation(
      method: "DELETE", path: "/v1/sessions/{session}", id: "deleteSession",
      summary: "Deletes it and cancels its messages.", answer: .json("Receipt"),
      refusals: [404]),
    APIOperation(
      method: "GET", path: "/v1/sessions/{session}/queue", id: "listQueue",
      summary: "Its messages in effective order.", parameters: pageParameters,
      answer: .json("Queue"), refusals: [404, 409]),
    APIOperation(
      method: "POST", path: "/v1/sessions/{session}/queue", id: "send",
      summary: "Queues a prompt; with an id of one's own it may be sent again.",
      body: .fields(
        "SendRequest", isRequired: true, bytesMax: APIHandlers.attachmentBodyBytesMax),
      status: 201, answer: .json("Sent"),
      refusals: [409]),
    APIOperation(
      method: "DELETE", path: "/v1/sessions/{session}/queue", id: "clearQueue",
      summary: "Cancels all its messages.", answer: .json("Receipt"), refusals: [404]),
    APIOperation(
      method: "PUT", path: "/v1/sessions/{session}/pause", id: "pause", summary: "Pauses it.",
      body: .fields("PauseRequest", isRequired: false), answer: .json("Receipt"),
      refusals: [404, 409]),
    APIOperation(
      method: "DELETE", path: "/v1/sessions/{session}/pause", id: "resume",
      summary: "Resumes it.", answer: .json("Receipt"), refusals: [404]),
  ]

  static let messageOperations = [
    APIOperation(
      method: "GET", path: "/v1/messages", id: "listMessages",
      summary: "The ids of the messages that stand in a queue, session by session.",
      answer: .json("MessageIDs")),
    APIOperation(
      method: "GET", path: "/v1/messages/{message}", id: "readMessage",
      summary: "One message, cancelled ones too, with a base to edit it against.",
      answer: .json("Message")),
    APIOperation(
      method: "PUT", path: "/v1/messages/{message}/content", id: "edit",
      summary: "Edits it; with a base, against the text that the editor saw.",
      parameters: [
        APIOperation.Parameter(
          name: "If-Match", summary: "The base, as the `ETag` of the message gave it.",
          isHeader: true)
      ],
      body: .fields("EditRequest", isRequired: true), answer: .json("Receipt"),
      refusals: [412, 422]),
    APIOperation(
      method: "PUT", path: "/v1/messages/{message}/priority", id: "setPriority",
      summary: "Makes it urgent or normal.",
      body: .fields("PriorityRequest", isRequired: true), answer: .json("Receipt"),
      refusals: [422]),
    APIOperation(
      method: "POST", path: "/v1/messages/{message}/restore", id: "restore",
      summary: "Brings a cancelled one back.", answer: .json("Receipt")),
    APIOperation(
      method: "POST", path: "/v1/messages/{message}/retry", id: "retry",
      summary: "Has one that failed, or whose end nobody knows, tried again.",
      answer: .json("Receipt")),
    APIOperation(
      method: "POST", path: "/v1/messages/{message}/skip", id: "skip",
      summary: "Takes one that failed, or whose end nobody knows, out of the queue.",
      answer: .json("Receipt")),
    APIOperation(
      method: "POST", path: "/v1/messages/cancel", id: "cancel", summary: "Cancels messages.",
      body: .fields("MessagesRequest", isRequired: true), answer: .json("Receipt"),
      refusals: [404, 409]),
    APIOperation(
      method: "POST", path: "/v1/messages/move", id: "move",
      summary: "Moves messages to one place.",
      body: .fields("MoveRequest", isRequired: true), answer: .json("Receipt"),
      refusals: [404, 409, 422]),
  ]

  private static let projectParameter = APIOperation.Parameter(
    name: "project", summary: "Only threads of this folder and those below it.")

  static let threadOperations = [
    APIOperation(
      method: "GET", path: "/v1/threads", id: "listThreads",
      summary: "The thread queue, locked threads too.",
      parameters: pageParameters + [projectParameter], answer: .json("Threads"), refusals: [409]),
    APIOperation(
      method: "GET", path: "/v1/threads/statistics", id: "readThreadStatistics",
      summary: "Counts, the age of the oldest, and how long they will take.",
      parameters: [projectParameter], answer: .json("ThreadStatistics")),
    APIOperation(
      method: "POST", path: "/v1/threads/next", id: "viewNextThread",
      summary: "Looks at the first that is ready.", parameters: [projectParameter],
      answer: .json("ThreadVisit"), refusals: [409]),
    APIOperation(
      method: "POST", path: "/v1/threads/add", id: "addThreads", summary: "Puts them at the end.",
      body: .fields("ThreadsRequest", isRequired: true), answer: .json("Receipt"),
      refusals: [404, 409, 422]),
    APIOperation(
      method: "POST", path: "/v1/threads/{session}/requeue", id: "requeueThread",
      summary: "Puts one at the end and locks it, as a send does.", answer: .json("Receipt"),
      refusals: [404, 409]),
    APIOperation(
      method: "POST", path: "/v1/threads/move", id: "moveThreads",
      summary: "Moves threads together.", body: .fields("ThreadsMoveRequest", isRequired: true),
      answer: .json("Receipt"), refusals: [404, 409, 422]),
    APIOperation(
      method: "DELETE", path: "/v1/threads", id: "clearThreads", summary: "Empties it.",
      answer: .json("Receipt")),
    APIOperation(
      method: "POST", path: "/v1/threads/remove", id: "removeThreads",
      summary: "Takes threads out.", body: .fields("ThreadsRequest", isRequired: true),
      answer: .json("Receipt"), refusals: [404, 409, 422]),
    APIOperation(
      method: "GET", path: "/v1/threads/{session}", id: "readThread", summary: "One thread.",
      answer: .json("Thread"), refusals: [404]),
    APIOperation(
      method: "POST", path: "/v1/threads/{session}/view", id: "viewThread",
      summary: "Looks at one; with autoRemoveOnView that takes it out.",
      answer: .json("ThreadVisit"), refusals: [404, 409]),
    APIOperation(
      method: "POST", path: "/v1/threads/{session}/move", id: "moveThread",
      summary: "Moves one, positions from 1.",
      body: .fields("ThreadMoveRequest", isRequired: true), answer: .json("Receipt"),
      refusals: [404]),
    APIOperation(
      method: "DELETE", path: "/v1/threads/{session}/lock", id: "unlockThread",
      summary: "Shows a thread again whose lock stayed.", answer: .json("Receipt"),
      refusals: [404]),
  ]

  static let historyOperations = [
    APIOperation(
      method: "GET", path: "/v1/undo", id: "readUndo", summary: "What undo and redo would do.",
      answer: .json("Undo")),
    APIOperation(
      method: "POST", path: "/v1/undo", id: "undo",
      summary: "Takes this device's latest change back.", answer: .json("Receipt"),
      refusals: [404, 409]),
    APIOperation(
      method: "POST", path: "/v1/redo", id: "redo", summary: "Does it again.",
      answer: .json("Receipt"), refusals: [404, 409]),
    APIOperation(
      method: "GET", path: "/v1/history", id: "readHistory",
      summary: "Who changed what, the newest first.",
      parameters: [
        APIOperation.Parameter(name: "session", summary: "Of one session."),
        APIOperation.Parameter(name: "message", summary: "Of one message."),
        APIOperation.Parameter(
          name: "threads", summary: "true: of the thread queue alone."),
        APIOperation.Parameter(
          name: "limit", summary: "Entries at most, 50 where nothing is said.",
          schema: ["type": "integer", "minimum": 1, "maximum": 1000]),
        APIOperation.Parameter(name: "before", summary: "The `next` of the answer before."),
      ],
      answer: .json("History"), refusals: [404, 409, 422]),
    APIOperation(
      method: "GET", path: "/v1/export", id: "export", summary: "Everything as one document.",
      answer: .json("Document")),
    APIOperation(
      method: "POST", path: "/v1/import", id: "import", summary: "Brings in what is missing.",
      body: .document("Document", bytesMax: QueueClient.documentBytesMax),
      answer: .json("Imported"), refusals: [409, 422]),
    APIOperation(
      method: "POST", path: "/v1/import/check", id: "checkImport",
      summary: "Says what would come.",
      body: .document("Document", bytesMax: QueueClient.documentBytesMax),
      answer: .json("Imported"), refusals: [409, 422]),
  ]
}
