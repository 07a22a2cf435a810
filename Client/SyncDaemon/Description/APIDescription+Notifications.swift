import Basics
import LocalAPI
import SyncClient

/// Notifications of the device, and where they are pushed to.
extension APIDescription {
  static let notificationOperations = [
    APIOperation(
      method: "GET", path: "/v1/notifications", id: "listNotifications",
      summary: "What this device's person should see, in the order it came about.",
      answer: .json("Notifications")),
    APIOperation(
      method: "POST", path: "/v1/notifications/dismiss", id: "dismissNotifications",
      summary: "Puts some aside on this device; without ids all that ask nothing.",
      body: .fields("DismissRequest", isRequired: false), answer: .json("Notifications"),
      refusals: [404]),
    APIOperation(
      method: "POST", path: "/v1/device/visibility", id: "setVisibility",
      summary: "Says whether the person looks at this device, which then gets no pushes.",
      body: .fields("VisibilityRequest", isRequired: true), answer: .json("Visibility"),
      refusals: [422]),
    APIOperation(
      method: "GET", path: "/v1/push/targets", id: "listPushTargets",
      summary: "Where the server pushes this device's notifications to.",
      answer: .json("PushTargets"), refusals: [502]),
    APIOperation(
      method: "PUT", path: "/v1/push/targets/{target}", id: "setPushTarget",
      summary: "Pushes to an address from now on, in the place of the target's one before.",
      body: .fields("PushTargetRequest", isRequired: true), answer: .json("PushTargets"),
      refusals: [422, 502]),
    APIOperation(
      method: "DELETE", path: "/v1/push/targets/{target}", id: "removePushTarget",
      summary: "Pushes nothing there any more.", answer: .json("PushTargets"), refusals: [502]),
  ]

  // MARK: - Schemas

  static let notificationSchemas: [String: JSONValue] = [
    "DismissRequest": Schema.body([:], optional: ["ids": Schema.list(Schema.text)]),
    "VisibilityRequest": Schema.body(
      ["visible": Schema.flag],
      optional: [
        "forSeconds": Schema.described(
          Schema.count, "For how long that counts unless it is said again; 60, at most 3,600.")
      ]),
    "Visibility": Schema.object(["visible": Schema.flag]),
    "PushTargetRequest": Schema.body([
      "kind": Schema.choice(["apns", "ntfy", "webhook"]),
      "address": Schema.described(Schema.text, "With its secrets; see SETTING-UP.md."),
    ]),
    "PushTargets": Schema.object(["targets": Schema.list(Schema.reference("PushTarget"))]),
    "PushTarget": Schema.object([
      "id": Schema.uuid, "kind": Schema.text,
      "address": Schema.described(Schema.text, "Without its secrets."),
      "valid": Schema.flag, "reason": Schema.text,
    ]),
    "Notifications": Schema.object([
      "notifications": Schema.list(Schema.reference("Notification"))
    ]),
    "Notification": Schema.object(
      [
        "id": Schema.text,
        "category": Schema.choice(NotificationView.Category.allCases.map(\.rawValue)),
        "session": Schema.sessionID, "createdAt": Schema.time, "receivedAt": Schema.time,
        "title": Schema.text, "body": Schema.text, "missed": Schema.flag,
      ],
      optional: ["request": Schema.uuid]),
  ]
}
