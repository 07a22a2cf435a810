import Basics
import QueueModel

extension Route {
  private static let pageParameters = [
    Route.Parameter(
      name: "limit", summary: "The most items in one answer.",
      schema: ["type": "integer", "minimum": 1, "maximum": 1000]),
    Route.Parameter(
      name: "after", summary: "The `next` of the previous answer."),
  ]

  private static let eventParameters = [
    Route.Parameter(
      name: "cursor", summary: "The id of the last event that you read."),
    Route.Parameter(
      name: "Last-Event-ID", summary: "The same; overrides the query.",
      isHeader: true),
  ]

  static let deviceRoutes = [
    Route(
      method: "GET", path: "/v1/openapi.json", id: "describe", summary: "Returns this document.",
      answer: .description),
    Route(
      method: "GET", path: "/v1/status", id: "readStatus",
      summary: "Shows the state of the daemon and of sync, and counts.",
      answer: .json(StatusAnswer.self)),
    Route(
      method: "GET", path: "/v1/metrics", id: "readMetrics",
      summary: "Returns metrics of this daemon as OpenMetrics.",
      answer: .bytes(mediaType: "application/openmetrics-text")),
    Route(
      method: "GET", path: "/v1/dump", id: "dump",
      summary: "Returns the whole workspace, which is equal on devices in sync.",
      answer: .json(WorkspaceDump.self)),
    Route(
      method: "GET", path: "/v1/events", id: "readEvents",
      summary: "Streams changes as server-sent events.", parameters: eventParameters,
      answer: .events),
    Route(
      method: "GET", path: "/events", id: "readEventsShortly",
      summary: "The same under a shorter path.", parameters: eventParameters, answer: .events),
    Route(
      method: "POST", path: "/v1/pair", id: "pair", summary: "Pairs with a server.",
      body: .fields(PairServerRequest.self, isRequired: true), answer: .json(PairingAnswer.self),
      refusals: [409, 422, 502]),
    Route(
      method: "DELETE", path: "/v1/pair", id: "unpair",
      summary: "Forgets the server; not from a browser.", answer: .json(SyncAnswer.self),
      refusals: [403, 409]),
    Route(
      method: "POST", path: "/v1/server/move", id: "moveServer",
      summary: "Follows a server to its new address; not from a browser.",
      body: .fields(MoveServerRequest.self, isRequired: true), answer: .json(PairingAnswer.self),
      refusals: [403, 409, 422, 502]),
    Route(
      method: "POST", path: "/v1/pair/code", id: "makePairingCode",
      summary: "Makes a one-time code for a new device, if the server's owner allows it.",
      body: .fields(PairingCodeRequest.self, isRequired: false), status: 201,
      answer: .json(PairingCodeAnswer.self), refusals: [409, 422, 502]),
    Route(
      method: "PUT", path: "/v1/sync", id: "switchSync",
      summary: "Turns sync on or off, even after restarts.",
      body: .fields(SyncRequest.self, isRequired: true), answer: .json(SyncAnswer.self)),
    Route(
      method: "POST", path: "/v1/sync/now", id: "syncNow", summary: "Connects now.",
      answer: .json(SyncAnswer.self), refusals: [409]),
    Route(
      method: "POST", path: "/v1/sync/probe", id: "probeSync",
      summary: "Sends the server a frame of the largest size, and waits until it returns.",
      answer: .json(ProbeAnswer.self), refusals: [409, 502]),
    Route(
      method: "POST", path: "/v1/sync/wait", id: "waitForSync",
      summary: "Answers when everything is in sync, and the files of waiting messages are sent.",
      body: .fields(WaitRequest.self, isRequired: true), answer: .json(SyncedAnswer.self),
      refusals: [409, 422, 502, 504]),
  ]

