/// Why a text is not the address of a push target, for the user who wrote it.
///
/// It never quotes the text: a typing error may have put a secret anywhere.
package struct PushAddressError: Error, Hashable, Sendable, CustomStringConvertible {
  package enum Code: Hashable, Sendable, CaseIterable {
    case tooLong
    case unknownKind
    case badDeviceToken
    case badAppTopic
    case badEnvironment
    case badPurpose
    case badSession
    case badServer
    case badNtfyTopic
    case badAccessToken
    case badURL
    case plainHTTP
    case missingSecret
  }

  package var code: Code

  package init(_ code: Code) {
    self.code = code
  }

  package var description: String {
    switch code {
    case .tooLong:
      "The address is longer than \(PushLimits.addressBytesMax) bytes. Shorten it."
    case .unknownKind:
      "The address must begin with apns://, ntfy+https:// or webhook+https://."
    case .badDeviceToken:
      "The device token must be 32 to 512 hexadecimal digits, as the app got it from the system: "
        + "apns://BUNDLE-ID/TOKEN?environment=production."
    case .badAppTopic:
      "The app's bundle id must be letters, digits, dots and hyphens, such as org.example.app."
    case .badEnvironment:
      "Say environment=development for an app started from Xcode, environment=production for one "
        + "from TestFlight or the App Store."
    case .badPurpose:
      "Say purpose=alert for a device token, purpose=live-activity for a Live Activity's token, "
        + "purpose=live-activity-start for one that begins them."
    case .badSession:
      "session=ID names the session that a Live Activity shows, percent-encoded, at most "
        + "\(PushLimits.sessionBytesMax) bytes; it goes with purpose=live-activity."
    case .badServer:
      "Name the ntfy server with its host and one topic: ntfy+https://ntfy.example/TOPIC."
    case .badNtfyTopic:
      "An ntfy topic is 1 to 64 letters, digits, hyphens and underscores."
    case .badAccessToken:
      "The access token after # must be printable characters without spaces."
    case .badURL:
      "The webhook's address must be a URL with a host and without a user name: "
        + "webhook+https://host/path#SECRET."
    case .plainHTTP:
      "Use https. Plain http is only taken for this machine itself (localhost, 127.0.0.1, ::1)."
    case .missingSecret:
      "Put the secret that signs the requests after the webhook's URL: #SECRET, 16 characters or "
        + "more."
    }
  }
}
