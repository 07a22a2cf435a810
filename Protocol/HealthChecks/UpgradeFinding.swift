extension ServerProbe {
  /// What a doctor says of the way that devices take, once the health page answered.
  ///
  /// - Returns: a warning where no answer came this time: something may cut such connections.
  package func upgradeFinding() async -> DoctorFinding {
    do {
      return Self.upgradeFinding(status: try await upgradeReply().status, at: address)
    } catch {
      return .warning(
        "serverUpgrade",
        "\(address.text) answers, and to a WebSocket it did not: \(error.reason)",
        fix:
          "Run the doctor again. Where it stays, see what in front of the server cuts WebSockets off."
      )
    }
  }

  package static func upgradeFinding(status: Int, at address: DoctorAddress) -> DoctorFinding {
    guard status != 101 else {
      return .ok("serverUpgrade", "\(address.text) lets WebSocket through")
    }
    guard status != 503 else {
      return .warning(
        "serverUpgrade", "\(address.text) takes no more devices now (HTTP status 503)",
        fix: "Run the doctor again; on the server: cospool-server doctor.")
    }
    return .error(
      "serverUpgrade",
      "\(address.text) answers, and lets no WebSocket through (HTTP status \(status)): no device can "
        + "connect",
      fix: "Have the proxy in front of the server pass the fields Upgrade and Connection on, over "
        + "HTTP/1.1; nginx: proxy_http_version 1.1, proxy_set_header.")
  }
}
