/// Notifications of the device, and where they are pushed to.
extension Route {
  static let notificationRoutes = [
    Route(
      method: "GET", path: "/v1/notifications", id: "listNotifications",
      summary: "What this device's person should see, in the order it came about.",
      answer: .json(NotificationsAnswer.self)),
    Route(
      method: "POST", path: "/v1/notifications/dismiss", id: "dismissNotifications",
      summary: "Puts some aside on this device; without ids all that ask nothing.",
      body: .fields(DismissRequest.self, isRequired: false),
      answer: .json(NotificationsAnswer.self),
      refusals: [404]),
    Route(
      method: "POST", path: "/v1/device/visibility", id: "setVisibility",
      summary: "Says whether the person looks at this device, which then gets no pushes.",
      body: .fields(VisibilityRequest.self, isRequired: true), answer: .json(VisibilityAnswer.self),
      refusals: [422]),
    Route(
      method: "GET", path: "/v1/push/targets", id: "listPushTargets",
      summary: "Where the server pushes notifications of this device and its person to.",
      answer: .json(PushTargetsAnswer.self), refusals: [502]),
    Route(
      method: "PUT", path: "/v1/push/targets/{target}", id: "setPushTarget",
      summary: "Pushes to an address from now on, in the place of the target's one before.",
      body: .fields(PushTargetRequest.self, isRequired: true),
      answer: .json(PushTargetsAnswer.self),
      refusals: [422, 502]),
    Route(
      method: "POST", path: "/v1/push/targets/{target}/test", id: "testPushTarget",
      summary: "Pushes something there now; refused with what its provider said where that fails.",
      answer: .json(PushTargetsAnswer.self), refusals: [422, 502]),
    Route(
      method: "DELETE", path: "/v1/push/targets/{target}", id: "removePushTarget",
      summary: "Pushes nothing there any more.", answer: .json(PushTargetsAnswer.self),
      refusals: [502]),
  ]
}
