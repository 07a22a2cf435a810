import Basics
import Hummingbird
import LocalAPI
import QueueModel
import SyncClient

/// The device's notifications and its push targets.
struct NotificationHandlers: RouteHandlers {
  var client: QueueClient

  func addRoutes(to api: RouterGroup<Context>) {
    api.get("notifications") { _, _ in
      CanonicalJSON.response(
        NotificationsAnswer(
          notifications: await client.notifications.all().map(NotificationAnswer.init)))
    }
    api.post("notifications/dismiss") { request, _ in
      let body = try await decodedIfPresent(DismissRequest.self, from: request)
      if let odd = body?.ids?.first(where: { !NotificationView.isID($0) }) {
        throw APIProblem(
          .notFound, code: "notificationNotFound",
          message: "There is no notification \"\(odd)\". cospool notifications list shows them.",
          exitCode: ExitStatus.failed)
      }
      let standing = await client.notifications.all().filter { !$0.awaitsPerson }.map(\.id)
      try await client.notifications.dismiss(body?.ids ?? standing)
      return CanonicalJSON.response(
        NotificationsAnswer(
          notifications: await client.notifications.all().map(NotificationAnswer.init)))
    }
    api.post("device/visibility") { request, _ in
      let body = try await decoded(VisibilityRequest.self, from: request)
      let seconds = body.forSeconds ?? VisibilityRequest.secondsDefault
      guard (0...ClientNotifications.visibilitySecondsMax).contains(seconds) else {
        throw APIProblem(
          .unprocessableContent, code: "invalidVisibility",
          message: "forSeconds must be 0 to \(ClientNotifications.visibilitySecondsMax).",
          exitCode: ExitStatus.usage)
      }
      await client.notifications.setVisible(body.visible, forSeconds: seconds)
      return CanonicalJSON.response(
        VisibilityAnswer(visible: await client.notifications.isVisible()))
    }
    api.get("push/targets") { _, _ in
      CanonicalJSON.response(
        PushTargetsAnswer(
          targets: try await client.notifications.pushTargets().map(PushTargetAnswer.init)))
    }
    api.put("push/targets/:target") { request, context in
      let target = try target(context)
      let body = try await decoded(PushTargetRequest.self, from: request)
      try await client.notifications.setPushTarget(
        target, kind: body.kind, address: body.address, isPersons: body.person ?? false)
      let targets = try await client.notifications.pushTargets()
      await note(
        UndoLabel(kind: .addedPush, text: targets.first { $0.id == target }?.address),
        former: target.description)
      return CanonicalJSON.response(PushTargetsAnswer(targets: targets.map(PushTargetAnswer.init)))
    }
    api.post("push/targets/:target/test") { _, context in
      try await client.notifications.testPushTarget(try target(context))
      return CanonicalJSON.response(
        PushTargetsAnswer(
          targets: try await client.notifications.pushTargets().map(PushTargetAnswer.init)))
    }
    api.delete("push/targets/:target") { _, context in
      let target = try target(context)
      let removed = try await client.notifications.pushTargets().first { $0.id == target }
      try await client.notifications.removePushTarget(target)
      if let removed {
        await note(UndoLabel(kind: .removedPush, text: removed.address))
      }
      return CanonicalJSON.response(
        PushTargetsAnswer(
          targets: try await client.notifications.pushTargets().map(PushTargetAnswer.init)))
    }
  }

  private func target(_ context: Context) throws -> PushTargetID {
    let text = try parameter("target", of: context)
    guard let target = PushTargetID(text) else {
      throw APIProblem.badRequest(
        "\"\(text)\" is not a UUID. cospool push list shows the ids.")
    }
    return target
  }
}

extension NotificationAnswer {
  init(_ view: NotificationView) {
    self.init(
      id: view.id, category: view.category.rawValue, session: view.session, request: view.request,
      message: view.message, createdAt: view.createdAt, receivedAt: view.receivedAt,
      title: view.title, body: view.body,
      missed: view.isMissed)
  }
}

extension PushTargetAnswer {
  init(_ view: PushTargetView) {
    self.init(
      id: view.id, kind: view.kind, address: view.address, valid: view.isValid, reason: view.reason,
      deliveredAt: view.deliveredAt, person: view.isPersons)
  }
}

/// A notification that must no longer be shown.
struct RetractionEvent: Codable, Equatable, Sendable {
  var id: String
  var reason: NotificationRetraction
}

/// Operations wait, and there has been no connection for a while.
struct WaitingEvent: Codable, Equatable, Sendable {
  var since: String
}