  static let sessionRoutes = [
    Route(
      method: "GET", path: "/v1/overview", id: "readOverview",
      summary: "Shows open requests, blocked queues and their reasons, running and waiting "
        + "messages, and devices that are not connected.",
      parameters: [
        Route.Parameter(
          name: "archived", summary: "`true` shows the archived sessions instead of the others.",
          schema: ["type": "string", "enum": ["true", "false"]])
      ], answer: .json(OverviewAnswer.self)),
    Route(
      method: "GET", path: "/v1/inbox", id: "readInbox",
      summary: "Lists what needs you: requests, failed, unknown and merged messages, the oldest "
        + "first; then the visible threads in their order.",
      answer: .json(InboxListAnswer.self)),
    Route(
      method: "GET", path: "/v1/queues", id: "listQueues",
      summary: "Lists the messages of all sessions, or of one: waiting, done or cancelled.",
      parameters: [
        Route.Parameter(
          name: "state", summary: "The state of the messages; default: `waiting`.",
          schema: ["type": "string", "enum": ["waiting", "done", "cancelled"]]),
        Route.Parameter(name: "session", summary: "Only messages of this session."),
      ], answer: .json(QueuesAnswer.self), refusals: [404, 422]),
    Route(
      method: "GET", path: "/v1/sessions", id: "listSessions",
      summary: "Lists all sessions, by id.",
      parameters: pageParameters + [
        Route.Parameter(
          name: "archived", summary: "Only the archived sessions, or only the others.",
          schema: ["type": "string", "enum": ["true", "false"]])
      ], answer: .json(SessionsAnswer.self), refusals: [409]),
    Route(
      method: "POST", path: "/v1/sessions", id: "addSession", summary: "Adds a session.",
      body: .fields(SessionRequest.self, isRequired: true), answer: .json(ReceiptAnswer.self),
      refusals: [409, 422]),
    Route(
      method: "GET", path: "/v1/sessions/{session}", id: "readSession",
      summary: "Shows one session.",
      answer: .json(SessionAnswer.self), refusals: [404]),
    Route(
      method: "PATCH", path: "/v1/sessions/{session}", id: "renameSession",
      summary: "Renames it.", body: .fields(RenameRequest.self, isRequired: true),
      answer: .json(ReceiptAnswer.self), refusals: [404]),
    Route(
      method: "DELETE", path: "/v1/sessions/{session}", id: "deleteSession",
      summary: "Deletes it and cancels its messages.", answer: .json(ReceiptAnswer.self),
      refusals: [404]),
    Route(
      method: "PUT", path: "/v1/sessions/{session}/archive", id: "archive",
      summary:
        "Takes it out of the lists, if nothing waits or works in it; whatever uses it brings it back.",
      answer: .json(ReceiptAnswer.self), refusals: [404, 409]),
    Route(
      method: "DELETE", path: "/v1/sessions/{session}/archive", id: "unarchive",
      summary: "Lists it again.", answer: .json(ReceiptAnswer.self), refusals: [404]),
    Route(
      method: "GET", path: "/v1/sessions/{session}/queue", id: "listQueue",
      summary: "Lists its messages in effective order.", parameters: pageParameters,
      answer: .json(QueueAnswer.self), refusals: [404, 409]),
    Route(
      method: "POST", path: "/v1/sessions/{session}/queue", id: "send",
      summary: "Queues a prompt; with an id of your own, you can repeat the request.",
      body: .fields(SendRequest.self, isRequired: true, bytesMax: Route.attachmentBodyBytesMax),
      status: 201, answer: .json(SentAnswer.self),
      refusals: [404, 409]),
    Route(
      method: "DELETE", path: "/v1/sessions/{session}/queue", id: "clearQueue",
      summary: "Cancels all its messages.", answer: .json(ReceiptAnswer.self), refusals: [404]),
    Route(
      method: "PUT", path: "/v1/sessions/{session}/pause", id: "pause",
      summary: "Pauses the queue.",
      body: .fields(PauseRequest.self, isRequired: false), answer: .json(ReceiptAnswer.self),
      refusals: [404, 409]),
    Route(
      method: "DELETE", path: "/v1/sessions/{session}/pause", id: "resume",
      summary: "Resumes the queue.", answer: .json(ReceiptAnswer.self), refusals: [404]),
  ]

