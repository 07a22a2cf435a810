import Basics
import QueueModel

extension Route {
  private static let pageParameters = [
    Route.Parameter(
      name: "limit", summary: "Items of one answer at most.",
      schema: ["type": "integer", "minimum": 1, "maximum": 1000]),
    Route.Parameter(
      name: "after", summary: "The `next` of the answer before."),
  ]

  private static let eventParameters = [
    Route.Parameter(
      name: "cursor", summary: "The id of the last event that was read."),
    Route.Parameter(
      name: "Last-Event-ID", summary: "The same; comes before the query.",
      isHeader: true),
  ]

  static let deviceRoutes = [
    Route(
      method: "GET", path: "/v1/openapi.json", id: "describe", summary: "This document.",
      answer: .description),
    Route(
      method: "GET", path: "/v1/status", id: "readStatus",
      summary: "The daemon, sync, and how much there is.", answer: .json(StatusAnswer.self)),
    Route(
      method: "GET", path: "/v1/metrics", id: "readMetrics",
      summary: "Numbers of this daemon as OpenMetrics.",
      answer: .bytes(mediaType: "application/openmetrics-text")),
    Route(
      method: "GET", path: "/v1/dump", id: "dump",
      summary: "The whole workspace: equal on devices in sync.", answer: .json(WorkspaceDump.self)),
    Route(
      method: "GET", path: "/v1/events", id: "readEvents",
      summary: "What happens, as server-sent events.", parameters: eventParameters,
      answer: .events),
    Route(
      method: "GET", path: "/events", id: "readEventsShortly",
      summary: "The same under a shorter path.", parameters: eventParameters, answer: .events),
    Route(
      method: "POST", path: "/v1/pair", id: "pair", summary: "Pairs with a server.",
      body: .fields(PairServerRequest.self, isRequired: true), answer: .json(PairingResult.self),
      refusals: [409, 422, 502]),
    Route(
      method: "DELETE", path: "/v1/pair", id: "unpair",
      summary: "Forgets the server; not from a browser.", answer: .json(SyncStatus.self),
      refusals: [403, 409]),
    Route(
      method: "POST", path: "/v1/server/move", id: "moveServer",
      summary: "Follows a server that has another address; not from a browser.",
      body: .fields(MoveServerRequest.self, isRequired: true), answer: .json(PairingResult.self),
      refusals: [403, 409, 422, 502]),
    Route(
      method: "POST", path: "/v1/pair/code", id: "makePairingCode",
      summary: "Makes a one-time code for a new device, where the server's owner allows it.",
      body: .fields(PairingCodeRequest.self, isRequired: false), status: 201,
      answer: .json(PairingCodeAnswer.self), refusals: [409, 422, 502]),
    Route(
      method: "PUT", path: "/v1/sync", id: "switchSync",
      summary: "Turns sync on or off, over restarts.",
      body: .fields(SyncRequest.self, isRequired: true), answer: .json(SyncStatus.self)),
    Route(
      method: "POST", path: "/v1/sync/now", id: "syncNow", summary: "Connects at once.",
      answer: .json(SyncStatus.self), refusals: [409]),
    Route(
      method: "POST", path: "/v1/sync/probe", id: "probeSync",
      summary: "Sends the server a frame of the greatest size, and has it back.",
      answer: .json(ProbeAnswer.self), refusals: [409, 502]),
    Route(
      method: "POST", path: "/v1/sync/wait", id: "waitForSync",
      summary: "Answers when everything is in sync.",
      body: .fields(WaitRequest.self, isRequired: true), answer: .json(SyncedAnswer.self),
      refusals: [409, 422, 502, 504]),
  ]

