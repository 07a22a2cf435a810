/// Notifications of the device, and their push addresses.
extension Route {
  static let notificationRoutes = [
    Route(
      method: "GET", path: "/v1/notifications", id: "listNotifications",
      summary: "Lists the notifications of this device, oldest first.",
      answer: .json(NotificationsAnswer.self)),
    Route(
      method: "POST", path: "/v1/notifications/dismiss", id: "dismissNotifications",
      summary: "Dismisses notifications on this device; without ids, all that need no answer.",
      body: .fields(DismissRequest.self, isRequired: false),
      answer: .json(NotificationsAnswer.self),
      refusals: [404]),
    Route(
      method: "POST", path: "/v1/device/visibility", id: "setVisibility",
      summary: "Reports whether the user looks at this device, which then gets no pushes.",
      body: .fields(VisibilityRequest.self, isRequired: true), answer: .json(VisibilityAnswer.self),
      refusals: [422]),
    Route(
      method: "GET", path: "/v1/push/targets", id: "listPushTargets",
      summary: "Lists the addresses to which the server pushes notifications of this device and "
        + "its user.",
      answer: .json(PushTargetsAnswer.self), refusals: [502]),
    Route(
      method: "PUT", path: "/v1/push/targets/{target}", id: "setPushTarget",
      summary: "Starts pushing to an address, which replaces the target's earlier one.",
      body: .fields(PushTargetRequest.self, isRequired: true),
      answer: .json(PushTargetsAnswer.self),
      refusals: [422, 502]),
    Route(
      method: "POST", path: "/v1/push/targets/{target}/test", id: "testPushTarget",
      summary: "Sends a test push now; if it fails, the error has the provider's answer.",
      answer: .json(PushTargetsAnswer.self), refusals: [422, 502]),
    Route(
      method: "DELETE", path: "/v1/push/targets/{target}", id: "removePushTarget",
      summary: "Stops pushing to the target.", answer: .json(PushTargetsAnswer.self),
      refusals: [502]),
  ]
}
