import Basics

/// Settings, activity, drafts, attachments and queue files.
extension Route {
  static let settingsRoutes = [
    Route(
      method: "GET", path: "/v1/settings", id: "listSettings",
      summary: "Lists the settings of this device, and their sources.",
      answer: .json(SettingsAnswer.self)),
    Route(
      method: "GET", path: "/v1/settings/{setting}", id: "readSetting",
      summary: "Shows one setting.",
      answer: .json(SettingAnswer.self), refusals: [404]),
    Route(
      method: "PUT", path: "/v1/settings/{setting}", id: "setSetting",
      summary: "Sets it in config.json.", body: .fields(SettingRequest.self, isRequired: true),
      answer: .json(SettingAnswer.self), refusals: [404, 422]),
    Route(
      method: "DELETE", path: "/v1/settings/{setting}", id: "unsetSetting",
      summary: "Removes it from config.json.", answer: .json(SettingAnswer.self),
      refusals: [404, 422]),
    Route(
      method: "POST", path: "/v1/settings/check", id: "checkSettings",
      summary: "Checks a settings file, or config.json, and lists its errors.",
      body: .bytes(mediaType: "application/json", bytesMax: Route.bodyBytesMax),
      answer: .json(SettingsCheckAnswer.self)),
    Route(
      method: "POST", path: "/v1/settings/reload", id: "reloadSettings",
      summary: "Applies changes that were made to config.json by hand.",
      answer: .json(SettingsAnswer.self),
      refusals: [422]),
  ]

  static let activityRoutes = [
    Route(
      method: "GET", path: "/v1/activity", id: "listActivity",
      summary: "Lists the sessions with agents that are busy or have failed.",
      answer: .json(ActivitiesAnswer.self)),
    Route(
      method: "GET", path: "/v1/sessions/{session}/activity", id: "readActivity",
      summary: "Shows whether its agent is busy, and its current error.",
      answer: .json(ActivityAnswer.self), refusals: [404]),
    Route(
      method: "POST", path: "/v1/sessions/{session}/signals", id: "signal",
      summary: "Reports what its agent does.", body: .fields(SignalRequest.self, isRequired: true),
      answer: .json(ActivityAnswer.self), refusals: [404, 409]),
  ]

  static let editorParameters = [
    Route.Parameter(
      name: "editing",
      summary: "`true` while the user is typing: undo then does not record the change.",
      schema: ["type": "string", "enum": ["true", "false"]])
  ]

  static let draftRoutes = [
    Route(
      method: "GET", path: "/v1/drafts", id: "listDrafts",
      summary: "Lists the drafts on this device.", answer: .json(DraftsAnswer.self)),
    Route(
      method: "GET", path: "/v1/sessions/{session}/draft", id: "readDraft",
      summary: "Shows a session's draft.", answer: .json(DraftAnswer.self), refusals: [404]),
    Route(
      method: "PUT", path: "/v1/sessions/{session}/draft", id: "keepDraft",
      summary: "Saves a text as the draft; an empty text removes it.", parameters: editorParameters,
      body: .fields(DraftRequest.self, isRequired: true), answer: .json(DraftAnswer.self),
      refusals: [409]),
    Route(
      method: "DELETE", path: "/v1/sessions/{session}/draft", id: "clearDraft",
      summary: "Removes the draft.", parameters: editorParameters, answer: .json(DraftAnswer.self)),
    Route(
      method: "POST", path: "/v1/sessions/{session}/draft/send", id: "sendDraft",
      summary: "Queues the draft, and removes it.",
      body: .fields(DraftSendRequest.self, isRequired: false),
      status: 201, answer: .json(SentAnswer.self), refusals: [404, 409]),
  ]

  static let attachmentRoutes = [
    Route(
      method: "GET", path: "/v1/messages/{message}/attachments", id: "listAttachments",
      summary: "Lists the files of a message, and whether they are on this device.",
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
      summary: "Returns the file's bytes, from the server if they are not on this device.",
      answer: .bytes(mediaType: "application/octet-stream"), refusals: [502]),
    Route(
      method: "DELETE", path: "/v1/messages/{message}/attachments/{attachment}", id: "detach",
      summary: "Removes the file from the message.", answer: .json(ReceiptAnswer.self)),
  ]

  static let queueFileRoutes = [
    Route(
      method: "GET", path: "/v1/sessions/{session}/queue/file", id: "exportQueueFile",
      summary: "Exports its queue as queue-SESSION.json.", answer: .json(QueueFileDocument.self),
      refusals: [404, 409, 502]),
    Route(
      method: "POST", path: "/v1/queue-files", id: "importQueueFile",
      summary: "Imports the messages of a queue file: the object or the bare list.",
      parameters: [
        Route.Parameter(name: "session", summary: "The session to import into."),
        Route.Parameter(
          name: "dryRun", summary: "Shows what an import would add, and changes nothing.",
          schema: ["type": "string", "enum": ["true", "false"]]),
      ],
      body: .document(QueueFileDocument.self, bytesMax: Route.documentBytesMax),
      answer: .json(ImportedAnswer.self), refusals: [409, 422]),
  ]
}