  static let sessionRoutes = [
    Route(
      method: "GET", path: "/v1/overview", id: "readOverview",
      summary: "What asks, what stands still and why, what runs where, what waits, who is away.",
      answer: .json(OverviewAnswer.self)),
    Route(
      method: "GET", path: "/v1/queues", id: "listQueues",
      summary: "The messages of all sessions, or of one: those that wait, or those that are over.",
      parameters: [
        Route.Parameter(
          name: "state", summary: "Which messages; `waiting` where it is left out.",
          schema: ["type": "string", "enum": ["waiting", "done", "cancelled"]]),
        Route.Parameter(name: "session", summary: "Of this session alone."),
      ], answer: .json(QueuesAnswer.self), refusals: [404, 422]),
    Route(
      method: "GET", path: "/v1/sessions", id: "listSessions", summary: "All sessions, by id.",
      parameters: pageParameters, answer: .json(SessionsAnswer.self), refusals: [409]),
    Route(
      method: "POST", path: "/v1/sessions", id: "addSession", summary: "Makes a session known.",
      body: .fields(SessionRequest.self, isRequired: true), answer: .json(ReceiptAnswer.self),
      refusals: [409, 422]),
    Route(
      method: "GET", path: "/v1/sessions/{session}", id: "readSession", summary: "One session.",
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
      method: "GET", path: "/v1/sessions/{session}/queue", id: "listQueue",
      summary: "Its messages in effective order.", parameters: pageParameters,
      answer: .json(QueueAnswer.self), refusals: [404, 409]),
    Route(
      method: "POST", path: "/v1/sessions/{session}/queue", id: "send",
      summary: "Queues a prompt; with an id of one's own it may be sent again.",
      body: .fields(SendRequest.self, isRequired: true, bytesMax: Route.attachmentBodyBytesMax),
      status: 201, answer: .json(SentAnswer.self),
      refusals: [409]),
    Route(
      method: "DELETE", path: "/v1/sessions/{session}/queue", id: "clearQueue",
      summary: "Cancels all its messages.", answer: .json(ReceiptAnswer.self), refusals: [404]),
    Route(
      method: "PUT", path: "/v1/sessions/{session}/pause", id: "pause", summary: "Pauses it.",
      body: .fields(PauseRequest.self, isRequired: false), answer: .json(ReceiptAnswer.self),
      refusals: [404, 409]),
    Route(
      method: "DELETE", path: "/v1/sessions/{session}/pause", id: "resume",
      summary: "Resumes it.", answer: .json(ReceiptAnswer.self), refusals: [404]),
  ]

  static let messageRoutes = [
    Route(
      method: "GET", path: "/v1/messages", id: "listMessages",
      summary: "The ids of the messages that stand in a queue, session by session.",
      answer: .json(MessageIDsAnswer.self)),
    Route(
      method: "GET", path: "/v1/messages/unsent", id: "listUnsentMessages",
      summary: "This device's latest messages that the server is not known to have, and why.",
      answer: .json(UnsentAnswer.self)),
    Route(
      method: "GET", path: "/v1/messages/{message}", id: "readMessage",
      summary: "One message, cancelled ones too, with a base to edit it against.",
      answer: .json(MessageAnswer.self)),
    Route(
      method: "PUT", path: "/v1/messages/{message}/content", id: "edit",
      summary: "Edits it; with a base, against the text that the editor saw.",
      parameters: [
        Route.Parameter(
          name: "If-Match", summary: "The base, as the `ETag` of the message gave it.",
          isHeader: true)
      ],
      body: .fields(EditRequest.self, isRequired: true), answer: .json(ReceiptAnswer.self),
      refusals: [412, 422]),
    Route(
      method: "POST", path: "/v1/messages/{message}/resolve", id: "resolve",
      summary: "Takes one of the texts of a merged message, or the merged one, so that it goes on.",
      body: .fields(ResolveRequest.self, isRequired: true), answer: .json(ReceiptAnswer.self),
      refusals: [412, 422]),
    Route(
      method: "PUT", path: "/v1/messages/{message}/priority", id: "setPriority",
      summary: "Makes it urgent or normal.",
      body: .fields(PriorityRequest.self, isRequired: true), answer: .json(ReceiptAnswer.self),
      refusals: [422]),
    Route(
      method: "POST", path: "/v1/messages/{message}/restore", id: "restore",
      summary: "Brings a cancelled one back.", answer: .json(ReceiptAnswer.self)),
    Route(
      method: "POST", path: "/v1/messages/{message}/retry", id: "retry",
      summary: "Has one that failed, or whose end nobody knows, tried again.",
      answer: .json(ReceiptAnswer.self)),
    Route(
      method: "POST", path: "/v1/messages/{message}/skip", id: "skip",
      summary: "Takes one that failed, or whose end nobody knows, out of the queue.",
      answer: .json(ReceiptAnswer.self)),
    Route(
      method: "POST", path: "/v1/messages/cancel", id: "cancel", summary: "Cancels messages.",
      body: .fields(MessagesRequest.self, isRequired: true), answer: .json(ReceiptAnswer.self),
      refusals: [404, 409]),
    Route(
      method: "POST", path: "/v1/messages/move", id: "move",
      summary: "Moves messages to one place.",
      body: .fields(MoveRequest.self, isRequired: true), answer: .json(ReceiptAnswer.self),
      refusals: [404, 409, 422]),
  ]

  private static let projectParameter = Route.Parameter(
    name: "project", summary: "Only threads of this folder and those below it.")

