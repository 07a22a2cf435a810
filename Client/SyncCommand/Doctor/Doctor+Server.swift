import AgentFormats
import Basics
import HealthChecks
import LocalAPI
import NIOCore
import QueueModel

#if canImport(FoundationEssentials)
  import FoundationEssentials
#else
  import Foundation
#endif

/// The way to the server.
extension Doctor {
  static let serverChecks = [
    Check(code: "server", run: server), local("sync", sync),
    Check(
      code: "serverHealth",
      late: .silence(
        of: "the server",
        fix:
          "It may hang, or what stands in front of it: its operator should look at cospool-server "
          + "doctor, and restart it."), run: serverHealth),
    Check(code: "frameSize", run: frameSize),
  ]

  /// A certificate should have been renewed by then.
  static let certificateDaysLow = 14
  /// Clocks that differ by more make times and orders odd.
  static let clockSecondsMax: Double = 60

  /// Whether the device is paired, and whether the server's name leads anywhere.
  private static func server(_ context: DoctorContext) async -> [DoctorFinding] {
    guard let server = context.server else {
      return [
        .info(
          "server", "this device is paired with no server; it works alone",
          fix: "cospool pair URL CODE")
      ]
    }
    guard let address = DoctorAddress(server) else {
      return [
        .error("server", "\(server) is no address of a server", fix: "Pair the device again.")
      ]
    }
    let found = await Deadline.blocking {
      (try? SocketAddress.makeAddressResolvingHost(address.host, port: address.port))
        .map { $0.ipAddress ?? address.host }
    }
    guard let found else {
      return [
        .error(
          "serverName", "the name \(address.host) is unknown",
          fix: "Check the network and the name server; else the server's operator knows its name.")
      ]
    }
    return [.ok("serverName", "\(address.host) is \(found)")]
  }

  /// What the daemon's own connection says: only it has the device's token.
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
          "syncRefused", "\(server) does not take what this device sends: \(reason)",
          fix:
            "Do what the reason says; limits are its operator's (cospool-server workspace quota). "
            + "Then cospool sync now."),
      ]
    case .connecting: return [.info("sync", "the daemon connects at the moment")]
    case .disabled:
      return [.warning("sync", "sync is turned off on this device", fix: "cospool sync on")]
    case .waiting:
      return [
        .error(
          "sync", "the daemon is not connected: \(status.lastError ?? "no reason is known")",
          fix: "See what the other checks of the server say; then cospool sync now.")
      ]
    case .refused:
      let reason = status.lastError ?? status.refusalCode ?? "no reason given"
      return [
        .error(
          "token", "\(server) refuses this device: \(reason)",
          fix: "Get a code (cospool-server pair) and pair it again: "
            + "cospool pair \(Shell.quoted(server)) CODE")
      ]
    }
  }

  /// Whether what stands between carries what devices send: over the daemon's own connection.
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
      return [.info("frameSize", "no large frame was sent: \(failure.message)")]
    }
  }

  static func finding(of answer: ProbeAnswer, at server: String) -> DoctorFinding {
    let frame = "a frame of \(answer.bytes >> 10) KiB"
    switch answer.outcome {
    case .returned:
      return .ok(
        "frameSize", "\(frame) went to \(server) and back in \(answer.milliseconds) ms")
    case .late:
      return .info(
        "frameSize",
        "\(frame) was not back from \(server) after \(answer.milliseconds) ms: the way is slow")
    case .connectionEnded:
      return .error(
        "frameSize",
        "the connection to \(server) ended on \(frame): what is large never arrives",
        fix: "Have the proxy in front of the server let messages of 1 MiB through on WebSockets: "
          + "limits of sizes, buffers and filters are in its settings.")
    }
  }

  private static func serverHealth(_ context: DoctorContext) async -> [DoctorFinding] {
    guard let server = context.server, let address = DoctorAddress(server) else { return [] }
    let file = context.settings["certificate"]?.text ?? context.variables["COSPOOL_CERTIFICATE"]
    do {
      let probe = ServerProbe(
        address: address, certificateFile: file, connectSeconds: context.limits.connectSeconds)
      let reply = try await probe.reply()
      let found = findings(of: reply, at: address, now: context.now, clock: Date())
      return reply.status == 200 ? found + [await probe.upgradeFinding()] : found
    } catch {
      // A name that is unknown is told by its own check.
      guard error.code != "serverName" else { return [] }
      return [.error(error.code, error.reason, fix: fix(of: error.code, address))]
    }
  }

  private static func fix(of code: String, _ address: DoctorAddress) -> String {
    switch code {
    case "serverCertificate": "cospool config set certificate FILE, its root as PEM"
    case "serverTLS":
      "Have the server's operator renew or correct its certificate; where it has a root of its own: "
        + "cospool config set certificate FILE"
    case "certificateDays": renewal
    case "serverPort":
      "See that cospool-server runs there, and that a firewall lets port "
        + "\(address.port) through. Has it moved? cospool server move URL"
    default: "See that cospool-server, and no other program, listens on port \(address.port)."
    }
  }

  /// - Parameters:
  ///   - now: days left are counted from here.
  ///   - clock: this machine's time when the reply came.
  static func findings(
    of reply: ServerProbe.Reply, at address: DoctorAddress, now: Date, clock: Date
  ) -> [DoctorFinding] {
    var findings: [DoctorFinding] = []
    if let ends = reply.certificateEnds {
      findings.append(certificate(ends: ends, address, now: now))
    }
    switch reply.status {
    case 200: findings.append(.ok("serverHealth", "\(address.text) is well"))
    case 503:
      findings.append(
        .error(
          "serverHealth", "\(address.text) says that it is not well",
          fix: "Its operator should look at its log and its disk: cospool-server status"))
    default:
      findings.append(
        .error(
          "serverHealth", "\(address.text) answers with HTTP status \(reply.status)",
          fix: fix(of: "serverHealth", address)))
    }
    if let date = reply.date.flatMap(ServerProbe.date) {
      let seconds = clock.timeIntervalSince(date)
      let difference = TextStyle.duration(seconds: Int64(abs(seconds)))
      findings.append(
        abs(seconds) <= clockSecondsMax
          ? .ok("clock", "as the server's, within \(Int(clockSecondsMax)) seconds")
          : .error(
            "clock",
            "this clock is \(difference) \(seconds > 0 ? "ahead of" : "behind") the server's",
            fix: "Let the system set it: timedatectl set-ntp true; here, or at the server."))
    }
    return findings
  }

  private static let renewal =
    "Have the server's operator renew it; the server reads the new file by itself."

  private static func certificate(
    ends: Int64, _ address: DoctorAddress, now: Date
  ) -> DoctorFinding {
    let days = Int((Double(ends) - now.timeIntervalSince1970) / 86_400)
    if Double(ends) <= now.timeIntervalSince1970 {
      return .error(
        "certificateDays", "the certificate of \(address.text) has expired", fix: renewal)
    }
    let what = "the certificate of \(address.text) is good for \(days) days"
    return days < certificateDaysLow
      ? .warning("certificateDays", what, fix: renewal) : .ok("certificateDays", what)
  }
}
