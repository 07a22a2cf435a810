import Foundation
import PushNotices

/// The payload of one push, as Apple and the app read it. Texts are cut until it fits.
enum APNsPayload {
  /// The bytes of the payload.
  ///
  /// - Throws: `APNsPayloadTooLarge` if ids and links alone exceed the limit.
  static func bytes(for push: Push) throws -> [UInt8] {
    switch push {
    case .alert(let notice): try alert(notice)
    case .retract(let id): try JSONText.bytes(Retraction(id))
    case .liveActivity(let push): try activity(push)
    }
  }

  private static func alert(_ notice: PushNotice) throws -> [UInt8] {
    var notice = notice
    // Details are cut first, the title last.
    notice.details = try fitted(notice.details) { text in
      var tried = notice
      tried.details = text
      return Alert(tried)
    }
    notice.body =
      try fitted(notice.body) { text in
        var tried = notice
        tried.body = text ?? ""
        return Alert(tried)
      } ?? ""
    notice.title =
      try fitted(notice.title) { text in
        var tried = notice
        tried.title = text ?? ""
        return Alert(tried)
      } ?? ""
    return try checked(JSONText.bytes(Alert(notice)))
  }

  private static func activity(_ push: LiveActivityPush) throws -> [UInt8] {
    var push = push
    let task = try fitted(push.content.progress?.currentTask) { text in
      var tried = push
      tried.content.progress?.currentTask = text
      return Activity(tried)
    }
    push.content.progress?.currentTask = task
    push.content.question = try fitted(push.content.question) { text in
      var tried = push
      tried.content.question = text
      return Activity(tried)
    }
    push.content.operation = try fitted(push.content.operation) { text in
      var tried = push
      tried.content.operation = text
      return Activity(tried)
    }
    return try checked(JSONText.bytes(Activity(push)))
  }

  /// The longest part of `text` that fits, cut between characters and with an ellipsis; nil if
  /// nothing fits.
  ///
  /// A byte of text may take six bytes in JSON, so the cut is found by search.
  private static func fitted(
    _ text: String?, in payload: (String?) -> some Encodable
  ) throws -> String? {
    let limit = PushLimits.apnsPayloadBytesMax
    guard let text, try JSONText.bytes(payload(text)).count > limit else { return text }
    var best: String?
    var low = 0
    var high = min(text.utf8.count, limit)
    while low <= high {
      let middle = (low + high) / 2
      let kept = text.prefixWithin(bytes: middle)
      let tried = kept.isEmpty ? nil : kept + "…"
      if try JSONText.bytes(payload(tried)).count <= limit {
        best = tried
        low = middle + 1
      } else {
        high = middle - 1
      }
    }
    return best
  }

  private static func checked(_ bytes: [UInt8]) throws -> [UInt8] {
    guard bytes.count <= PushLimits.apnsPayloadBytesMax else { throw APNsPayloadTooLarge() }
    return bytes
  }
}

/// Ids and links do not fit into a payload.
struct APNsPayloadTooLarge: Error {}

private struct Alert: Encodable {
  struct APS: Encodable {
    struct Text: Encodable {
      var title: String
      var body: String
    }

    var alert: Text
    var category: String
    var threadID: String
    var sound = "default"
    var interruptionLevel: String
    /// An extension of the app may add on the device what the push leaves out.
    var mutableContent = 1

    enum CodingKeys: String, CodingKey {
      case alert, category, sound
      case mutableContent = "mutable-content"
      case threadID = "thread-id"
      case interruptionLevel = "interruption-level"
    }
  }

  var aps: APS
  var noticeId: String
  var sessionId: String
  var requestId: String?
  var link: String
  var details: String?
  var createdAt: Int64
  var expiresAt: Int64?

  init(_ notice: PushNotice) {
    aps = APS(
      alert: APS.Text(title: notice.title, body: notice.body),
      category: notice.category.rawValue, threadID: notice.sessionID,
      interruptionLevel: notice.isTimeSensitive ? "time-sensitive" : "active")
    noticeId = notice.id.text
    sessionId = notice.sessionID
    requestId = notice.requestID
    link = notice.link
    details = notice.details
    createdAt = notice.createdAt
    expiresAt = notice.expiresAt
  }
}

private struct Retraction: Encodable {
  struct APS: Encodable {
    var contentAvailable = 1

    enum CodingKeys: String, CodingKey { case contentAvailable = "content-available" }
  }

  var aps = APS()
  var clearApprovalId: String

  init(_ id: PushNoticeID) {
    clearApprovalId = id.text
  }
}

private struct Activity: Encodable {
  struct APS: Encodable {
    struct Text: Encodable {
      var title: String
      var body: String
    }

    var timestamp: Int64
    var event: String
    var contentState: ActivityContent
    var staleDate: Int64?
    var dismissalDate: Int64?
    var attributesType: String?
    var attributes: CospoolTaskAttributes?
    /// The system makes a token for its updates, which the app forwards; iOS 18 only does so with
    /// this field.
    var inputPushToken: Int?
    var alert: Text?

    enum CodingKeys: String, CodingKey {
      case timestamp, event, attributes, alert
      case contentState = "content-state"
      case staleDate = "stale-date"
      case dismissalDate = "dismissal-date"
      case attributesType = "attributes-type"
      case inputPushToken = "input-push-token"
    }
  }

  var aps: APS

  /// Apple expects seconds.
  init(_ push: LiveActivityPush) {
    aps = APS(
      timestamp: push.timestamp / 1_000, event: push.event.word, contentState: push.content,
      staleDate: push.staleAt.map { $0 / 1_000 })
    switch push.event {
    case .start(let type):
      aps.attributesType = type
      aps.attributes = CospoolTaskAttributes(sessionId: push.sessionID)
      aps.inputPushToken = 1
      // Without an alert, the system does not start it.
      aps.alert = APS.Text(title: "Task Running", body: "An agent works on a task.")
    case .update: break
    case .end(let dismissalAt): aps.dismissalDate = dismissalAt.map { $0 / 1_000 }
    }
  }
}
