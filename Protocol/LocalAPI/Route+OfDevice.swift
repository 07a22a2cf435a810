import Basics

/// Settings, activity, drafts, attachments and queue files.
extension Route {
  static let settingsRoutes = [
    Route(
      method: "GET", path: "/v1/settings", id: "listSettings",
      summary: "What this device is set to, and where that comes from.",
      answer: .json(SettingsAnswer.self)),
    Route(
      method: "GET", path: "/v1/settings/{setting}", id: "readSetting", summary: "One setting.",
      answer: .json(SettingAnswer.self), refusals: [404]),
    Route(
      method: "PUT", path: "/v1/settings/{setting}", id: "setSetting",
      summary: "Sets it in config.json.", body: .fields(SettingRequest.self, isRequired: true),
      answer: .json(SettingAnswer.self), refusals: [404, 422]),
    Route(
      method: "DELETE", path: "/v1/settings/{setting}", id: "unsetSetting",
      summary: "Takes it out of config.json.", answer: .json(SettingAnswer.self),
      refusals: [404, 422]),
    Route(
      method: "POST", path: "/v1/settings/check", id: "checkSettings",
      summary: "Says what is wrong with a file of settings, or with config.json.",
      body: .bytes(mediaType: "application/json", bytesMax: Route.bodyBytesMax),
      answer: .json(SettingsCheckAnswer.self)),
    Route(
      method: "POST", path: "/v1/settings/reload", id: "reloadSettings",
      summary: "Takes over what was written to config.json by hand.",
      answer: .json(SettingsAnswer.self),
      refusals: [422]),
  ]

  static let activityRoutes = [
    Route(
      method: "GET", path: "/v1/activity", id: "listActivity",
      summary: "The sessions whose agents are busy, or failed.",
      answer: .json(ActivitiesAnswer.self)),
    Route(
      method: "GET", path: "/v1/sessions/{session}/activity", id: "readActivity",
      summary: "Whether its agent is busy, and the error that stands.",
      answer: .json(ActivityAnswer.self), refusals: [404]),
    Route(
      method: "POST", path: "/v1/sessions/{session}/signals", id: "signal",
      summary: "Says what its agent does.", body: .fields(SignalRequest.self, isRequired: true),
      answer: .json(ActivityAnswer.self), refusals: [404, 409]),
  ]

  static let editorParameters = [
    Route.Parameter(
      name: "editing",
      summary: "`true` while a person edits the text: then it is no change that undo knows of.",
      schema: ["type": "string", "enum": ["true", "false"]])
  ]

  static let draftRoutes = [
    Route(
      method: "GET", path: "/v1/drafts", id: "listDrafts",
      summary: "What was begun and not sent on this device.", answer: .json(DraftsAnswer.self)),
    Route(
      method: "GET", path: "/v1/sessions/{session}/draft", id: "readDraft",
      summary: "A session's draft.", answer: .json(DraftAnswer.self), refusals: [404]),
    Route(
      method: "PUT", path: "/v1/sessions/{session}/draft", id: "keepDraft",
      summary: "Keeps a text as the draft; an empty one removes it.", parameters: editorParameters,
      body: .fields(DraftRequest.self, isRequired: true), answer: .json(DraftAnswer.self),
      refusals: [409]),
    Route(
      method: "DELETE", path: "/v1/sessions/{session}/draft", id: "clearDraft",
      summary: "Removes it.", parameters: editorParameters, answer: .json(DraftAnswer.self)),
    Route(
      method: "POST", path: "/v1/sessions/{session}/draft/send", id: "sendDraft",
      summary: "Queues it, which ends it.", body: .fields(DraftSendRequest.self, isRequired: false),
      status: 201, answer: .json(SentAnswer.self), refusals: [404, 409]),
  ]

  static let attachmentRoutes = [
    Route(
      method: "GET", path: "/v1/messages/{message}/attachments", id: "listAttachments",
      summary: "The files of a message, and whether they are here.",
      answer: .json(AttachmentsAnswer.self)),
    Route(
      method: "POST", path: "/v1/messages/{message}/attachments", id: "attach",
      summary: "Attaches a file.",
      body: .fields(
        AttachmentRequest.self, isRequired: true, bytesMax: Route.attachmentBodyBytesMax),
      status: 201,
      answer: .json(AttachedAnswer.self), refusals: [422]),
    Route(
      method: "GET", path: "/v1/messages/{message}/attachments/{attachment}", id: "readAttachment",
      summary: "Its bytes, from the server where they are not here.",
      answer: .bytes(mediaType: "application/octet-stream"), refusals: [502]),
    Route(
      method: "DELETE", path: "/v1/messages/{message}/attachments/{attachment}", id: "detach",
      summary: "Takes it from the message.", answer: .json(ReceiptAnswer.self)),
  ]

  static let queueFileRoutes = [
    Route(
      method: "GET", path: "/v1/sessions/{session}/queue/file", id: "exportQueueFile",
      summary: "Its queue as queue-SESSION.json.", answer: .json(QueueFileDocument.self),
      refusals: [404, 409, 502]),
    Route(
      method: "POST", path: "/v1/queue-files", id: "importQueueFile",
      summary: "Brings in the messages of a queue file: the object or the bare list.",
      parameters: [
        Route.Parameter(name: "session", summary: "Where they go."),
        Route.Parameter(
          name: "dryRun", summary: "Only says what would come.",
          schema: ["type": "string", "enum": ["true", "false"]]),
      ],
      body: .document(QueueFileDocument.self, bytesMax: Route.documentBytesMax),
      answer: .json(ImportedAnswer.self), refusals: [409, 422]),
  ]
}
