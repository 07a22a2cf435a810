import AgentFormats
import Basics
import LocalAPI
import NIOCore
import Operations
import Platform
import ProxyTunnel
import QueueModel

/// The connection to the server.
extension Doctor {
  static let serverChecks: [Check] = [
    Check(code: "server", run: server), .local("sync", sync),
    Check(
      code: "serverHealth",
      late: .silence(
        of: "the server",
        fix:
          "The server or a proxy in front of it may hang. Its operator can run "
          + "cospool-server doctor and restart it."), run: serverHealth),
    Check(code: "frameSize", run: frameSize),
  ]

  /// A larger difference between clocks causes wrong times and orders.
  static let clockSecondsMax: Double = 60

  /// Whether the device is paired, and whether the server's name leads anywhere.
  private static func server(_ context: DoctorContext) async -> [DoctorFinding] {
    guard let server = context.server else {
      return [
        .info(
          "server", "this device has no server; it works alone",
          fix: "cospool pair URL CODE")
      ]
    }
    guard let address = DoctorAddress(server) else {
      return [
        .error("server", "\(server) is not the address of a server", fix: "Pair the device again.")
      ]
    }
    do throws(ProxyAddress.Fault) {
      if let proxy = try ProxyAddress.named(
        by: context.variables, for: address.host, isSecure: address.isSecure)
      {
        // Only the proxy may know the name.
        return [.ok("serverName", "the proxy \(proxy.place) leads to \(address.host)")]
      }
    } catch {
      return [.error("serverProxy", "\(error)", fix: fix(of: "serverProxy", address))]
    }
    let found = await Deadline.blocking {
      (try? SocketAddress.makeAddressResolvingHost(address.host, port: address.port))
        .map { $0.ipAddress ?? address.host }
    }
    guard let found else {
      return [
        .error(
          "serverName", "the name \(address.host) is unknown",
          fix: "Check the network and the name server, or ask the server's operator for its name.")
      ]
    }
    return [.ok("serverName", "\(address.host) is \(found)")]
  }

  /// The state of the daemon's own connection: only the daemon has the device's token.
  private static func sync(_ context: DoctorContext) -> [DoctorFinding] {
    guard let status = (try? context.status.get())?.sync, let server = status.server else {
      return []
    }
    switch status.state {
    case .notPaired: return []
    case .connected:
      let accepted = DoctorFinding.ok("token", "\(server) accepts this device")
      guard let reason = status.lastError else { return [accepted] }
      return [
        accepted,
        .warning(
          "syncRefused", "\(server) rejects the changes of this device: \(reason)",
          fix:
            "Correct what the reason names; the server's operator sets its limits "
            + "(cospool-server workspace quota). Then: cospool sync now"),
      ]
    case .connecting: return [.info("sync", "the daemon is connecting")]
    case .disabled:
      return [.warning("sync", "sync is turned off on this device", fix: "cospool sync on")]
    case .waiting:
      return [
        .error(
          "sync", "the daemon is not connected: \(status.lastError ?? "no reason is known")",
          fix: "See the other checks of the server; then: cospool sync now")
      ]
    case .refused:
      let reason = status.lastError ?? status.refusalCode ?? "no reason given"
      return [
        .error(
          "token", "\(server) refuses this device: \(reason)",
          fix: "Print a code on the server (cospool-server pair), and pair again: cospool "
            + "pair \(Shell.quoted(server)) CODE")
      ]
    }
  }

  /// Whether proxies on the way carry what devices send: over the daemon's own connection.
  private static func frameSize(_ context: DoctorContext) async -> [DoctorFinding] {
    guard let sync = (try? context.status.get())?.sync, sync.state == .connected,
      let server = sync.server
    else { return [] }
    var request = context.limits.request(["sync", "probe"], .post)
    request.timeoutSeconds = context.limits.frameSeconds
    do {
      let answer = try await context.connection.answer(to: request).decoded(ProbeAnswer.self)
      return [finding(of: answer, at: server)]
    } catch {
      let failure = CommandRunner.failure(of: error)
      return [.info("frameSize", "the check sent no large frame: \(failure.message)")]
    }
  }

