import Basics
package import QueueModel

package struct DismissRequest: APIValue {
  /// The ids; by default all that ask for nothing.
  package var ids: [String]?

  package init(ids: [String]?) { self.ids = ids }
}

package struct VisibilityRequest: APIValue {
  /// How long a report counts by default.
  package static let secondsDefault = 60
  package static let notes = [
    "forSeconds": Note.text(
      "The seconds for which this counts, 60 by default, at most 3,600.")
  ]

  package var visible: Bool
  package var forSeconds: Int?

  package init(visible: Bool, forSeconds: Int? = nil) {
    self.visible = visible
    self.forSeconds = forSeconds
  }
}

package struct VisibilityAnswer: APIValue {
  package var visible: Bool

  package init(visible: Bool) { self.visible = visible }
}

package struct PushTargetRequest: APIValue {
  package static let notes: [String: Note] = [
    "kind": .choice(["apns", "ntfy", "webhook"]),
    "address": .text("The address, with its secrets; see SETTING-UP.md."),
    "person": .text(
      "true: the address is the user's, and gets pushes if the user looks at no device. "
        + "false: it belongs to this device."),
  ]

  package var kind: String
  package var address: String
  package var person: Bool?

  package init(kind: String, address: String, person: Bool? = nil) {
    self.kind = kind
    self.address = address
    self.person = person
  }
}

/// An event to show to this device's user.
package struct NotificationAnswer: APIValue {
  package static let notes: [String: Note] = [
    "category": .choice(categories), "createdAt": .time, "receivedAt": .time,
  ]
  /// The possible values of `category`.
  package static let categories = [
    "APPROVAL_REQUEST", "QUESTION_ASKED", "TASK_COMPLETE", "TASK_ERROR", "THREAD_READY",
    "MESSAGE_MERGED", "OTHER",
  ]

  package var id: String
  package var category: String
  package var session: SessionID
  /// The approval or question that can be answered; absent if there is none.
  package var request: QueueModel.RequestID?
  /// The merged message whose text a user must choose; absent for everything else.
  package var message: MessageID?
  package var createdAt: String
  package var receivedAt: String
  package var title: String
  package var body: String
  package var missed: Bool

  package init(
    id: String, category: String, session: SessionID, request: QueueModel.RequestID?,
    message: MessageID? = nil, createdAt: Int64, receivedAt: Int64, title: String, body: String,
    missed: Bool
  ) {
    self.id = id
    self.category = category
    self.session = session
    self.request = request
    self.message = message
    self.createdAt = ISOTime.text(milliseconds: createdAt)
    self.receivedAt = ISOTime.text(milliseconds: receivedAt)
    self.title = title
    self.body = body
    self.missed = missed
  }
}

/// The notifications for this device's user, in order.
package struct NotificationsAnswer: APIValue {
  package var notifications: [NotificationAnswer]

  package init(notifications: [NotificationAnswer]) { self.notifications = notifications }
}

/// A push address of this device, or of its user.
package struct PushTargetAnswer: APIValue {
  package static let notes = [
    "address": Note.text("The address, without its secrets."), "deliveredAt": .time,
  ]

  package var id: PushTargetID
  package var kind: String
  package var address: String
  package var valid: Bool
  /// Why it is not valid; empty if it is valid.
  package var reason: String
  /// When its provider last accepted a push; absent if it never did.
  package var deliveredAt: String?
  /// Whether it belongs to the user instead of this device: it is notified while no user looks at
  /// any device.
  package var person: Bool

  package init(
    id: PushTargetID, kind: String, address: String, valid: Bool, reason: String,
    deliveredAt: Int64?, person: Bool = false
  ) {
    self.id = id
    self.kind = kind
    self.address = address
    self.valid = valid
    self.reason = reason
    self.deliveredAt = deliveredAt.map { ISOTime.text(milliseconds: $0) }
    self.person = person
  }
}

/// All push targets, by id.
package struct PushTargetsAnswer: APIValue {
  package var targets: [PushTargetAnswer]

  package init(targets: [PushTargetAnswer]) { self.targets = targets }
}
