public import QueueModel

/// How this device's queues behave; nothing of it is replicated.
public struct DeviceSettings: Hashable, Sendable {
  /// How many messages may wait in a session for a local enqueue to be taken (S0-6, S0-33).
  public var maxQueueSize: Int
  /// Whether sending queues the thread, and the thread queue is shown. Off forgets nothing (S2-36,
  /// S2-45, S2-57).
  public var queueEnabled: Bool
  /// What happens to a session's queue when its agent failed.
  public var onFailure: FailurePolicy
  /// Whether looking at a thread takes it out of the thread queue (S2-93).
  public var autoRemoveOnView: Bool
  /// Days for which messages that are done or cancelled are kept; 0 is for ever.
  public var retention: Int
  /// Days for which the attachments of messages that left their queue are kept.
  public var attachmentRetention: Int
  /// What the attachments on this device may take together, in MiB.
  public var attachmentQuota: Int
  /// Seconds that other devices have to answer what an agent here asks, if the asker names none.
  public var approvalPatience: Int
  /// How agents run here.
  public var agents: AgentSettings
  /// What the device is notified of, and how.
  public var notifications: NotificationSettings

  /// Puts the settings together; values outside their range are moved into it.
  public init(
    maxQueueSize: Int = Limits.queueSizeDefault, queueEnabled: Bool = false,
    onFailure: FailurePolicy = .pause, autoRemoveOnView: Bool = false,
    retention: Int = SettingName.retentionDefault,
    attachmentRetention: Int = SettingName.attachmentRetentionDefault,
    attachmentQuota: Int = SettingName.attachmentQuotaDefault,
    approvalPatience: Int = SettingName.approvalPatienceDefault,
    agents: AgentSettings = AgentSettings(),
    notifications: NotificationSettings = NotificationSettings()
  ) {
    self.maxQueueSize = maxQueueSize.clamped(to: Limits.queueSizeRange)
    self.queueEnabled = queueEnabled
    self.onFailure = onFailure
    self.autoRemoveOnView = autoRemoveOnView
    self.retention = retention.clamped(to: SettingName.retentionRange)
    self.attachmentRetention = attachmentRetention.clamped(to: SettingName.attachmentRetentionRange)
    self.approvalPatience = approvalPatience.clamped(to: SettingName.approvalPatienceRange)
    self.agents = agents
    self.notifications = notifications
    self.attachmentQuota = attachmentQuota.clamped(to: SettingName.attachmentQuotaRange)
  }
}

/// What happens to a session's queue when its agent failed (S0-27).
public enum FailurePolicy: String, Hashable, Sendable, CaseIterable, Codable {
  /// The queue pauses, and waits for a person.
  case pause
  /// The error is shown, and the queue goes on.
  case proceed = "continue"
}

extension Int {
  func clamped(to range: ClosedRange<Int>) -> Int {
    Swift.min(Swift.max(self, range.lowerBound), range.upperBound)
  }
}
