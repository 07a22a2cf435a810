import Basics
import LocalAPI
import QueueModel
import SyncClient

/// Settings, activity, drafts, attachments and queue files.
extension APIDescription {
  static let settingsOperations = [
    APIOperation(
      method: "GET", path: "/v1/settings", id: "listSettings",
      summary: "What this device is set to, and where that comes from.", answer: .json("Settings")),
    APIOperation(
      method: "GET", path: "/v1/settings/{setting}", id: "readSetting", summary: "One setting.",
      answer: .json("Setting"), refusals: [404]),
    APIOperation(
      method: "PUT", path: "/v1/settings/{setting}", id: "setSetting",
      summary: "Sets it in config.json.", body: .fields("SettingRequest", isRequired: true),
      answer: .json("Setting"), refusals: [404, 422]),
    APIOperation(
      method: "DELETE", path: "/v1/settings/{setting}", id: "unsetSetting",
      summary: "Takes it out of config.json.", answer: .json("Setting"), refusals: [404, 422]),
    APIOperation(
      method: "POST", path: "/v1/settings/check", id: "checkSettings",
      summary: "Says what is wrong with a file of settings, or with config.json.",
      body: .bytes(mediaType: "application/json", bytesMax: APIHandlers.bodyBytesMax),
      answer: .json("SettingsCheck")),
    APIOperation(
      method: "POST", path: "/v1/settings/reload", id: "reloadSettings",
      summary: "Takes over what was written to config.json by hand.", answer: .json("Settings"),
      refusals: [422]),
  ]

  static let activityOperations = [
    APIOperation(
      method: "GET", path: "/v1/activity", id: "listActivity",
      summary: "The sessions whose agents are busy, or failed.", answer: .json("Activities")),
    APIOperation(
      method: "GET", path: "/v1/sessions/{session}/activity", id: "readActivity",
      summary: "Whether its agent is busy, and the error that stands.",
      answer: .json("Activity"), refusals: [404]),
    APIOperation(
      method: "POST", path: "/v1/sessions/{session}/signals", id: "signal",
      summary: "Says what its agent does.", body: .fields("SignalRequest", isRequired: true),
      answer: .json("Activity"), refusals: [404, 409]),
  ]

  static let draftOperations = [
    APIOperation(
      method: "GET", path: "/v1/drafts", id: "listDrafts",
      summary: "What was begun and not sent on this device.", answer: .json("Drafts")),
    APIOperation(
      method: "GET", path: "/v1/sessions/{session}/draft", id: "readDraft",
      summary: "A session's draft.", answer: .json("Draft"), refusals: [404]),
    APIOperation(
      method: "PUT", path: "/v1/sessions/{session}/draft", id: "keepDraft",
      summary: "Keeps a text as the draft; an empty one removes it.",
      body: .fields("DraftRequest", isRequired: true), answer: .json("Draft"), refusals: [409]),
    APIOperation(
      method: "DELETE", path: "/v1/sessions/{session}/draft", id: "clearDraft",
      summary: "Removes it.", answer: .json("Draft")),
    APIOperation(
      method: "POST", path: "/v1/sessions/{session}/draft/send", id: "sendDraft",
      summary: "Queues it, which ends it.", body: .fields("DraftSendRequest", isRequired: false),
      status: 201, answer: .json("Sent"), refusals: [404, 409]),
  ]

  static let attachmentOperations = [
    APIOperation(
      method: "GET", path: "/v1/messages/{message}/attachments", id: "listAttachments",
      summary: "The files of a message, and whether they are here.", answer: .json("Attachments")),
    APIOperation(
      method: "POST", path: "/v1/messages/{message}/attachments", id: "attach",
      summary: "Attaches a file.",
      body: .fields(
        "AttachmentRequest", isRequired: true, bytesMax: APIHandlers.attachmentBodyBytesMax),
      status: 201,
      answer: .json("Attached"), refusals: [422]),
    APIOperation(
      method: "GET", path: "/v1/messages/{message}/attachments/{attachment}", id: "readAttachment",
      summary: "Its bytes, from the server where they are not here.",
      answer: .bytes(mediaType: "application/octet-stream"), refusals: [502]),
    APIOperation(
      method: "DELETE", path: "/v1/messages/{message}/attachments/{attachment}", id: "detach",
      summary: "Takes it from the message.", answer: .json("Receipt")),
  ]

