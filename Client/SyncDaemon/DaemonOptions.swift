import ArgumentParser
import Basics
import Foundation
import Logging
import Observability
import QueueModel
import SyncClient

/// The command line of `cospoold`.
struct DaemonOptions: ParsableCommand {
  static let configuration = CommandConfiguration(
    commandName: "cospoold",
    abstract: "Keep the queues of this device, and sync them.",
    discussion: """
      EXAMPLES
        cospoold                               queues in the default data directory
        cospoold --data ~/queues --name desk   other directory, other device name
        COSPOOL_LOG=debug cospoold             log more on stderr
        cospoold --check-config                are the settings valid?

      Prints "ready on SOCKET" when it answers. SIGTERM or Ctrl-C stops it cleanly.
      Talk to it with cospool, or with HTTP over the socket. Flags come before environment
      variables, these before config.json in the data directory; cospool config list shows the
      values in effect. HTTPS_PROXY, ALL_PROXY and NO_PROXY name an HTTP proxy to the server.

      Exit codes: 0 stopped, 1 failed, 2 usage, 6 corrupt store, 7 disk, 75 stopped by SIGUSR1,
      after which no agent starts, and running agents end first.
      """,
    version: Version.number)

  @Option(
    help: ArgumentHelp(
      "The data directory. Default: $COSPOOL_DATA, then $XDG_DATA_HOME/cospool.",
      valueName: "dir"))
  var data: String?

  @Option(help: "This device's name. Default: the host's name.")
  var name: String?

  @Option(
    name: .customLong("max-queue-size"),
    help: ArgumentHelp(
      "The number of messages that can wait in a session, 1 to 1000.",
      valueName: "n"))
  var queueSizeMax: Int?

  @Option(name: .customLong("thread-queue"), help: "Whether the thread queue is on: on or off.")
  var threadQueue: Switch?

  @Option(
    help: ArgumentHelp(
      "A PEM file with root certificates to trust for wss, in addition to the system's. "
        + "Default: $COSPOOL_CERTIFICATE.",
      valueName: "file"))
  var certificate: String?

  @Option(
    help: ArgumentHelp(
      "Where the page is served: 127.0.0.1:PORT, another ADDRESS:PORT or off. See cospool web.",
      valueName: "address"))
  var web: String?

  @Option(
    name: .customLong("log-level"),
    help: ArgumentHelp(
      "trace, debug, info, notice, warning, error or critical. Default: $COSPOOL_LOG, then info.",
      valueName: "level"))
  var logLevel: String?

  @Option(
    help: "The format of the log: text, or json with one object a line. Each line has its time.")
  var logFormat = LogFormat.text

  @Flag(
    name: .customLong("check-config"),
    help: "Check the settings and exit, with 2 if one is wrong.")
  var checksSettings = false

  @Flag(
    name: .customLong("check-store"),
    help:
      "Check the store and exit, with 6 if it is damaged. Changes nothing.")
  var checksStore = false

  enum Switch: String, ExpressibleByArgument, CaseIterable {
    case on, off
  }

  func validate() throws {
    guard data != "" else { throw ValidationError(DataPath.empty) }
    if let queueSizeMax, !Limits.queueSizeRange.contains(queueSizeMax) {
      throw ValidationError(
        "--max-queue-size \(queueSizeMax): choose \(Limits.queueSizeRange.lowerBound) to "
          + "\(Limits.queueSizeRange.upperBound).")
    }
    if let logLevel, Logger.Level(rawValue: logLevel) == nil {
      throw ValidationError("--log-level \(logLevel): no such level.")
    }
    if let web, web != WebAddress.off, WebAddress(web) == nil {
      throw ValidationError(
        "--web \(web): choose off or a numeric address with a port. Other addresses than 127.0.0.1 "
          + "and [::1] need TLS: webCertificate and webKey.")
    }
    if let certificate, !FileManager.default.isReadableFile(atPath: certificate) {
      throw ValidationError("--certificate \(certificate): no such file, or not readable.")
    }
  }

  /// The settings that the flags set.
  var flags: [SettingName: SettingValue] {
    var flags: [SettingName: SettingValue] = [:]
    flags[.maxQueueSize] = queueSizeMax.map(SettingValue.number)
    flags[.queueEnabled] = threadQueue.map { .flag($0 == .on) }
    flags[.deviceName] = name.map(SettingValue.text)
    flags[.certificate] = certificate.map(SettingValue.text)
    flags[.web] = web.map(SettingValue.text)
    flags[.logLevel] = logLevel.map(SettingValue.text)
    return flags
  }
}

extension LogFormat: ExpressibleByArgument {}
