import QueueModel
import SyncClient

/// What happens on this device alone, in the change feed's words.
enum DeviceEventAnswer {
  /// The event's name and data.
  static func event(_ event: DeviceEvent) -> (name: String, data: any Encodable & Sendable) {
    switch event {
    case .activity(let activity):
      ("activity", ActivityAnswer(activity))
    case .draft(let session, let exists):
      ("draft", DraftEvent(session: session, exists: exists))
    case .settings(let settings):
      ("settings", SettingsEvent(settings))
    }
  }
}

/// A session's draft was written, removed or sent.
struct DraftEvent: Codable, Equatable, Sendable {
  var session: SessionID
  var exists: Bool
}

/// The settings that hold now.
struct SettingsEvent: Codable, Equatable, Sendable {
  var maxQueueSize: Int
  var queueEnabled: Bool
  var onFailure: FailurePolicy
  var autoRemoveOnView: Bool
  var retentionDays: Int
  var attachmentQuota: Int

  init(_ settings: DeviceSettings) {
    maxQueueSize = settings.maxQueueSize
    queueEnabled = settings.queueEnabled
    onFailure = settings.onFailure
    autoRemoveOnView = settings.autoRemoveOnView
    retentionDays = settings.retentionDays
    attachmentQuota = settings.attachmentQuota
  }
}