  static func finding(of answer: ProbeAnswer, at server: String) -> DoctorFinding {
    let frame = "a frame of \(answer.bytes >> 10) KiB"
    switch answer.outcome {
    case .returned:
      return .ok(
        "frameSize", "\(frame) took \(answer.milliseconds) ms to \(server) and back")
    case .late:
      return .info(
        "frameSize",
        "\(frame) did not return from \(server) within \(answer.milliseconds) ms: the "
          + "connection is slow")
    case .connectionEnded:
      return .error(
        "frameSize",
        "the connection to \(server) broke on \(frame): large changes never arrive",
        fix: "Configure the proxy in front of the server to pass WebSocket messages of 1 MiB: "
          + "see its size limits, buffers and filters.")
    }
  }

  private static func serverHealth(_ context: DoctorContext) async -> [DoctorFinding] {
    guard let server = context.server, let address = DoctorAddress(server) else { return [] }
    let file = context.settings["certificate"]?.text ?? context.variables["COSPOOL_CERTIFICATE"]
    do {
      let probe = ServerProbe(
        address: address, certificateFile: file, connectSeconds: context.limits.connectSeconds,
        proxyVariables: context.variables)
      let reply = try await probe.reply()
      let found = findings(of: reply, at: address, now: context.now, clock: Date())
      return reply.status == 200 ? found + [await probe.upgradeFinding()] : found
    } catch {
      // An unknown name is reported by its own check.
      guard error.code != "serverName" else { return [] }
      return [.error(error.code, error.reason, fix: fix(of: error.code, address))]
    }
  }

  private static func fix(of code: String, _ address: DoctorAddress) -> String {
    switch code {
    case "serverCertificate": "Set a root certificate in PEM: cospool config set certificate FILE"
    case "serverTLS":
      "Ask the server's operator to renew or correct its certificate. If it has its own "
        + "root: cospool config set certificate FILE"
    case "certificateDays": renewal
    case "serverProxy":
      "Correct the variable, or add the server to NO_PROXY. For the service, run afterwards: "
        + "cospool service install"
    case "serverPort":
      "Check that cospool-server runs there, and that firewalls allow port \(address.port). "
        + "If it has moved: cospool server move URL"
    default: "Check that cospool-server listens on port \(address.port), and not another program."
    }
  }

  /// - Parameters:
  ///   - now: the time from which remaining days are counted.
  ///   - clock: this machine's time when the reply arrived.
  static func findings(
    of reply: ServerProbe.Reply, at address: DoctorAddress, now: Date, clock: Date
  ) -> [DoctorFinding] {
    var findings: [DoctorFinding] = []
    if let ends = reply.certificateEnds {
      findings.append(.certificate(ends: ends, of: address, now: now, renewal: renewal))
    }
    findings.append(
      .health(
        reply.status, of: address,
        ifIll: "Its operator can look at its log and its disk: cospool-server status",
        ifOther: fix(of: "serverHealth", address)))
    if let date = reply.date.flatMap(ServerProbe.date) {
      let seconds = clock.timeIntervalSince(date)
      let difference = TextStyle.duration(seconds: Int64(abs(seconds)))
      findings.append(
        abs(seconds) <= clockSecondsMax
          ? .ok("clock", "within \(Int(clockSecondsMax)) seconds of the server's")
          : .error(
            "clock",
            "this clock is \(difference) \(seconds > 0 ? "ahead of" : "behind") the server's",
            fix: "Have the system set the clock, here or on the server: timedatectl set-ntp true"))
    }
    return findings
  }

  private static let renewal =
    "Ask the server's operator to renew it; the server loads the new file by itself."
}
