/// The content of a Live Activity, or of another provider's message that is updated in place.
package struct LiveActivityPush: Hashable, Sendable {
  package enum Event: Hashable, Sendable {
    /// Shows it. For that, APNs needs the name of the app's attributes type.
    case start(attributesType: String)
    case update
    /// Removes it; it stays visible until `dismissalAt` if given.
    case end(dismissalAt: Int64?)
  }

  /// The name shared by all pushes of one activity.
  package var id: PushNoticeID
  package var event: Event
  package var sessionID: String
  package var content: ActivityContent
  /// The time of this state, in milliseconds since 1970. A device drops an older state that arrives
  /// later.
  package var timestamp: Int64
  /// Milliseconds since 1970 after which the content is out of date.
  package var staleAt: Int64?

  package init(
    id: PushNoticeID, event: Event, sessionID: String, content: ActivityContent,
    timestamp: Int64, staleAt: Int64? = nil
  ) {
    self.id = id
    self.event = event
    self.sessionID = sessionID
    self.content = content
    self.timestamp = timestamp
    self.staleAt = staleAt
  }
}

extension LiveActivityPush.Event {
  package var word: String {
    switch self {
    case .start: "start"
    case .update: "update"
    case .end: "end"
    }
  }
}
