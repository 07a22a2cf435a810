import Hummingbird
import QueueModel
import SyncClient

extension LocalAPI {
  // MARK: - Notifications of this device

  func addNotificationRoutes(to api: RouterGroup<Context>) {
    api.get("notifications") { _, _ in
      CanonicalJSON.response(
        NotificationsAnswer(notifications: client.notifications().map(NotificationAnswer.init)))
    }
    api.post("notifications/dismiss") { request, _ in
      let body = try await decodedIfPresent(DismissRequest.self, from: request)
      if let odd = body?.ids?.first(where: { !NotificationView.isID($0) }) {
        throw APIProblem(
          .notFound, code: "notificationNotFound",
          message: "There is no notification \"\(odd)\". cospool notifications list shows them.",
          exitCode: 1)
      }
      try await client.dismissNotifications(
        body?.ids ?? client.notifications().filter { $0.request == nil }.map(\.id))
      return CanonicalJSON.response(
        NotificationsAnswer(notifications: client.notifications().map(NotificationAnswer.init)))
    }
    api.post("device/visibility") { request, _ in
      let body = try await decoded(VisibilityRequest.self, from: request)
      let seconds = body.forSeconds ?? VisibilityRequest.secondsDefault
      guard (0...QueueClient.visibilitySecondsMax).contains(seconds) else {
        throw APIProblem(
          .unprocessableContent, code: "invalidVisibility",
          message: "forSeconds is 0 to \(QueueClient.visibilitySecondsMax).", exitCode: 2)
      }
      await client.setVisible(body.visible, forSeconds: seconds)
      return CanonicalJSON.response(VisibilityAnswer(visible: await client.isVisible()))
    }
    api.get("push/targets") { _, _ in
      CanonicalJSON.response(
        PushTargetsAnswer(targets: try await client.pushTargets().map(PushTargetAnswer.init)))
    }
    api.put("push/targets/:target") { request, context in
      let target = try target(context)
      let body = try await decoded(PushTargetRequest.self, from: request)
      try await client.setPushTarget(target, kind: body.kind, address: body.address)
      return CanonicalJSON.response(
        PushTargetsAnswer(targets: try await client.pushTargets().map(PushTargetAnswer.init)))
    }
    api.delete("push/targets/:target") { _, context in
      try await client.removePushTarget(try target(context))
      return CanonicalJSON.response(
        PushTargetsAnswer(targets: try await client.pushTargets().map(PushTargetAnswer.init)))
    }
  }

  private func target(_ context: Context) throws -> PushTargetID {
    let text = try parameter("target", of: context)
    guard let target = PushTargetID(text) else {
      throw APIProblem.badRequest("\"\(text)\" is no UUID, as the ids of push targets are.")
    }
    return target
  }
}

struct DismissRequest: Codable {
  /// Which; left out for all that ask nothing.
  var ids: [String]?
}

struct VisibilityRequest: Codable {
  /// Counts for so long where nothing is said.
  static let secondsDefault = 60

  var visible: Bool
  /// For how long that counts unless it is said again, up to an hour.
  var forSeconds: Int?
}

struct VisibilityAnswer: Codable, Equatable, Sendable {
  var visible: Bool
}

struct PushTargetRequest: Codable {
  /// `apns`, `ntfy` or `webhook`.
  var kind: String
  /// With its secrets.
  var address: String
}

/// Something that the person of this device should see.
struct NotificationAnswer: Codable, Equatable, Sendable {
  var id: String
  var category: NotificationView.Category
  var session: SessionID
  /// The approval or question that can be answered; left out where nothing is asked.
  var request: QueueModel.RequestID?
  var createdAt: String
  var receivedAt: String
  var title: String
  var body: String
  var missed: Bool

  init(_ view: NotificationView) {
    id = view.id
    category = view.category
    session = view.session
    request = view.request
    createdAt = Timestamp.text(milliseconds: view.createdAt)
    receivedAt = Timestamp.text(milliseconds: view.receivedAt)
    title = view.title
    body = view.body
    missed = view.isMissed
  }
}

/// `GET /v1/notifications`, in the order they came about.
struct NotificationsAnswer: Codable, Equatable, Sendable {
  var notifications: [NotificationAnswer]
}

/// A notification that is not to be shown any more.
struct RetractionEvent: Codable, Equatable, Sendable {
  var id: String
  var reason: NotificationRetraction
}

/// Something waits, and there has been no connection for a while.
struct WaitingEvent: Codable, Equatable, Sendable {
  var since: String
}

/// Where this device's notifications are pushed to.
struct PushTargetAnswer: Codable, Equatable, Sendable {
  var id: PushTargetID
  var kind: String
  /// Without its secrets.
  var address: String
  var valid: Bool
  /// Why it is not valid; empty for nothing.
  var reason: String

  init(_ view: PushTargetView) {
    id = view.id
    kind = view.kind
    address = view.address
    valid = view.isValid
    reason = view.reason
  }
}

/// `GET /v1/push/targets`, by id.
struct PushTargetsAnswer: Codable, Equatable, Sendable {
  var targets: [PushTargetAnswer]
}
