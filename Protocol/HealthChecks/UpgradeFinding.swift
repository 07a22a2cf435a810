extension ServerProbe {
  /// What a doctor says of the way that devices take, once the health page answered.
  ///
  /// - Returns: nil where the server did not answer this time: what that is, its page tells.
  package func upgradeFinding() async -> DoctorFinding? {
    guard let status = try? await upgradeReply().status else { return nil }
    return Self.upgradeFinding(status: status, at: address)
  }

  static func upgradeFinding(status: Int, at address: DoctorAddress) -> DoctorFinding {
    guard status != 101 else {
      return .ok("serverUpgrade", "\(address.text) lets WebSocket through")
    }
    return .error(
      "serverUpgrade",
      "\(address.text) answers, and lets no WebSocket through (HTTP status \(status)): no device can "
        + "connect",
      fix: "Have the proxy in front of the server pass the fields Upgrade and Connection on, over "
        + "HTTP/1.1; nginx: proxy_http_version 1.1, proxy_set_header.")
  }
}
