import Basics
import PushNotices

/// Every reason that Apple documents for refusing a push ("Handling notification responses from
/// APNs", table "Response error strings").
package enum APNsReason: String, Hashable, Sendable, CaseIterable {
  case badCollapseID = "BadCollapseId"
  case badDeviceToken = "BadDeviceToken"
  case badExpirationDate = "BadExpirationDate"
  case badMessageID = "BadMessageId"
  case badPriority = "BadPriority"
  case badTopic = "BadTopic"
  case deviceTokenNotForTopic = "DeviceTokenNotForTopic"
  case duplicateHeaders = "DuplicateHeaders"
  case idleTimeout = "IdleTimeout"
  case invalidPushType = "InvalidPushType"
  case missingDeviceToken = "MissingDeviceToken"
  case missingTopic = "MissingTopic"
  case payloadEmpty = "PayloadEmpty"
  case topicDisallowed = "TopicDisallowed"
  case badCertificate = "BadCertificate"
  case badCertificateEnvironment = "BadCertificateEnvironment"
  case expiredProviderToken = "ExpiredProviderToken"
  case forbidden = "Forbidden"
  case invalidProviderToken = "InvalidProviderToken"
  case missingProviderToken = "MissingProviderToken"
  case unrelatedKeyIDInToken = "UnrelatedKeyIdInToken"
  case badEnvironmentKeyIDInToken = "BadEnvironmentKeyIdInToken"
  case badPath = "BadPath"
  case methodNotAllowed = "MethodNotAllowed"
  case expiredToken = "ExpiredToken"
  case unregistered = "Unregistered"
  case payloadTooLarge = "PayloadTooLarge"
  case tooManyProviderTokenUpdates = "TooManyProviderTokenUpdates"
  case tooManyRequests = "TooManyRequests"
  case internalServerError = "InternalServerError"
  case serviceUnavailable = "ServiceUnavailable"
  case shutdown = "Shutdown"

  /// The status that Apple sends it with.
  package var status: Int {
    switch self {
    case .badCertificate, .badCertificateEnvironment, .expiredProviderToken, .forbidden,
      .invalidProviderToken, .missingProviderToken, .unrelatedKeyIDInToken,
      .badEnvironmentKeyIDInToken:
      403
    case .badPath: 404
    case .methodNotAllowed: 405
    case .expiredToken, .unregistered: 410
    case .payloadTooLarge: 413
    case .tooManyProviderTokenUpdates, .tooManyRequests: 429
    case .internalServerError: 500
    case .serviceUnavailable, .shutdown: 503
    default: 400
    }
  }

  package enum Disposition: Hashable, Sendable {
    /// The address no longer exists.
    case invalid
    /// The address no longer exists if it was registered before the given time.
    case invalidSince
    /// Try again later.
    case retry
    /// The provider token has to be renewed.
    case renewToken
    /// The key, team, topic or environment is set up wrongly.
    case configuration
    /// A fault of this one request.
    case rejected
  }

  package var disposition: Disposition {
    switch self {
    case .badDeviceToken, .deviceTokenNotForTopic, .expiredToken: .invalid
    case .unregistered: .invalidSince
    case .idleTimeout, .tooManyProviderTokenUpdates, .tooManyRequests, .internalServerError,
      .serviceUnavailable, .shutdown:
      .retry
    case .expiredProviderToken: .renewToken
    case .badTopic, .missingTopic, .topicDisallowed, .badCertificate, .badCertificateEnvironment,
      .forbidden, .invalidProviderToken, .missingProviderToken, .unrelatedKeyIDInToken,
      .badEnvironmentKeyIDInToken:
      .configuration
    case .badCollapseID, .badExpirationDate, .badMessageID, .badPriority, .duplicateHeaders,
      .invalidPushType, .missingDeviceToken, .payloadEmpty, .badPath, .methodNotAllowed,
      .payloadTooLarge:
      .rejected
    }
  }

  /// Advice for reasons that the operator can fix.
  package var advice: String? {
    switch self {
    case .badDeviceToken:
      "the token is damaged, or belongs to the other environment: register it again with the "
        + "right one"
    case .deviceTokenNotForTopic: "the token belongs to a different app than the topic"
    case .badTopic, .missingTopic, .topicDisallowed:
      "check the topic, and that the key may be used for it"
    case .expiredProviderToken: "check this machine's clock"
    case .badEnvironmentKeyIDInToken: "the key is for the other environment only"
    case .unrelatedKeyIDInToken, .invalidProviderToken, .forbidden, .missingProviderToken,
      .badCertificate, .badCertificateEnvironment:
      "check key file, key id and team id, and that the key was not revoked"
    default: nil
    }
  }
}

/// Apple's answer, parsed.
struct APNsAnswer {
  var status: Int
  /// Apple's name of the reason, or `status 4xx`.
  var word: String
  var reason: APNsReason?
  /// Milliseconds since 1970.
  var timestamp: Int64?
  var retryAfter: Duration?

  init(_ exchange: HTTPAnswer) {
    status = exchange.status
    retryAfter = exchange.retryAfter
    let body = JSONBody(exchange.body)
    timestamp = body.integer("timestamp")
    // Apple's reasons consist of letters. Other text may quote the request.
    let word = body.text("reason").flatMap { text in
      (1...64).contains(text.utf8.count) && text.utf8.allSatisfy(ASCII.isLetter) ? text : nil
    }
    self.word = word ?? "status \(exchange.status)"
    reason = word.flatMap(APNsReason.init)
  }

  /// The outcome for a target.
  func outcome(for target: PushTarget) -> PushOutcome {
    let said = word + (reason?.advice.map { ": \($0)" } ?? "")
    switch reason?.disposition ?? dispositionOfStatus {
    case .invalid: return .invalidTarget(reason: said, since: nil)
    case .invalidSince:
      if let timestamp, target.registeredAt > timestamp {
        return .retry(after: retryAfter, reason: "\(said), but registered again since")
      }
      return .invalidTarget(reason: said, since: timestamp)
    case .retry where reason == .tooManyProviderTokenUpdates:
      let least = Duration.milliseconds(ProviderTokenCache.leastMilliseconds)
      return .retry(after: max(retryAfter ?? least, least), reason: said)
    case .retry, .renewToken: return .retry(after: retryAfter, reason: said)
    // With 403 Apple reports faults of key and team. A wrong topic is the target's fault.
    case .configuration:
      return status == 403 ? .configurationError(reason: said) : .targetError(reason: said)
    case .rejected: return .rejected(reason: said)
    }
  }

  /// For reasons that are newer than this code. A status alone invalidates nothing.
  private var dispositionOfStatus: APNsReason.Disposition {
    switch status {
    case 403: .configuration
    case 408, 410, 429, 500...: .retry
    default: .rejected
    }
  }
}