  static let messageRoutes = [
    Route(
      method: "GET", path: "/v1/messages", id: "listMessages",
      summary: "Lists the ids of the waiting messages, session by session.",
      answer: .json(MessageIDsAnswer.self)),
    Route(
      method: "GET", path: "/v1/messages/unsent", id: "listUnsentMessages",
      summary: "Lists this device's latest messages that the server has not confirmed, with the "
        + "reasons.",
      answer: .json(UnsentAnswer.self)),
    Route(
      method: "GET", path: "/v1/messages/{message}", id: "readMessage",
      summary: "Shows one message, also a cancelled one, with a base for edits.",
      answer: .json(MessageAnswer.self)),
    Route(
      method: "PUT", path: "/v1/messages/{message}/content", id: "edit",
      summary: "Edits it; with a base, relative to the text that the editor showed.",
      parameters: [
        Route.Parameter(
          name: "If-Match", summary: "The base, as the `ETag` of the message gave it.",
          isHeader: true)
      ],
      body: .fields(EditRequest.self, isRequired: true), answer: .json(ReceiptAnswer.self),
      refusals: [412, 422]),
    Route(
      method: "POST", path: "/v1/messages/{message}/resolve", id: "resolve",
      summary: "Chooses one of the texts of a merged message, or the merged one, so that the "
        + "message can start.",
      body: .fields(ResolveRequest.self, isRequired: true), answer: .json(ReceiptAnswer.self),
      refusals: [412, 422]),
    Route(
      method: "PUT", path: "/v1/messages/{message}/priority", id: "setPriority",
      summary: "Makes it urgent or normal.",
      body: .fields(PriorityRequest.self, isRequired: true), answer: .json(ReceiptAnswer.self),
      refusals: [422]),
    Route(
      method: "POST", path: "/v1/messages/{message}/restore", id: "restore",
      summary: "Restores a cancelled message.", answer: .json(ReceiptAnswer.self)),
    Route(
      method: "POST", path: "/v1/messages/{message}/retry", id: "retry",
      summary: "Runs a message again that failed or has an unknown outcome.",
      answer: .json(ReceiptAnswer.self)),
    Route(
      method: "POST", path: "/v1/messages/{message}/start", id: "start",
      summary:
        "Lets a message start now that waits for a time, such as the end of a limit, or for other "
        + "messages.",
      answer: .json(ReceiptAnswer.self)),
    Route(
      method: "PUT", path: "/v1/messages/{message}/later", id: "setLater",
      summary:
        "Takes a message out of line until a time. It keeps its place; the messages behind it "
        + "may start meanwhile.",
      body: .fields(LaterRequest.self, isRequired: true), answer: .json(ReceiptAnswer.self),
      refusals: [422]),
    Route(
      method: "PUT", path: "/v1/messages/{message}/needs", id: "setNeeds",
      summary:
        "Takes a message out of line until other messages have succeeded. It keeps its place; the "
        + "messages behind it may start meanwhile.",
      body: .fields(NeedsRequest.self, isRequired: true), answer: .json(ReceiptAnswer.self),
      refusals: [422]),
    Route(
      method: "POST", path: "/v1/messages/{message}/skip", id: "skip",
      summary: "Skips a message that failed or has an unknown outcome.",
      answer: .json(ReceiptAnswer.self)),
    Route(
      method: "POST", path: "/v1/messages/cancel", id: "cancel", summary: "Cancels messages.",
      body: .fields(MessagesRequest.self, isRequired: true), answer: .json(ReceiptAnswer.self),
      refusals: [404, 409]),
    Route(
      method: "POST", path: "/v1/messages/move", id: "move",
      summary: "Moves messages to one position.",
      body: .fields(MoveRequest.self, isRequired: true), answer: .json(ReceiptAnswer.self),
      refusals: [404, 409, 422]),
  ]

  private static let projectParameter = Route.Parameter(
    name: "project", summary: "Only threads of this folder and its subfolders.")

