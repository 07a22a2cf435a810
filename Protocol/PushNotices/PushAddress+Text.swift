import Basics

// The text form of an address:
//
//   apns://BUNDLE-ID/TOKEN?environment=development|production&purpose=alert|live-activity|live-activity-start
//     [&session=ID], percent-encoded, with live-activity alone
//   ntfy+https://HOST[:PORT]/TOPIC[#ACCESS-TOKEN]
//   webhook+https://HOST[:PORT]/PATH?QUERY#SECRET
//
// The part after # is never sent in a request, so it contains the secrets.

extension PushAddress {
  /// Reads the text form.
  ///
  /// - Throws: the fault and its correction, without quoting the text.
  package init(text: String) throws(PushAddressError) {
    guard text.utf8.count <= PushLimits.addressBytesMax else { throw PushAddressError(.tooLong) }
    if text.hasPrefix("apns://") {
      self = .apns(try APNsAddress(rest: text.dropFirst("apns://".count)))
    } else if text.hasPrefix("ntfy+http") {
      self = .ntfy(try NtfyAddress(url: text.dropFirst("ntfy+".count)))
    } else if text.hasPrefix("webhook+http") {
      self = .webhook(try WebhookAddress(url: text.dropFirst("webhook+".count)))
    } else {
      throw PushAddressError(.unknownKind)
    }
  }

  /// The text form, with the address's secrets. `init(text:)` reads it.
  package var text: Secret {
    switch self {
    case .apns(let address):
      Secret(
        "apns://\(address.topic)/\(address.deviceToken.reveal())"
          + "?environment=\(address.environment.rawValue)&purpose=\(address.purpose.rawValue)"
          + (address.session.map { "&session=" + ASCII.percentEncoded($0) } ?? ""))
    case .ntfy(let address):
      Secret(
        "ntfy+\(address.server)/\(address.topic.reveal())"
          + (address.accessToken.map { "#" + $0.reveal() } ?? ""))
    case .webhook(let address):
      Secret("webhook+\(address.url.reveal())#\(address.secret.reveal())")
    }
  }
}

extension PushAddress: CustomStringConvertible {
  /// A description for users, without the parts that would let others send to it or read from it.
  package var description: String {
    switch self {
    case .apns(let address):
      "apns \(address.topic) \(address.environment.rawValue) \(address.purpose.rawValue) "
        + address.deviceToken.reveal().prefix(6) + "…"
    case .ntfy(let address): "ntfy \(address.server)/\(address.topic.reveal().prefix(3))…"
    case .webhook(let address): "webhook \(WebParts(address.url.reveal())?.origin ?? "?")/…"
    }
  }
}

extension APNsAddress {
  fileprivate init(rest: Substring) throws(PushAddressError) {
    let halves = rest.split(separator: "?", maxSplits: 1, omittingEmptySubsequences: false)
    let path = halves[0].split(separator: "/", omittingEmptySubsequences: false)
    guard path.count == 2 else { throw PushAddressError(.badDeviceToken) }
    let topic = String(path[0])
    guard (1...155).contains(topic.utf8.count),
      topic.utf8.allSatisfy({
        ASCII.isLetter($0) || ASCII.isDigit($0) || $0 == 0x2D || $0 == 0x2E
      })
    else { throw PushAddressError(.badAppTopic) }
    let token = path[1].lowercased()
    guard token.utf8.allSatisfy(ASCII.isHexDigit), token.utf8.count.isMultiple(of: 2),
      PushLimits.deviceTokenBytes.contains(token.utf8.count / 2)
    else { throw PushAddressError(.badDeviceToken) }
    var environment: Environment?
    var purpose = Purpose.alert
    var session: String?
    for pair in halves.dropFirst().first?.split(separator: "&") ?? [] {
      let parts = pair.split(separator: "=", maxSplits: 1).map(String.init)
      switch parts.first {
      case "environment": environment = parts.last.flatMap(Environment.init)
      case "purpose":
        guard let named = parts.last.flatMap(Purpose.init) else {
          throw PushAddressError(.badPurpose)
        }
        purpose = named
      case "session":
        session = parts.count == 2 ? ASCII.percentDecoded(parts[1]) : nil
        guard let session, (1...PushLimits.sessionBytesMax).contains(session.utf8.count) else {
          throw PushAddressError(.badSession)
        }
      default: throw PushAddressError(.badEnvironment)
      }
    }
    // It is never guessed, because each of Apple's two services reports the other's tokens as
    // broken.
    guard let environment else { throw PushAddressError(.badEnvironment) }
    guard session == nil || purpose == .liveActivity else { throw PushAddressError(.badSession) }
    self.init(
      deviceToken: Secret(token), topic: topic, environment: environment, purpose: purpose,
      session: session)
  }
}

extension NtfyAddress {
  fileprivate init(url: Substring) throws(PushAddressError) {
    let halves = url.split(separator: "#", maxSplits: 1, omittingEmptySubsequences: false)
    guard let parts = WebParts(String(halves[0])), parts.query == nil else {
      throw PushAddressError(.badServer)
    }
    guard parts.isSafe else { throw PushAddressError(.plainHTTP) }
    let topic = String(parts.path.dropFirst())
    guard !topic.isEmpty, !topic.contains("/") else { throw PushAddressError(.badServer) }
    guard (1...64).contains(topic.utf8.count), topic.utf8.allSatisfy(ASCII.isIdentifier) else {
      throw PushAddressError(.badNtfyTopic)
    }
    var token: Secret?
    if let text = halves.dropFirst().first {
      guard !text.isEmpty, text.utf8.allSatisfy({ (0x21...0x7E).contains($0) }) else {
        throw PushAddressError(.badAccessToken)
      }
      token = Secret(String(text))
    }
    self.init(server: parts.origin, topic: Secret(topic), accessToken: token)
  }
}

extension WebhookAddress {
  package static let secretBytesMin = 16

  fileprivate init(url: Substring) throws(PushAddressError) {
    let halves = url.split(separator: "#", maxSplits: 1, omittingEmptySubsequences: false)
    let plain = String(halves[0])
    guard let parts = WebParts(plain) else { throw PushAddressError(.badURL) }
    guard parts.isSafe else { throw PushAddressError(.plainHTTP) }
    guard let secret = halves.dropFirst().first, secret.utf8.count >= Self.secretBytesMin else {
      throw PushAddressError(.missingSecret)
    }
    self.init(url: Secret(plain), secret: Secret(String(secret)))
  }
}
