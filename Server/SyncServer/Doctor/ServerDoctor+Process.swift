import Basics
import Foundation
import Operations

/// The serving process, and the connection to it.
extension ServerDoctor {
  static let processChecks: [Check] = [
    .local("server", server), .local("descriptors", descriptors),
    Check(code: "serverHealth", late: .silence(of: "the server", fix: restart), run: serverHealth),
    Check(
      code: "serverAddress",
      late: .silence(
        of: "the address of devices",
        fix: "If serverHealth is ok, the proxy in front of the server hangs: restart the proxy."),
      run: address),
  ]

  /// Each connection uses a descriptor.
  static let descriptorsLow = 4_096
  private static let connectSeconds: Int64 = 2
  private static let restart =
    "The process runs but does not answer: look at its log, and restart it."

  private static func server(_ context: ServerDoctorContext) -> [DoctorFinding] {
    guard context.isServed else {
      return [
        .error(
          "server", "no server runs for \(context.dataDirectory)",
          fix: startFix(context))
      ]
    }
    guard let listening = context.listening else {
      return [
        .error(
          "server",
          "a process has locked \(context.dataDirectory), but does not report its address",
          fix: "Look at its log. If it does not finish starting or stopping, stop it and "
            + "start it again.")
      ]
    }
    var findings = [
      DoctorFinding.ok("server", "process \(listening.processID) serves on \(listening.url)")
    ]
    if listening.version != ServerVersion.text {
      findings.append(
        .warning(
          "serverVersion",
          "the running server has version \(listening.version), this program \(ServerVersion.text)",
          fix: "Restart it; devices connect again by themselves."))
    } else {
      findings.append(
        .ok("serverVersion", "version \(ServerVersion.text), the same as this program"))
    }
    return findings
  }

  /// No server starts while a database must be restored first.
  static func startFix(_ context: ServerDoctorContext) -> String {
    if ServerBackup.isPending(in: context.dataDirectory) {
      return "The server starts only after that restore is complete: see restoring."
    }
    if !context.hasDatabase, !context.databasesSetAside.isEmpty {
      return "The server starts only with a database: see storeSetAside."
    }
    return context.startAdvice
      ?? "Start it: cospool-server --data \(Shell.quoted(context.dataDirectory))"
  }

  /// The number of files and sockets that the process may open.
  private static func descriptors(_ context: ServerDoctorContext) -> [DoctorFinding] {
    guard let process = context.listening?.processID,
      let text = try? String(contentsOfFile: "/proc/\(process)/limits", encoding: .utf8)
    else { return [] }
    return descriptors(text).map { [$0] } ?? []
  }

  /// - Parameter limits: the contents of `/proc/PID/limits` (`proc(5)`).
  static func descriptors(_ limits: String) -> DoctorFinding? {
    let name = "Max open files"
    guard let line = limits.split(separator: "\n").first(where: { $0.hasPrefix(name) }),
      let soft = line.dropFirst(name.count).split(separator: " ").first.flatMap({ Int($0) })
    else { return nil }
    return soft < descriptorsLow
      ? .warning(
        "descriptors", "the server may open \(soft) files and sockets",
        fix: "Raise the limit: LimitNOFILE=65536 in the service, or ulimit -n 65536 before "
          + "you start it.")
      : .ok("descriptors", "the server may open \(soft) files and sockets")
  }

  /// The health page on the server's own port.
  private static func serverHealth(_ context: ServerDoctorContext) async -> [DoctorFinding] {
    guard let address = context.listening.flatMap({ ownAddress($0.url) }) else { return [] }
    do {
      let reply = try await ServerProbe(
        address: address, connectSeconds: connectSeconds, checksCertificate: false
      ).reply()
      return [health(reply.status, of: address)]
        + (reply.certificateEnds.map { [certificate(ends: $0, address, context)] } ?? [])
    } catch {
      return [
        .error("serverHealth", error.reason, fix: restart)
      ]
    }
  }

  /// The address at which this machine reaches its own server: a loopback address if the server
  /// listens everywhere.
  static func ownAddress(_ url: String) -> DoctorAddress? {
    var address = DoctorAddress(url)
    if address?.host == "0.0.0.0" { address?.host = "127.0.0.1" }
    if address?.host == "::" { address?.host = "::1" }
    return address
  }

  /// The address that devices use: its name, the proxy in front, the certificate's chain.
  private static func address(_ context: ServerDoctorContext) async -> [DoctorFinding] {
    if let url = context.url { return await findings(of: url, context) }
    guard let url = context.listening?.devicesURL else { return [] }
    // This machine may not be able to reach the name that others use.
    return await findings(of: url, context).map { found in
      guard ["serverName", "serverPort"].contains(found.code) else { return found }
      return .warning(
        found.code, found.what,
        fix:
          "\(found.fix ?? "") If devices reach it and only this machine does not, nothing is "
          + "wrong.")
    }
  }

  private static func findings(
    of url: String, _ context: ServerDoctorContext
  ) async -> [DoctorFinding] {
    guard let address = DoctorAddress(url) else {
      return [
        .error("serverAddress", "\(url) is not a ws:// or wss:// address", fix: "Correct --url.")
      ]
    }
    do {
      let probe = ServerProbe(
        address: address, certificateFile: context.certificateFile, connectSeconds: connectSeconds)
      let reply = try await probe.reply()
      var found = health(reply.status, of: address)
      found.code = "serverAddress"
      let upgrade = found.severity == .ok ? [await probe.upgradeFinding()] : []
      return [found] + upgrade
        + (reply.certificateEnds.map { [certificate(ends: $0, address, context)] } ?? [])
    } catch {
      let fix =
        switch error.code {
        case "serverName": "Add the name to the name server, or correct --url."
        case "serverTLS":
          "Renew the certificate, or issue one for that name. If it has its own root: "
            + "--certificate FILE"
        case "certificateDays": renewal
        case "serverCertificate": "Pass --certificate a PEM file."
        default:
          "Check that the proxy or the server listens there, and that firewalls allow it."
        }
      return [.error(error.code, error.reason, fix: fix)]
    }
  }

  private static func health(_ status: Int, of address: DoctorAddress) -> DoctorFinding {
    .health(
      status, of: address,
      ifIll: "Its store does not answer in time: look at its log and its disk.",
      ifOther: "Check the address and the proxy: another program answers there.")
  }

  private static let renewal =
    "Renew it. The server loads the new files by itself; a proxy may need a reload."

  private static func certificate(
    ends: Int64, _ address: DoctorAddress, _ context: ServerDoctorContext
  ) -> DoctorFinding {
    .certificate(ends: ends, of: address, now: context.now, renewal: renewal)
  }
}
