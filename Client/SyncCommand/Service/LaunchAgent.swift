import Basics
import Operations
import Platform

/// The file by which launchd of macOS runs the daemon; launchd.plist(5), launchctl(1).
struct LaunchAgent: Equatable, Sendable {
  /// The daemon's program, absolute.
  var program: String
  /// The daemon's data directory, absolute.
  var dataDirectory: String
  /// The folders in which the daemon looks for agents.
  var searchPath: String
  /// The user's home folder.
  var home: String
  /// The variables that name a proxy, for the daemon and its agents.
  var proxyVariables: [String: String] = [:]

  static let label = "org.cospool.cospoold"
  static let command = "cospool service VERB"

  /// Whether this machine has launchd and no systemd.
  static func isUsed(_ variables: [String: String]) -> Bool {
    ProgramRun.path(of: "systemctl", in: variables) == nil
      && ProgramRun.path(of: "launchctl", in: variables) != nil
  }

  static func path(home: String) -> String { "\(home)/Library/LaunchAgents/\(label).plist" }
  static func log(home: String) -> String { "\(home)/Library/Logs/Cospool/cospoold.log" }
  /// Its name for launchctl.
  static var target: String { "gui/\(getuid())/\(label)" }

  /// The file's text. launchd restarts the daemon after a failure, and gives it time to let its
  /// agents end. It does not throttle them like background processes.
  func text() -> String {
    let log = Self.escaped(Self.log(home: home))
    let variables = ([("PATH", searchPath)] + proxyVariables.sorted { $0.key < $1.key }).map {
      "<key>\(Self.escaped($0.0))</key><string>\(Self.escaped($0.1))</string>"
    }.joined()
    return """
      <?xml version="1.0" encoding="UTF-8"?>
      <!DOCTYPE plist PUBLIC "-//Apple//DTD PLIST 1.0//EN" \
      "http://www.apple.com/DTDs/PropertyList-1.0.dtd">
      <plist version="1.0">
      <dict>
        <key>Label</key><string>\(Self.label)</string>
        <key>ProgramArguments</key>
        <array>
          <string>\(Self.escaped(program))</string>
          <string>--data</string>
          <string>\(Self.escaped(dataDirectory))</string>
        </array>
        <key>EnvironmentVariables</key>
        <dict>\(variables)</dict>
        <key>RunAtLoad</key><true/>
        <key>KeepAlive</key><dict><key>SuccessfulExit</key><false/></dict>
        <key>ExitTimeOut</key><integer>45</integer>
        <key>ProcessType</key><string>Adaptive</string>
        <key>StandardOutPath</key><string>\(log)</string>
        <key>StandardErrorPath</key><string>\(log)</string>
      </dict>
      </plist>

      """
  }

  /// The data directory in the file of an agent; nil if it names none.
  static func dataDirectory(in file: Data) -> String? {
    struct Known: Decodable {
      var words: [String]

      enum CodingKeys: String, CodingKey { case words = "ProgramArguments" }
    }
    let words = (try? PropertyListDecoder().decode(Known.self, from: file))?.words ?? []
    return words.firstIndex(of: "--data").flatMap { words.dropFirst($0 + 1).first }
  }

  /// Whether a file is for a data directory; a file that names none is for the default one.
  static func isFile(_ file: Data, of directory: String, _ variables: [String: String]) -> Bool {
    dataDirectory(in: file).map { $0 == directory }
      ?? Paths.dataOption(directory, variables).isEmpty
  }

  private static func escaped(_ text: String) -> String {
    text.replacing("&", with: "&amp;").replacing("<", with: "&lt;").replacing(">", with: "&gt;")
  }

  /// Runs an action of launchd.
  static func launchctl(
    _ words: [String], in environment: Environment
  ) async throws(OperationFailure) -> ProgramRun {
    try await ServiceUnit.run(
      ["launchctl"] + words, variables: environment.variables, for: "cospoold")
  }

  /// Writes the file, and has launchd load it in place of an older one. If launchd refuses, the
  /// older file is restored: the new one would fail at every login.
  ///
  /// - Parameter wasLoaded: whether launchd runs an older one.
  func install(
    wasLoaded: Bool, in environment: Environment
  ) async throws(OperationFailure) -> String {
    let file = try ServiceFile(Self.path(home: home))
    let logs = URL(fileURLWithPath: Self.log(home: home)).deletingLastPathComponent()
    do {
      try FileManager.default.createDirectory(at: logs, withIntermediateDirectories: true)
    } catch {
      throw .unwritable(logs.path(percentEncoded: false), "cannot be made", because: error)
    }
    try file.write(text())
    do throws(OperationFailure) { try await Self.takeIn(file.path, in: environment) } catch {
      throw await file.failure(error, wrote: nil, command: Self.command) {
        () async throws(OperationFailure) in
        try file.bringBack()
        if file.former != nil, wasLoaded { try await Self.takeIn(file.path, in: environment) }
      }
    }
    return file.path
  }

  private static func takeIn(
    _ path: String, in environment: Environment
  ) async throws(OperationFailure) {
    // One that is not loaded need not be unloaded.
    _ = try await launchctl(["bootout", target], in: environment)
    _ = try await launchctl(["bootstrap", "gui/\(getuid())", path], in: environment)
      .succeeded("launchctl bootstrap")
  }

  /// - Returns: whether there was one.
  static func uninstall(
    _ path: String, in environment: Environment
  ) async throws(OperationFailure) -> Bool {
    guard FileManager.default.fileExists(atPath: path) else { return false }
    _ = try await launchctl(["bootout", target], in: environment)
    try ServiceFile.remove(path)
    return true
  }

  /// The latest lines of its log.
  static func lines(
    _ count: Int, home: String, in environment: Environment
  ) async throws(OperationFailure) -> String {
    try await ServiceUnit.run(
      ["tail", "-n", "\(count)", log(home: home)], variables: environment.variables,
      for: "cospoold"
    ).succeeded("tail")
  }
}
