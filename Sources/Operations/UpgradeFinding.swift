extension ServerProbe {
  /// The finding about WebSocket connections, once the health page answered.
  ///
  /// - Returns: a warning if there was no answer this time: something may cut such connections.
  package func upgradeFinding() async -> DoctorFinding {
    do {
      return Self.upgradeFinding(status: try await upgradeReply().status, at: address)
    } catch {
      return .warning(
        "serverUpgrade",
        "\(address.text) answers HTTP but not WebSocket requests: \(error.reason)",
        fix:
          "Run the doctor again. If the result is the same, find out which proxy cuts "
          + "WebSockets off."
      )
    }
  }

  package static func upgradeFinding(status: Int, at address: DoctorAddress) -> DoctorFinding {
    guard status != 101 else {
      return .ok("serverUpgrade", "\(address.text) accepts WebSocket connections")
    }
    guard status != 503 else {
      return .warning(
        "serverUpgrade", "\(address.text) accepts no more devices at the moment (HTTP status 503)",
        fix: "Run the doctor again, and on the server: cospool-server doctor")
    }
    return .error(
      "serverUpgrade",
      "\(address.text) accepts no WebSocket connection (HTTP status \(status)): no device "
        + "can connect",
      fix: "Configure the proxy in front of the server to pass on the fields Upgrade and "
        + "Connection over HTTP/1.1. In nginx: proxy_http_version 1.1, proxy_set_header.")
  }
}
