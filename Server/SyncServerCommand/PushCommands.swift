import ArgumentParser
import Foundation
import SyncServer

/// How notifications leave the server for devices that are not connected.
struct PushCommand: ParsableCommand {
  static let configuration = CommandConfiguration(
    commandName: "push",
    abstract: "Set up, list and test what notifications are pushed to.",
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
      The key stays in its file. A server that runs takes it over within a second, and tries again \
      what was held up. ntfy and webhooks need no set-up, or a root certificate of your own alone: \
      `push configure root`.
      """)

  @OptionGroup var data: DataOptions

  @Option(help: "The file AuthKey_….p8 as Apple made it.")
  var keyFile: String

  @Option(help: "The key's id, 10 characters.")
  var keyID: String

  @Option(help: "The team's id, 10 characters.")
  var teamID: String

  @Option(help: "The app's bundle id; several may be given.")
  var topic: [String]

  @Option(help: "A root certificate, PEM, that counts beside the system's for all kinds.")
  var trustedRoot: String?

  @Option(help: ArgumentHelp("Stands in for api.push.apple.com.", visibility: .hidden))
  var productionServer: String?

  @Option(help: ArgumentHelp("Stands in for api.sandbox.push.apple.com.", visibility: .hidden))
  var developmentServer: String?

  func run() throws {
    // The server may be started somewhere else.
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
    try StandardOutput.write("Stored. A server that runs takes it over within a second.")
  }
}

struct PushConfigureAnswersCommand: ParsableCommand {
  static let configuration = CommandConfiguration(
    commandName: "answers",
    abstract: "Put buttons on ntfy notices that approve and deny.",
    discussion: """
      A button posts to the server itself, so its address must be one that the phone reaches: \
      https, or this machine. What it posts is signed for one request, one decision and the time \
      until it expires.

      EXAMPLES
        cospool-server push configure answers --server https://cospool.example
        cospool-server push configure answers --off
      """)

  @OptionGroup var data: DataOptions

  @Option(help: "The address under which phones reach this server.")
  var server: String?

  @Flag(help: "Sign with a new key: buttons that were sent before stop working.")
  var newKey = false

  @Flag(help: "No buttons any more.")
  var off = false

  func validate() throws {
    guard off == (server == nil), !(off && newKey) else {
      throw ValidationError("Give --server, or --off.")
    }
  }

  func run() throws {
    try ServerAdministration(dataDirectory: data.resolved)
      .configureAnswers(server: server, renewsKey: newKey)
    try StandardOutput.write("Stored. A server that runs takes it over within a second.")
  }
}

struct PushConfigureRootCommand: ParsableCommand {
  static let configuration = CommandConfiguration(
    commandName: "root",
    abstract: "Trust the root certificate of an authority of your own.",
    discussion: """
      It counts beside the system's for Apple's service, ntfy and webhooks. It is read now and when \
      the server starts: run this again after renewing the file. `cospool-server status` says what \
      is wrong with it: missing, no PEM, expired.

      EXAMPLES
        cospool-server push configure root --file /etc/ssl/home-ca.pem
        cospool-server push configure root --off
      """)

  @OptionGroup var data: DataOptions

  @Option(help: "The certificate, PEM; the file may hold several.")
  var file: String?

  @Flag(help: "The system's root certificates alone.")
  var off = false

  func validate() throws {
    guard off == (file == nil) else { throw ValidationError("Give --file, or --off.") }
  }

  func run() throws {
    // The server may be started somewhere else.
    let path = file.map { URL(filePath: $0).path(percentEncoded: false) }
    try ServerAdministration(dataDirectory: data.resolved).configure(trustedRootFile: path)
    try StandardOutput.write("Stored. A server that runs takes it over within a second.")
  }
}

struct PushConfigureNetworkCommand: ParsableCommand {
  static let configuration = CommandConfiguration(
    commandName: "network",
    abstract: "Allow pushes to addresses of this machine or of a private network.",
    discussion: """
      Every device says where its notices go, and this server asks there from within its network. So \
      ntfy and webhooks are asked nowhere but at addresses that everybody reaches, and at those that are \
      allowed here. What is given replaces what was.

      EXAMPLES
        cospool-server push configure network --allow 10.0.0.8 --allow 192.168.7.0/24
        cospool-server push configure network --off
      """)

  @OptionGroup var data: DataOptions

  @Option(
    help: ArgumentHelp("An address or a range; several may be given.", valueName: "address[/bits]"))
  var allow: [String] = []

  @Flag(help: "Only addresses that everybody reaches.")
  var off = false

  func validate() throws {
    guard off == allow.isEmpty else { throw ValidationError("Give --allow, or --off.") }
  }

  func run() throws {
    try ServerAdministration(dataDirectory: data.resolved).configure(allowedNetworks: allow)
    try StandardOutput.write("Stored. A server that runs takes it over within a second.")
  }
}

struct PushTargetsCommand: ParsableCommand {
  static let configuration = CommandConfiguration(
    commandName: "targets",
    abstract: "List where devices have their notifications pushed to, without secrets.")

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
    abstract: "Send a notice to one target now, and show what its provider answers.")

  @OptionGroup var data: DataOptions

  @Argument(help: "The target's id, or a unique beginning of it.")
  var target: String

  func run() async throws {
    try StandardOutput.write(
      await ServerAdministration(dataDirectory: data.resolved).testPush(target: target))
  }
}