  static let queueFileOperations = [
    APIOperation(
      method: "GET", path: "/v1/sessions/{session}/queue/file", id: "exportQueueFile",
      summary: "Its queue as queue-SESSION.json.", answer: .json("QueueFile"),
      refusals: [404, 409, 502]),
    APIOperation(
      method: "POST", path: "/v1/queue-files", id: "importQueueFile",
      summary: "Brings in the messages of a queue file: the object or the bare list.",
      parameters: [
        APIOperation.Parameter(name: "session", summary: "Where they go."),
        APIOperation.Parameter(
          name: "dryRun", summary: "Only says what would come.",
          schema: Schema.choice(["true", "false"])),
      ],
      body: .document("QueueFileOrList", bytesMax: QueueClient.documentBytesMax),
      answer: .json("Imported"), refusals: [409, 422]),
  ]

  // MARK: - Schemas

  private static let settingValue: JSONValue = ["type": ["integer", "boolean", "string"]]

  static let settingsSchemas: [String: JSONValue] = [
    "SettingRequest": Schema.body(["value": settingValue]),
    "Settings": Schema.object([
      "file": Schema.text, "settings": Schema.list(Schema.reference("Setting")),
    ]),
    "Setting": Schema.object(
      [
        "name": Schema.text, "origin": Schema.choice(["flag", "environment", "file", "default"]),
        "environmentVariable": Schema.text, "appliesAtOnce": Schema.flag, "summary": Schema.text,
      ],
      optional: [
        "value": settingValue, "line": Schema.count, "overridden": settingValue,
        "default": settingValue, "warning": Schema.text,
      ]),
    "SettingsCheck": Schema.object([
      "valid": Schema.flag,
      "faults": Schema.list(
        Schema.object(
          ["reason": Schema.text, "message": Schema.text],
          optional: ["line": Schema.count, "setting": Schema.text])),
    ]),
  ]

  static let activitySchemas: [String: JSONValue] = [
    "SignalRequest": Schema.body(
      ["type": Schema.choice(SignalRequest.Kind.allCases.map(\.rawValue))],
      optional: ["id": Schema.text, "name": Schema.text, "message": Schema.text]),
    "Activities": Schema.object(["activities": Schema.list(Schema.reference("Activity"))]),
    "Activity": Schema.object(
      [
        "session": Schema.sessionID, "busy": Schema.flag, "isProcessing": Schema.flag,
        "runningTools": Schema.list(Schema.text), "isPendingApproval": Schema.flag,
      ],
      optional: [
        "currentError": Schema.object([
          "code": Schema.text, "message": Schema.text, "exitCode": Schema.count,
        ]),
        "task": Schema.reference("Task"),
      ]),
    "DraftRequest": Schema.body(["text": Schema.text]),
    "DraftSendRequest": Schema.body(
      [:], optional: ["id": Schema.uuid, "priority": Schema.choice(["urgent", "normal"])]),
    "Draft": Schema.object(
      ["session": Schema.sessionID, "text": Schema.text], optional: ["updatedAt": Schema.time]),
    "Drafts": Schema.object(["drafts": Schema.list(Schema.reference("Draft"))]),
  ]

  private static let fileFields: [String: JSONValue] = [
    "hash": Schema.described(Schema.text, "SHA-256, 64 hexadecimal digits."),
    "name": Schema.text, "mediaType": Schema.text, "size": Schema.count,
  ]

  static let attachmentSchemas: [String: JSONValue] = [
    "AttachmentRequest": Schema.body(
      [:],
      optional: [
        "data": Schema.described(Schema.text, "Base64; needs a name. At most 10 MiB."),
        "path": Schema.described(Schema.text, "Absolute, on this machine, in place of data."),
        "name": Schema.text, "mediaType": Schema.text,
      ]),
    "Attachment": Schema.object(fileFields),
    "Attachments": Schema.object([
      "attachments": Schema.list(
        Schema.object(fileFields.merging(["here": Schema.flag]) { first, _ in first }))
    ]),
    "Attached": Schema.object([
      "attachment": Schema.reference("Attachment"), "isNew": Schema.flag,
    ]),
    "QueueFileOrList": ["anyOf": [Schema.reference("QueueFile"), Schema.list(queueFileMessage)]],
    "QueueFile": Schema.object([
      "version": ["const": 1], "sessionId": Schema.sessionID,
      "messages": Schema.list(queueFileMessage),
    ]),
  ]

  private static let queueFileMessage = Schema.object(
    ["id": Schema.uuid, "content": Schema.text, "createdAt": Schema.time],
    optional: [
      "projectPath": Schema.text, "sessionId": Schema.text,
      "priority": Schema.choice(["urgent", "normal"]), "imageData": Schema.nullable("string"),
      "attempts": Schema.count, "lastError": Schema.nullable("string"),
      "attachments": Schema.list(["type": "object"]),
    ])
}
