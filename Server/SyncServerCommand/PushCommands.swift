import ArgumentParser
import Foundation
import SyncServer

/// Sets up the pushes that notify users of devices that are not connected.
struct PushCommand: ParsableCommand {
  static let configuration = CommandConfiguration(
    commandName: "push",
    abstract: "Set up, list and test push targets.",
    subcommands: [PushConfigureCommand.self, PushTargetsCommand.self, PushTestCommand.self])
}

struct PushConfigureCommand: ParsableCommand {
  static let configuration = CommandConfiguration(
    commandName: "configure", abstract: "Set up a provider.",
    subcommands: [
      PushConfigureAPNsCommand.self, PushConfigureAnswersCommand.self,
      PushConfigureRootCommand.self, PushConfigureNetworkCommand.self,
    ])
}

struct PushConfigureAPNsCommand: ParsableCommand {
  static let configuration = CommandConfiguration(
    commandName: "apns",
    abstract: "Push to Apple's devices with the key of a team.",
    discussion: """
      The key stays in its file. A running server applies it within a second, and retries \
      delayed pushes. ntfy and webhooks need no set-up, except for your own root certificate: \
      `push configure root`.
      """)

  @OptionGroup var data: DataOptions

  @Option(help: "The file AuthKey_….p8 from Apple.")
  var keyFile: String

  @Option(help: "The key's id, 10 characters.")
  var keyID: String

  @Option(help: "The team's id, 10 characters.")
  var teamID: String

  @Option(help: "The app's bundle id; may be repeated.")
  var topic: [String]

  @Option(
    help: "A root certificate in PEM to trust in addition to the system's, for all kinds of pushes."
  )
  var trustedRoot: String?

  @Option(help: ArgumentHelp("Replaces api.push.apple.com.", visibility: .hidden))
  var productionServer: String?

  @Option(help: ArgumentHelp("Replaces api.sandbox.push.apple.com.", visibility: .hidden))
  var developmentServer: String?

  func run() throws {
    // The server may start in another folder.
    let keyPath = URL(filePath: keyFile).path(percentEncoded: false)
    let rootPath = trustedRoot.map { URL(filePath: $0).path(percentEncoded: false) }
    var servers: [String: String] = [:]
    servers["production"] = productionServer
    servers["development"] = developmentServer
    try ServerAdministration(dataDirectory: data.resolved).configure(
      apns: PushSettings.APNs(
        keyFile: keyPath, keyID: keyID, teamID: teamID, topics: topic,
        servers: servers.isEmpty ? nil : servers),
      trustedRootFile: rootPath)
    try StandardOutput.write("Stored. A running server applies it within a second.")
  }
}

struct PushConfigureAnswersCommand: ParsableCommand {
  static let configuration = CommandConfiguration(
    commandName: "answers",
    abstract: "Put buttons on ntfy notices that approve and deny.",
    discussion: """
      A button posts to the server itself, so the phone must be able to reach its address: \
      https, or this machine. The post is signed for one request and one decision, until the \
      request expires.

      EXAMPLES
        cospool-server push configure answers --server https://cospool.example
        cospool-server push configure answers --off
      """)

  @OptionGroup var data: DataOptions

  @Option(help: "The address at which phones reach this server.")
  var server: String?

  @Flag(help: "Sign with a new key, so that earlier buttons stop working.")
  var newKey = false

  @Flag(help: "Stop sending buttons.")
  var off = false

  func validate() throws {
    guard off == (server == nil), !(off && newKey) else {
      throw ValidationError("Give --server, or --off.")
    }
  }

  func run() throws {
    try ServerAdministration(dataDirectory: data.resolved)
      .configureAnswers(server: server, renewsKey: newKey)
    try StandardOutput.write("Stored. A running server applies it within a second.")
  }
}

struct PushConfigureRootCommand: ParsableCommand {
  static let configuration = CommandConfiguration(
    commandName: "root",
    abstract: "Trust the root certificate of your own authority.",
    discussion: """
      The server trusts it in addition to the system's, for Apple's service, ntfy and webhooks. \
      It reads the file now and when it starts: run this command again after you renew the \
      file. `cospool-server status` reports if it is missing, not PEM or expired.

      EXAMPLES
        cospool-server push configure root --file /etc/ssl/home-ca.pem
        cospool-server push configure root --off
      """)

  @OptionGroup var data: DataOptions

  @Option(help: "The certificate in PEM; the file can contain several.")
  var file: String?

  @Flag(help: "Trust only the system's root certificates.")
  var off = false

  func validate() throws {
    guard off == (file == nil) else { throw ValidationError("Give --file, or --off.") }
  }

  func run() throws {
    // The server may start in another folder.
    let path = file.map { URL(filePath: $0).path(percentEncoded: false) }
    try ServerAdministration(dataDirectory: data.resolved).configure(trustedRootFile: path)
    try StandardOutput.write("Stored. A running server applies it within a second.")
  }
}

struct PushConfigureNetworkCommand: ParsableCommand {
  static let configuration = CommandConfiguration(
    commandName: "network",
    abstract: "Allow pushes to addresses of this machine or of a private network.",
    discussion: """
      Every device chooses where its notifications go, and this server connects there from \
      inside its network. So the server pushes to ntfy and webhooks only at public addresses, \
      and at those that you allow here. A new list replaces the old one.

      EXAMPLES
        cospool-server push configure network --allow 10.0.0.8 --allow 192.168.7.0/24
        cospool-server push configure network --off
      """)

  @OptionGroup var data: DataOptions

  @Option(
    help: ArgumentHelp("An address or a range; may be repeated.", valueName: "address[/bits]"))
  var allow: [String] = []

  @Flag(help: "Allow only public addresses.")
  var off = false

  func validate() throws {
    guard off == allow.isEmpty else { throw ValidationError("Give --allow, or --off.") }
  }

  func run() throws {
    try ServerAdministration(dataDirectory: data.resolved).configure(allowedNetworks: allow)
    try StandardOutput.write("Stored. A running server applies it within a second.")
  }
}

struct PushTargetsCommand: ParsableCommand {
  static let configuration = CommandConfiguration(
    commandName: "targets",
    abstract: "List the push targets of all devices, without secrets.")

  @OptionGroup var data: DataOptions

  @Flag(help: "Print JSON.")
  var json = false

  func run() throws {
    let list = try ServerAdministration(dataDirectory: data.resolved).pushTargets()
    if json { return try StandardOutput.write(json: list) }
    guard !list.targets.isEmpty else {
      return StandardError.write("No push targets yet. A device adds one: cospool push add.\n")
    }
    try StandardOutput.write(list.targets.map(\.text).joined(separator: "\n"))
  }
}

struct PushTestCommand: AsyncParsableCommand {
  static let configuration = CommandConfiguration(
    commandName: "test",
    abstract: "Send a test push to one target now, and show its provider's answer.")

  @OptionGroup var data: DataOptions

  @Argument(help: "The target's id, or a unique beginning of it.")
  var target: String

  func run() async throws {
    try StandardOutput.write(
      await ServerAdministration(dataDirectory: data.resolved).testPush(target: target))
  }
}
