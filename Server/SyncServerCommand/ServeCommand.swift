import ArgumentParser
import Basics
import HealthChecks
import Logging
import NetworkAddresses
import Observability
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
      Prints one line, "listening on ws://HOST:PORT", when ready; with a certificate, wss://. \
      Logs go to standard error. `GET /healthz` answers 200 while the server works.

      Certificate and key are read again when their files change.
      """)

  @OptionGroup var data: DataOptions

  @Option(help: "The address to listen on.")
  var host = "127.0.0.1"

  @Option(help: "The port to listen on; 0 takes a free one.")
  var port = SyncServerOptions.portDefault

  @Option(
    help: ArgumentHelp(
      "Speak TLS (1.2 or newer) with this certificate: PEM, its chain behind it. Needs --key.",
      valueName: "file"))
  var certificate: String?

  @Option(
    help: ArgumentHelp(
      "The certificate's private key, PEM without a passphrase.", valueName: "file"))
  var key: String?

  @Flag(help: "Without a certificate, listen also where others than a private network come from.")
  var insecure = false

  @Flag(help: "Devices that are paired as host may let new ones in, by `cospool pair --show`.")
  var devicesMayPair = false

  @Option(
    help: ArgumentHelp(
      "MiB that the attachments of one workspace may take.", valueName: "n"))
  var blobQuota = SyncServerOptions.Files().quotaBytes >> 20

  @Option(
    help: ArgumentHelp(
      "MiB that the log and the state of one workspace may take; past it nothing new is taken.",
      valueName: "n"))
  var workspaceQuota = ServerConfiguration().quota.bytesMax >> 20

  @Option(
    help: ArgumentHelp(
      "MiB of changes that one workspace may bring in on a day (UTC).", valueName: "n"))
  var dailyQuota = ServerConfiguration().quota.dailyBytesMax >> 20

  @Option(
    name: .customLong("trusted-proxy"),
    help: ArgumentHelp(
      "A proxy whose X-Forwarded-For says where devices come from; may be given several times.",
      valueName: "address[/bits]"))
  var trustedProxies: [String] = []

  @Option(
    help: ArgumentHelp(
      "The address that devices use, where it is another, as behind a proxy; pair and doctor go by it.",
      valueName: "url"))
  var url: String?

  @Option(
    help: ArgumentHelp(
      "Serve numbers as OpenMetrics under /metrics: PORT on 127.0.0.1, or HOST:PORT.",
      valueName: "address"))
  var metrics: String?

  @Option(help: "trace, debug, info, notice, warning or error.")
  var logLevel = "notice"

  @Option(help: "How the log is written: text, or json, an object a line. Each has its time.")
  var logFormat = LogFormat.text

  func validate() throws {
    guard (0...65_535).contains(port) else {
      throw ValidationError("--port takes 0 to 65535.")
    }
    guard (1...1_048_576).contains(blobQuota) else {
      throw ValidationError("--blob-quota takes 1 to 1048576.")
    }
    for proxy in trustedProxies where AddressRange(proxy) == nil {
      throw ValidationError(
        "--trusted-proxy takes an address or a range of them, such as 127.0.0.1 or 10.0.0.0/8.")
    }
    guard url.map(Self.isAddress) ?? true else {
      throw ValidationError(
        "--url takes the address that devices use, such as wss://cospool.example.org: ws:// or wss://, a "
          + "name of letters, digits, dots and hyphens, or an IP address, and a port of 1 to 65535 or none."
      )
    }
    guard (1...1_048_576).contains(workspaceQuota) else {
      throw ValidationError("--workspace-quota takes 1 to 1048576.")
    }
    guard (1...1_048_576).contains(dailyQuota) else {
      throw ValidationError("--daily-quota takes 1 to 1048576.")
    }
    guard metrics == nil || metrics.flatMap(MetricsAddress.init) != nil else {
      throw ValidationError("--metrics takes PORT or HOST:PORT, such as 9420 or 10.0.0.5:9420.")
    }
    guard (certificate == nil) == (key == nil) else {
      throw ValidationError("--certificate and --key go together: give both, or neither.")
    }
    let isExposed = certificate == nil && ListeningAddress.mayBeReachedFromAfar(host: host)
    guard insecure || !isExposed else {
      throw ValidationError(
        "Without a certificate nothing is encrypted, and \(host) can be reached from everywhere. Give "
          + "--certificate and --key; or a private address of this machine as --host; or listen on "
          + "127.0.0.1 behind a proxy that speaks TLS; or say --insecure.")
    }
    guard Logger.Level(rawValue: logLevel) != nil else {
      throw ValidationError("--log-level takes trace, debug, info, notice, warning or error.")
    }
  }

  /// Devices take a scheme, a host and a port; of paths the usual one.
  private static func isAddress(_ url: String) -> Bool {
    guard DoctorAddress(url) != nil, let mark = url.firstRange(of: "://") else { return false }
    let place = url[mark.upperBound...]
    return !place.contains { $0.isWhitespace || "?#@".contains($0) }
      && ["", "/", SyncEndpoint.path].contains(String(place.drop { $0 != "/" }))
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
    // Each connection takes one. Where it cannot be raised, what cannot be accepted waits.
    DescriptorLimit.raise(to: 65_536)
    let service = ServerService(
      options: options, logger: logger, notifier: ServiceNotifier.taken())
    try await service.runUntilSignalled()
  }
}

extension LogFormat: ExpressibleByArgument {}
