/// The push address of one device, as the server stores it.
package struct PushTarget: Hashable, Sendable {
  /// The server's name for it, a UUID in text.
  package var id: String
  package var address: PushAddress
  /// Milliseconds since 1970 at which the device last registered this address. A provider's report
  /// about an earlier end of the address does not count.
  package var registeredAt: Int64
  /// Whether pushes may be sent to it, and why not.
  package var validity: Validity

  package enum Validity: Hashable, Sendable {
    case valid
    /// The provider reported it, in its own words; `since` in milliseconds if it named a time.
    case invalid(reason: String, since: Int64?)
  }

  package init(
    id: String, address: PushAddress, registeredAt: Int64, validity: Validity = .valid
  ) {
    self.id = id
    self.address = address
    self.registeredAt = registeredAt
    self.validity = validity
  }

  package var kind: PushKind { address.kind }
}

/// The kinds of push targets that the server sends to.
package enum PushKind: String, Hashable, Sendable, CaseIterable {
  case apns
  case ntfy
  case webhook
}

/// The address of a push target.
///
/// A device registers, and the server stores, the text form `text`, which contains the address's
/// secrets; `description` identifies the address without them. PushAddress+Text.swift has both.
package enum PushAddress: Hashable, Sendable {
  case apns(APNsAddress)
  case ntfy(NtfyAddress)
  case webhook(WebhookAddress)

  package var kind: PushKind {
    switch self {
    case .apns: .apns
    case .ntfy: .ntfy
    case .webhook: .webhook
    }
  }
}

/// A device (or one Live Activity of it) with Apple's push service.
package struct APNsAddress: Hashable, Sendable {
  /// The service that knows the token; the other one does not.
  package enum Environment: String, Hashable, Sendable, CaseIterable {
    case development
    case production
  }

  /// The purpose of the token: a Live Activity's token accepts no alerts, and the reverse.
  package enum Purpose: String, Hashable, Sendable, CaseIterable {
    case alert
    case liveActivity = "live-activity"
    /// Starts Live Activities; the app then registers each one's own token.
    case liveActivityStart = "live-activity-start"
  }

  /// The token in hexadecimal digits, lower case.
  package var deviceToken: Secret
  /// The app's bundle id.
  package var topic: String
  package var environment: Environment
  package var purpose: Purpose
  /// The session whose task a Live Activity shows; nil if the token gets the states of all.
  package var session: String?

  package init(
    deviceToken: Secret, topic: String, environment: Environment, purpose: Purpose,
    session: String? = nil
  ) {
    self.session = session
    self.deviceToken = deviceToken
    self.topic = topic
    self.environment = environment
    self.purpose = purpose
  }
}

/// A topic of an ntfy server. Anyone who knows the topic can read it, so it is treated as a secret.
package struct NtfyAddress: Hashable, Sendable {
  /// The server's base address, `https://ntfy.example` with neither path nor trailing slash.
  package var server: String
  package var topic: Secret
  package var accessToken: Secret?

  package init(server: String, topic: Secret, accessToken: Secret? = nil) {
    self.server = server
    self.topic = topic
    self.accessToken = accessToken
  }
}

/// An address that accepts signed POST requests. Its path may be a secret, as with many chat
/// services.
package struct WebhookAddress: Hashable, Sendable {
  package var url: Secret
  /// The key of the signature; `WebhookSignature`.
  package var secret: Secret

  package init(url: Secret, secret: Secret) {
    self.url = url
    self.secret = secret
  }
}

extension APNsAddress {
  /// Whether such a push is sent to this address: the token of one activity gets only pushes about
  /// its session.
  package func takes(_ push: Push) -> Bool {
    guard purpose.takes(push) else { return false }
    guard let session, case .liveActivity(let activity) = push else { return true }
    return activity.sessionID == session
  }
}

extension APNsAddress.Purpose {
  /// Whether a token of this purpose accepts such a push.
  package func takes(_ push: Push) -> Bool {
    switch push {
    case .alert, .retract: self == .alert
    case .liveActivity(let activity):
      if case .start = activity.event { self == .liveActivityStart } else { self == .liveActivity }
    }
  }
}