  static let threadRoutes = [
    Route(
      method: "GET", path: "/v1/threads", id: "listThreads",
      summary: "Lists the thread queue, with locked threads.",
      parameters: pageParameters + [projectParameter], answer: .json(ThreadsAnswer.self),
      refusals: [409]),
    Route(
      method: "GET", path: "/v1/threads/statistics", id: "readThreadStatistics",
      summary:
        "Shows counts, the age of the oldest thread, and an estimate of the time that you need.",
      parameters: [projectParameter], answer: .json(ThreadStatisticsAnswer.self)),
    Route(
      method: "POST", path: "/v1/threads/next", id: "viewNextThread",
      summary: "Views the first thread that is ready.", parameters: [projectParameter],
      answer: .json(ThreadVisitAnswer.self), refusals: [409]),
    Route(
      method: "POST", path: "/v1/threads/add", id: "addThreads",
      summary: "Adds threads to the end.",
      body: .fields(ThreadsRequest.self, isRequired: true), answer: .json(ReceiptAnswer.self),
      refusals: [404, 409, 422]),
    Route(
      method: "POST", path: "/v1/threads/{session}/requeue", id: "requeueThread",
      summary: "Adds a thread to the end and locks it, as sending does.",
      answer: .json(ReceiptAnswer.self),
      refusals: [404, 409]),
    Route(
      method: "POST", path: "/v1/threads/move", id: "moveThreads",
      summary: "Moves threads together.", body: .fields(ThreadsMoveRequest.self, isRequired: true),
      answer: .json(ReceiptAnswer.self), refusals: [404, 409, 422]),
    Route(
      method: "DELETE", path: "/v1/threads", id: "clearThreads", summary: "Removes all threads.",
      answer: .json(ReceiptAnswer.self)),
    Route(
      method: "POST", path: "/v1/threads/remove", id: "removeThreads",
      summary: "Removes threads.", body: .fields(ThreadsRequest.self, isRequired: true),
      answer: .json(ReceiptAnswer.self), refusals: [404, 409, 422]),
    Route(
      method: "GET", path: "/v1/threads/{session}", id: "readThread", summary: "Shows one thread.",
      answer: .json(ThreadAnswer.self), refusals: [404]),
    Route(
      method: "POST", path: "/v1/threads/{session}/view", id: "viewThread",
      summary: "Views a thread; with autoRemoveOnView, that removes it.",
      answer: .json(ThreadVisitAnswer.self), refusals: [404, 409]),
    Route(
      method: "POST", path: "/v1/threads/{session}/move", id: "moveThread",
      summary: "Moves a thread; positions start at 1.",
      body: .fields(ThreadMoveRequest.self, isRequired: true), answer: .json(ReceiptAnswer.self),
      refusals: [404]),
    Route(
      method: "DELETE", path: "/v1/threads/{session}/lock", id: "unlockThread",
      summary: "Unlocks a thread, so that it shows again.", answer: .json(ReceiptAnswer.self),
      refusals: [404]),
  ]

  static let historyRoutes = [
    Route(
      method: "GET", path: "/v1/undo", id: "readUndo",
      summary: "Shows what undo and redo would do.",
      parameters: [
        Route.Parameter(
          name: "confirmed",
          summary: "`true` asks the server first, as undo and redo do, for at most five seconds.",
          schema: ["type": "string", "enum": ["true", "false"]])
      ],
      answer: .json(UndoAnswer.self)),
    Route(
      method: "POST", path: "/v1/undo", id: "undo",
      summary: "Undoes this device's latest change or the one that is named, or skips it.",
      body: .fields(UndoRequest.self, isRequired: false), answer: .json(ReceiptAnswer.self),
      refusals: [404, 409]),
    Route(
      method: "POST", path: "/v1/redo", id: "redo",
      summary: "Redoes what the latest undo reverted.",
      body: .fields(RedoRequest.self, isRequired: false), answer: .json(ReceiptAnswer.self),
      refusals: [404, 409]),
    Route(
      method: "GET", path: "/v1/history", id: "readHistory",
      summary: "Lists who changed what, newest first.",
      parameters: [
        Route.Parameter(name: "session", summary: "Only entries of this session."),
        Route.Parameter(name: "message", summary: "Only entries of this message."),
        Route.Parameter(
          name: "threads", summary: "true: only entries of the thread queue."),
        Route.Parameter(
          name: "limit", summary: "The most entries in one answer; default: 50.",
          schema: ["type": "integer", "minimum": 1, "maximum": 1000]),
        Route.Parameter(name: "before", summary: "The `next` of the previous answer."),
      ],
      answer: .json(HistoryAnswer.self), refusals: [404, 409, 422]),
    Route(
      method: "GET", path: "/v1/export", id: "export",
      summary: "Exports everything as one document.",
      answer: .json(WorkspaceDocument.self)),
    Route(
      method: "POST", path: "/v1/import", id: "import",
      summary: "Imports what this workspace does not have yet.",
      body: .document(WorkspaceDocument.self, bytesMax: Route.documentBytesMax),
      answer: .json(ImportedAnswer.self), refusals: [409, 422]),
    Route(
      method: "POST", path: "/v1/import/check", id: "checkImport",
      summary: "Shows what the import would add, and changes nothing.",
      body: .document(WorkspaceDocument.self, bytesMax: Route.documentBytesMax),
      answer: .json(ImportedAnswer.self), refusals: [409, 422]),
  ]
}
