import Basics
import LocalAPI
import QueueModel
import SyncClient

/// Events on this device only, in the format of the change feed.
enum DeviceEventAnswer {
  /// The event's name and data.
  static func event(_ event: DeviceEvent) -> (name: String, data: any Encodable & Sendable) {
    switch event {
    case .activity(let activity):
      ("activity", ActivityAnswer(activity))
    case .draft(let session, let exists):
      ("draft", DraftEvent(session: session, exists: exists))
    case .answer(let answer, let event):
      ("answer", AnswerEndEvent(answer, event))
    case .settings(let settings):
      ("settings", SettingsEvent(settings))
    case .notification(let notification):
      ("notification", NotificationAnswer(notification))
    case .notificationRetracted(let id, let reason):
      ("notificationRetracted", RetractionEvent(id: id, reason: reason))
    case .waitingForConnection(let since):
      ("waitingForConnection", WaitingEvent(since: ISOTime.text(milliseconds: since)))
    }
  }
}

/// A session's draft was written, removed or sent.
struct DraftEvent: Codable, Equatable, Sendable {
  var session: SessionID
  var exists: Bool
}

/// The result of an answer that had to wait; the author keeps its text.
struct AnswerEndEvent: Codable, Equatable, Sendable {
  var session: SessionID
  var request: QueueModel.RequestID
  var verdict: String
  var text: String
  /// `taken`, `answeredAlready`, `notAwaited` or `tooLate`.
  var result: String

  init(_ answer: TaskAnswer, _ event: AnswerEvent) {
    session = answer.session
    request = answer.request
    verdict = answer.verdict.name
    text = answer.text
    result =
      switch event {
      case .taken: "taken"
      case .answeredAlready: "answeredAlready"
      case .notAwaited: "notAwaited"
      case .tooLate: "tooLate"
      case .waiting: "waiting"
      }
  }
}

/// The effective settings.
struct SettingsEvent: Codable, Equatable, Sendable {
  var maxQueueSize: Int
  var queueEnabled: Bool
  var onFailure: FailurePolicy
  var autoRemoveOnView: Bool
  var retention: Int
  var attachmentRetention: Int
  var attachmentQuota: Int

  init(_ settings: DeviceSettings) {
    maxQueueSize = settings.maxQueueSize
    queueEnabled = settings.queueEnabled
    onFailure = settings.onFailure
    autoRemoveOnView = settings.autoRemoveOnView
    retention = settings.retention
    attachmentRetention = settings.attachmentRetention
    attachmentQuota = settings.attachmentQuota
  }
}
