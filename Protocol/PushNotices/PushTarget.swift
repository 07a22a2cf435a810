/// Where the pushes of one device go, as the server keeps it.
package struct PushTarget: Hashable, Sendable {
  /// The server's name for it, a UUID in text.
  package var id: String
  package var address: PushAddress
  /// Milliseconds since 1970 at which the device last said that this address is its own. A
  /// provider's word that the address was given up earlier does not count.
  package var registeredAt: Int64
  /// Whether it may be sent to, and why not.
  package var validity: Validity

  package enum Validity: Hashable, Sendable {
    case valid
    /// The provider said so, in its own word; `since` in milliseconds if it named a time.
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
/// The text form that a device registers and the server stores is `text`, which holds the address's
/// secrets; `description` says which address it is without them. PushAddress+Text.swift has both.
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
  /// Which of the two services knows the token; they do not know each other's.
  package enum Environment: String, Hashable, Sendable, CaseIterable {
    case development
    case production
  }

  /// What the token is for: a token of a Live Activity takes no alerts, and the other way round.
  package enum Purpose: String, Hashable, Sendable, CaseIterable {
    case alert
    case liveActivity = "live-activity"
    /// Begins Live Activities; the app then registers each one's own token.
    case liveActivityStart = "live-activity-start"
  }

  /// The token in hexadecimal digits, lower case.
  package var deviceToken: Secret
  /// The app's bundle id.
  package var topic: String
  package var environment: Environment
  package var purpose: Purpose
  /// The session whose task a Live Activity shows; nil: the token gets the states of all.
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

/// A topic of an ntfy server. Whoever knows the topic can read it, so it is kept like a secret.
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

/// An address that takes signed posts. Its path may be a secret, as with many chat services.
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
  /// Whether such a push is sent there: to the token of one activity only what is about its session.
  package func takes(_ push: Push) -> Bool {
    guard purpose.takes(push) else { return false }
    guard let session, case .liveActivity(let activity) = push else { return true }
    return activity.sessionID == session
  }
}

extension APNsAddress.Purpose {
  /// Whether a token for this takes such a push.
  package func takes(_ push: Push) -> Bool {
    switch push {
    case .alert, .retract: self == .alert
    case .liveActivity(let activity):
      if case .start = activity.event { self == .liveActivityStart } else { self == .liveActivity }
    }
  }
}
