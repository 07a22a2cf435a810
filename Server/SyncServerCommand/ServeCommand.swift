import ArgumentParser
import Basics
import Logging
import NetworkAddresses
import Observability
import Operations
import ProcessResources
import ServerCore
import SyncServer
import Systemd

/// Serves until SIGTERM or SIGINT.
struct ServeCommand: AsyncParsableCommand {
  static let configuration = CommandConfiguration(
    commandName: "serve",
    abstract: "Serve devices until SIGTERM or SIGINT (the default).",
    discussion: """
      When ready, it prints one line, "listening on ws://HOST:PORT", or wss:// with a \
      certificate. Logs go to standard error. `GET /healthz` answers 200 while the server works.

      The server reloads certificate and key when their files change.
      """)

  @OptionGroup var data: DataOptions

  @Option(help: "The address to listen on.")
  var host = "127.0.0.1"

  @Option(help: "The port to listen on; 0 chooses a free one.")
  var port = SyncServerOptions.portDefault

  @Option(
    help: ArgumentHelp(
      "Use TLS (1.2 or newer) with this certificate: a PEM file with its chain. Needs --key.",
      valueName: "file"))
  var certificate: String?

  @Option(
    help: ArgumentHelp(
      "The certificate's private key: a PEM file without a passphrase.", valueName: "file"))
  var key: String?

  @Flag(
    help: "Listen beyond private networks without a certificate, unencrypted.")
  var insecure = false

  @Flag(help: "Let hosts make pairing codes for new devices, with `cospool pair --show`.")
  var devicesMayPair = false

  @Option(
    help: ArgumentHelp(
      "The MiB that the attachments of one workspace can take.", valueName: "n"))
  var blobQuota = SyncServerOptions.Files().quotaBytes >> 20

  @Option(
    help: ArgumentHelp(
      "The MiB that the log and the state of one workspace can take; beyond it, the server "
        + "refuses changes.",
      valueName: "n"))
  var workspaceQuota = ServerConfiguration().quota.bytesMax >> 20

  @Option(
    help: ArgumentHelp(
      "The MiB of changes that one workspace can send in a day (UTC).", valueName: "n"))
  var dailyQuota = ServerConfiguration().quota.dailyBytesMax >> 20

  @Option(
    name: .customLong("trusted-proxy"),
    help: ArgumentHelp(
      "A proxy that sets X-Forwarded-For to the devices' addresses; may be repeated.",
      valueName: "address[/bits]"))
  var trustedProxies: [String] = []

  @Option(
    help: ArgumentHelp(
      "The address that devices use, if it differs, for example behind a proxy; pair and "
        + "doctor use it.",
      valueName: "url"))
  var url: String?

  @Option(
    help: ArgumentHelp(
      "Serve metrics as OpenMetrics at /metrics: PORT on 127.0.0.1, or HOST:PORT.",
      valueName: "address"))
  var metrics: String?

  @Option(help: "trace, debug, info, notice, warning or error.")
  var logLevel = "notice"

  @Option(
    help: "The format of the log: text, or json with one object a line. Each line has its time.")
  var logFormat = LogFormat.text

  func validate() throws {
    guard (0...65_535).contains(port) else {
      throw ValidationError("--port: give 0 to 65535.")
    }
    guard (1...1_048_576).contains(blobQuota) else {
      throw ValidationError("--blob-quota: give 1 to 1048576.")
    }
    for proxy in trustedProxies where AddressRange(proxy) == nil {
      throw ValidationError(
        "--trusted-proxy: give an address or a range of addresses, such as 127.0.0.1 or "
          + "10.0.0.0/8.")
    }
    guard url.map(Self.isAddress) ?? true else {
      throw ValidationError(
        "--url: give the address that devices use, such as wss://cospool.example.org. It has "
          + "ws:// or wss://, a name of letters, digits, dots and hyphens or an IP address, and "
          + "optionally a port from 1 to 65535 and the folder of a proxy, such as /cospool."
      )
    }
    guard (1...1_048_576).contains(workspaceQuota) else {
      throw ValidationError("--workspace-quota: give 1 to 1048576.")
    }
    guard (1...1_048_576).contains(dailyQuota) else {
      throw ValidationError("--daily-quota: give 1 to 1048576.")
    }
    guard metrics == nil || metrics.flatMap(MetricsAddress.init) != nil else {
      throw ValidationError("--metrics: give PORT or HOST:PORT, such as 9420 or 10.0.0.5:9420.")
    }
    guard (certificate == nil) == (key == nil) else {
      throw ValidationError("--certificate and --key go together: give both, or neither.")
    }
    let isExposed = certificate == nil && ListeningAddress.mayBeReachedFromAfar(host: host)
    guard insecure || !isExposed else {
      throw ValidationError(
        "Without a certificate nothing is encrypted, and \(host) is reachable from "
          + "everywhere. Add --certificate and --key, or use a private address of this machine "
          + "as --host, or listen on 127.0.0.1 behind a TLS proxy, or add --insecure.")
    }
    guard Logger.Level(rawValue: logLevel) != nil else {
      throw ValidationError("--log-level: choose trace, debug, info, notice, warning or error.")
    }
  }

  /// Devices accept a scheme, a host, a port and the folder of a proxy.
  private static func isAddress(_ url: String) -> Bool {
    guard DoctorAddress(url) != nil, let mark = url.firstRange(of: "://") else { return false }
    let place = url[mark.upperBound...]
    return !place.contains { $0.isWhitespace || "?#@".contains($0) }
  }

  func run() async throws {
    logFormat.bootstrap()
    var logger = Logger(label: "cospool-server")
    logger.logLevel = Logger.Level(rawValue: logLevel) ?? .notice
    var options = SyncServerOptions(dataDirectory: data.resolved, host: host, port: port)
    options.metrics = metrics.flatMap(MetricsAddress.init)
    options.core.pairing.devicesMayPair = devicesMayPair
    options.files.quotaBytes = blobQuota << 20
    options.core.quota.bytesMax = workspaceQuota << 20
    options.core.quota.dailyBytesMax = dailyQuota << 20
    options.front.trustedProxies = trustedProxies.compactMap { AddressRange($0) }
    options.front.url = url
    if let certificate, let key {
      options.certificate = ServerCertificate(chainFile: certificate, keyFile: key)
    }
    // Each connection needs a descriptor. If the limit cannot be raised, new connections wait.
    DescriptorLimit.raise(to: 65_536)
    let service = ServerService(
      options: options, logger: logger, notifier: ServiceNotifier.taken())
    try await service.runUntilSignalled()
  }
}

extension LogFormat: ExpressibleByArgument {}