  static let threadRoutes = [
    Route(
      method: "GET", path: "/v1/threads", id: "listThreads",
      summary: "The thread queue, locked threads too.",
      parameters: pageParameters + [projectParameter], answer: .json(ThreadsAnswer.self),
      refusals: [409]),
    Route(
      method: "GET", path: "/v1/threads/statistics", id: "readThreadStatistics",
      summary: "Counts, the age of the oldest, and how long they will take.",
      parameters: [projectParameter], answer: .json(ThreadStatisticsAnswer.self)),
    Route(
      method: "POST", path: "/v1/threads/next", id: "viewNextThread",
      summary: "Looks at the first that is ready.", parameters: [projectParameter],
      answer: .json(ThreadVisitAnswer.self), refusals: [409]),
    Route(
      method: "POST", path: "/v1/threads/add", id: "addThreads", summary: "Puts them at the end.",
      body: .fields(ThreadsRequest.self, isRequired: true), answer: .json(ReceiptAnswer.self),
      refusals: [404, 409, 422]),
    Route(
      method: "POST", path: "/v1/threads/{session}/requeue", id: "requeueThread",
      summary: "Puts one at the end and locks it, as a send does.",
      answer: .json(ReceiptAnswer.self),
      refusals: [404, 409]),
    Route(
      method: "POST", path: "/v1/threads/move", id: "moveThreads",
      summary: "Moves threads together.", body: .fields(ThreadsMoveRequest.self, isRequired: true),
      answer: .json(ReceiptAnswer.self), refusals: [404, 409, 422]),
    Route(
      method: "DELETE", path: "/v1/threads", id: "clearThreads", summary: "Empties it.",
      answer: .json(ReceiptAnswer.self)),
    Route(
      method: "POST", path: "/v1/threads/remove", id: "removeThreads",
      summary: "Takes threads out.", body: .fields(ThreadsRequest.self, isRequired: true),
      answer: .json(ReceiptAnswer.self), refusals: [404, 409, 422]),
    Route(
      method: "GET", path: "/v1/threads/{session}", id: "readThread", summary: "One thread.",
      answer: .json(ThreadAnswer.self), refusals: [404]),
    Route(
      method: "POST", path: "/v1/threads/{session}/view", id: "viewThread",
      summary: "Looks at one; with autoRemoveOnView that takes it out.",
      answer: .json(ThreadVisitAnswer.self), refusals: [404, 409]),
    Route(
      method: "POST", path: "/v1/threads/{session}/move", id: "moveThread",
      summary: "Moves one, positions from 1.",
      body: .fields(ThreadMoveRequest.self, isRequired: true), answer: .json(ReceiptAnswer.self),
      refusals: [404]),
    Route(
      method: "DELETE", path: "/v1/threads/{session}/lock", id: "unlockThread",
      summary: "Shows a thread again whose lock stayed.", answer: .json(ReceiptAnswer.self),
      refusals: [404]),
  ]

  static let historyRoutes = [
    Route(
      method: "GET", path: "/v1/undo", id: "readUndo", summary: "What undo and redo would do.",
      answer: .json(UndoAnswer.self)),
    Route(
      method: "POST", path: "/v1/undo", id: "undo",
      summary: "Takes this device's latest change back, or one that is named, or forgets it.",
      body: .fields(UndoRequest.self, isRequired: false), answer: .json(ReceiptAnswer.self),
      refusals: [404, 409]),
    Route(
      method: "POST", path: "/v1/redo", id: "redo", summary: "Does it again.",
      body: .fields(RedoRequest.self, isRequired: false), answer: .json(ReceiptAnswer.self),
      refusals: [404, 409]),
    Route(
      method: "GET", path: "/v1/history", id: "readHistory",
      summary: "Who changed what, the newest first.",
      parameters: [
        Route.Parameter(name: "session", summary: "Of one session."),
        Route.Parameter(name: "message", summary: "Of one message."),
        Route.Parameter(
          name: "threads", summary: "true: of the thread queue alone."),
        Route.Parameter(
          name: "limit", summary: "Entries at most, 50 where nothing is said.",
          schema: ["type": "integer", "minimum": 1, "maximum": 1000]),
        Route.Parameter(name: "before", summary: "The `next` of the answer before."),
      ],
      answer: .json(HistoryAnswer.self), refusals: [404, 409, 422]),
    Route(
      method: "GET", path: "/v1/export", id: "export", summary: "Everything as one document.",
      answer: .json(WorkspaceDocument.self)),
    Route(
      method: "POST", path: "/v1/import", id: "import", summary: "Brings in what is missing.",
      body: .document(WorkspaceDocument.self, bytesMax: Route.documentBytesMax),
      answer: .json(ImportedAnswer.self), refusals: [409, 422]),
    Route(
      method: "POST", path: "/v1/import/check", id: "checkImport",
      summary: "Says what would come.",
      body: .document(WorkspaceDocument.self, bytesMax: Route.documentBytesMax),
      answer: .json(ImportedAnswer.self), refusals: [409, 422]),
  ]
}
