import ClientCore
import ClientStore
public import QueueModel
import SequenceCRDT
import WireProtocol

/// Notifications from the server's inbox for this device. Every notification arrives once, as
/// `DeviceEvent.notification`, even if connections break; the server keeps it until this device has
/// it on disk.
///
/// ```swift
/// for await case .notification(let notification) in client.deviceEvents() {
///   show(notification)
///   try await client.notifications.noteAnnounced(notification.id)
/// }
/// ```
public struct ClientNotifications: Sendable {
  let client: QueueClient

  /// How long the server may take to answer if it asks a provider first.
  static let pushTestLimit = Duration.seconds(40)
  /// How long one call of `setVisible` counts at most.
  public static let visibilitySecondsMax = 3_600

  /// The displayed notifications, in order of their time: those that were neither dismissed nor
  /// settled.
  public func all() async -> [NotificationView] {
    await client.engine.read { $0.notifications.map(NotificationView.init) }
  }

  /// Dismisses notifications on this device; unknown ids are ignored.
  ///
  /// - Throws: `.queue(.persistenceFailed)` if that cannot be stored, `.closed`.
  public func dismiss(_ ids: [String]) async throws(ClientError) {
    let names = ids.compactMap(NotificationView.name)
    try await client.engine.submit { core, _, store throws(Replica.Fault) in
      ((), try core.notificationsDismissed(names, store: store))
    }
  }

  /// Records that a program has shown a notification: a restart does not show it again.
  ///
  /// - Throws: `.queue(.persistenceFailed)` if that cannot be stored, `.closed`.
  public func noteAnnounced(_ id: String) async throws(ClientError) {
    guard let name = NotificationView.name(of: id) else { return }
    try await client.engine.submit { core, _, store throws(Replica.Fault) in
      try core.notificationAnnounced(name, store: store)
      return ((), [])
    }
  }

  /// Reports whether a user is looking at the device; meanwhile, it gets no pushes (N-13).
  ///
  /// - Parameter seconds: how long that counts without a further call, at most
  ///   `visibilitySecondsMax`. So it also ends if a program ends without a report.
  public func setVisible(_ isVisible: Bool, forSeconds seconds: Int = 60) async {
    let limit = min(max(seconds, 0), ClientNotifications.visibilitySecondsMax)
    await client.engine.note { core, context, _ in
      core.visibilityChanged(
        forMilliseconds: isVisible ? Int64(limit) * 1_000 : nil, at: context)
    }
  }

  /// Whether a user is looking at the device, as last reported.
  public func isVisible() async -> Bool {
    // A closed client does not count as looked at.
    (try? await client.engine.submit { core, context, _ throws(Replica.Fault) in
      (core.isVisible(now: context.now), [])
    }) ?? false
  }

  // MARK: - Push targets

  /// The push addresses of this device and of its user.
  ///
  /// - Throws: `.unreachable` if the server cannot be asked now.
  public func pushTargets() async throws(ClientError) -> [PushTargetView] {
    guard case .targets(let targets) = try await inquire(.targets) else {
      throw .unreachable(message: "the server did not send its push addresses")
    }
    return targets.map(PushTargetView.init)
  }

  /// Pushes this device's notifications to an address; an earlier address of the same id is
  /// replaced.
  ///
  /// - Parameter isPersons: whether the address gets the notifications of all devices, including
  ///   those of their own agents, once no user has looked at a device for `notifyMeAfter`.
  /// - Throws: `.pushTargetRefused` with the reason, `.unreachable`.
  public func setPushTarget(
    _ id: PushTargetID, kind: String, address: String, isPersons: Bool = false
  ) async throws(ClientError) {
    guard kind.utf8.count <= WireLimits.pushKindBytesMax,
      address.utf8.count <= WireLimits.pushAddressBytesMax
    else {
      throw .pushTargetRefused(
        message: "an address has at most \(WireLimits.pushAddressBytesMax) bytes")
    }
    _ = try await inquire(
      .setTarget(id, kind: kind, address: address, owner: isPersons ? .person : .device))
  }

  /// Stops pushing to an address.
  ///
  /// - Throws: `.unreachable`.
  public func removePushTarget(_ id: PushTargetID) async throws(ClientError) {
    _ = try await inquire(.removeTarget(id))
  }

  /// Asks the server to push a test now.
  ///
  /// - Throws: `.pushTargetRefused` with the reason in the provider's words, `.unreachable`.
  public func testPushTarget(_ id: PushTargetID) async throws(ClientError) {
    _ = try await inquire(.testTarget(id), within: ClientNotifications.pushTestLimit)
  }

  private func inquire(
    _ request: InboxRequest, within limit: Duration = QueueClient.inquiryLimit
  ) async throws(ClientError) -> InboxAnswer {
    try await client.inquire(request, within: limit) { .pushTargetRefused(message: $0) }
  }
}

extension QueueClient {
  /// How long the server may take to answer.
  static let inquiryLimit = Duration.seconds(10)

  /// Sends the server a request about this device.
  ///
  /// - Parameter refused: creates the error from the server's report about the request.
  func inquire(
    _ request: InboxRequest, within limit: Duration = QueueClient.inquiryLimit,
    refused: (String) -> ClientError
  ) async throws(ClientError) -> InboxAnswer {
    let answer = await engine.inquire(request, within: limit)
    switch answer {
    case .done, .targets, .code, .echo, .output, .away, .silent, .tooMany: return answer
    case .unusable(let reason): throw refused(reason)
    case .unavailable:
      throw .unreachable(
        message: "this device is not connected to the server; try again when it is")
    case .unknown:
      throw .unreachable(message: "the server needs a newer version for this")
    }
  }
}
