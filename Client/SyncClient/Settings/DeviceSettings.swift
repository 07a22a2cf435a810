public import QueueModel

/// The settings of this device's queues; they are not replicated.
public struct DeviceSettings: Hashable, Sendable {
  /// The maximum number of waiting messages in a session for a local enqueue (S0-6, S0-33).
  public var maxQueueSize: Int
  /// Whether sending queues the thread, and the thread queue is shown. Turning it off deletes
  /// nothing (S2-36, S2-45, S2-57).
  public var queueEnabled: Bool
  /// The policy for a session's queue after its agent failed.
  public var onFailure: FailurePolicy
  /// Whether looking at a thread removes it from the thread queue (S2-93).
  public var autoRemoveOnView: Bool
  /// How many days finished and cancelled messages are kept; 0 means forever.
  public var retention: Int
  /// How many days the attachments of messages that left their queue are kept.
  public var attachmentRetention: Int
  /// The total size limit of the attachments on this device, in MiB.
  public var attachmentQuota: Int
  /// How many seconds other devices have to answer a request of an agent here, if the request has
  /// no time limit of its own.
  public var approvalPatience: Int
  /// The settings of agents here.
  public var agents: AgentSettings
  /// The settings of notifications.
  public var notifications: NotificationSettings

  /// Creates settings; values outside their range are clamped.
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

/// The policy for a session's queue after its agent failed (S0-27).
public enum FailurePolicy: String, Hashable, Sendable, CaseIterable, Codable {
  /// The queue pauses, and waits for a user.
  case pause
  /// The error is shown, and the queue continues.
  case proceed = "continue"
}

extension Int {
  func clamped(to range: ClosedRange<Int>) -> Int {
    Swift.min(Swift.max(self, range.lowerBound), range.upperBound)
  }
}
