import NIOSSL
package import NetworkAddresses
package import PushNotices

/// How a server sends pushes.
package struct PushConfiguration: Sendable {
  /// nil if the server sends no pushes to Apple's devices.
  package var apns: APNsConfiguration?
  /// nil if notices of ntfy have no buttons that answer.
  package var answering: NtfyAnswering?
  /// A root certificate, PEM, in addition to the system's: a private authority's.
  package var trustedRootFile: String?
  /// Networks that ntfy and webhooks may use in addition to public addresses.
  package var allowedNetworks: [AddressRange]
  package var deadline: Duration

  package init(
    apns: APNsConfiguration? = nil, answering: NtfyAnswering? = nil,
    trustedRootFile: String? = nil, allowedNetworks: [AddressRange] = [],
    deadline: Duration = PushLimits.requestDeadline
  ) {
    self.apns = apns
    self.answering = answering
    self.trustedRootFile = trustedRootFile
    self.allowedNetworks = allowedNetworks
    self.deadline = deadline
  }

  /// Reads the root certificate as a sender would; a sender accepts an expired one, too.
  ///
  /// - Parameter now: milliseconds since 1970.
  package func checkTrustedRoot(at now: Int64) throws(PushConfigurationError) {
    guard let trustedRootFile else { return }
    let roots = try PushTransport.roots(in: trustedRootFile)
    guard roots.contains(where: { Int64($0.notValidAfter) > now / 1_000 }) else {
      throw .trustedRootExpired(file: trustedRootFile)
    }
  }
}

/// A team at Apple, and the apps that it pushes to.
package struct APNsConfiguration: Sendable {
  package var key: APNsSigningKey
  /// The allowed bundle ids.
  package var topics: Set<String>
  /// The addresses of Apple's two services, or of a test's replacements.
  package var servers: [APNsAddress.Environment: String]

  package static let appleServers: [APNsAddress.Environment: String] = [
    .development: "https://api.sandbox.push.apple.com",
    .production: "https://api.push.apple.com",
  ]

  package init(
    key: APNsSigningKey, topics: Set<String>,
    servers: [APNsAddress.Environment: String] = appleServers
  ) throws(PushConfigurationError) {
    guard !topics.isEmpty else { throw .noTopic }
    self.key = key
    self.topics = topics
    self.servers = servers
  }
}
