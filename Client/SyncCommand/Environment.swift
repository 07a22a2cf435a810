import Basics
import Dispatch
import Platform
import QueueModel

/// `read` of the system; without a module name, it would be a property below.
private let readBytes: @Sendable (Int32, UnsafeMutableRawPointer?, Int) -> Int = {
  read($0, $1, $2)
}

/// The environment of a command; tests make their own.
struct Environment: Sendable {
  var variables: [String: String]
  var input: StandardInput
  var style: TextStyle
  /// For commands that run until they are stopped.
  var watching: WatchSurroundings
  /// The bytes of stdin, as they arrive, until it ends.
  var pieces: @Sendable () -> AsyncStream<[UInt8]> = { StandardInput.pieces() }
  /// Shows a user a text and asks for yes or no; nil without a user at a terminal.
  var confirm: (@Sendable (String) -> Bool)?
  /// The same for what the user most probably wants: Enter is a yes.
  var accept: (@Sendable (String) -> Bool)?
  /// Shows a user a text and reads a line; nil without a user at a terminal.
  var ask: (@Sendable (String) -> String?)?
  /// Shows a line to the user while a command runs.
  var tell: @Sendable (String) -> Void = {
    DescriptorWriter.writeLine($0, to: STDOUT_FILENO)
  }
  /// How long `cospool doctor` waits.
  var doctorLimits = DoctorLimits()
  /// Writes a line to standard error while a command runs.
  var complain: @Sendable (String) -> Void = {
    DescriptorWriter.writeLine($0, to: STDERR_FILENO)
  }

  /// The environment of this process.
  static func current() -> Environment {
    let variables = ProcessInfo.processInfo.environment
    let isAtTerminal = isatty(STDIN_FILENO) == 1 && isatty(STDERR_FILENO) == 1
    return Environment(
      variables: variables, input: StandardInput { try readStandardInput() },
      style: style(variables),
      watching: WatchSurroundings(
        write: { DescriptorWriter.write($0, to: STDOUT_FILENO) },
        screen: { isTerminal ? screenSize(variables) : nil }, style: { style(variables) },
        stop: { Signals.stream(of: [SIGINT, SIGTERM, SIGHUP]) },
        resizes: { Signals.stream(of: [SIGWINCH]) }),
      confirm: isAtTerminal ? confirmAtTerminal : nil,
      accept: isAtTerminal ? acceptAtTerminal : nil, ask: isAtTerminal ? askAtTerminal : nil)
  }

  /// nil at the end of the input.
  private static func askAtTerminal(_ text: String) -> String? {
    guard DescriptorWriter.write(text, to: STDERR_FILENO) else { return nil }
    return readLine().map { $0.trimmedOfWhitespace() }
  }

  /// Only a clear yes counts; the end of the input counts as no.
  private static func confirmAtTerminal(_ text: String) -> Bool {
    ["y", "yes"].contains(askAtTerminal("\(text) [y/N] ")?.lowercased())
  }

  /// Enter is a yes, too; the end of the input is a no.
  private static func acceptAtTerminal(_ text: String) -> Bool {
    ["", "y", "yes"].contains(askAtTerminal("\(text) [Y/n] ")?.lowercased())
  }

  private static var isTerminal: Bool { isatty(STDOUT_FILENO) == 1 }

  /// Colours are for a terminal that shows them to a user who wants them (no-color.org).
  private static func style(_ variables: [String: String]) -> TextStyle {
    let hasColour =
      isTerminal && (variables["NO_COLOR"] ?? "").isEmpty && variables["TERM"] != "dumb"
    return TextStyle(
      width: isTerminal ? screenSize(variables).columns : nil, hasColour: hasColour, now: Date())
  }

  /// The session for commands that name none.
  var session: String? {
    variables["COSPOOL_SESSION"].flatMap { $0.isEmpty ? nil : $0 }
  }

  /// The directory named by the flag, else by the environment.
  func dataDirectory(flag: String?) throws -> String {
    if let directory = DataPath.device.resolve(option: flag, environment: variables) {
      return directory
    }
    throw CommandFailure.usage(
      "HOME is not set, so there is no default data directory. Give --data DIR.")
  }

  /// A connection to the daemon of a data directory.
  func connection(_ dataDirectory: String) -> DaemonConnection {
    DaemonConnection(dataDirectory: dataDirectory, variables: variables)
  }

  /// The size that the terminal reports; otherwise the variables, otherwise 80 columns and 24 rows.
  private static func screenSize(_ variables: [String: String]) -> ScreenSize {
    func variable(_ name: String, otherwise: Int) -> Int {
      variables[name].flatMap(Int.init).flatMap { $0 > 0 ? $0 : nil } ?? otherwise
    }
    var size = winsize()
    let isKnown = ioctl(STDOUT_FILENO, UInt(TIOCGWINSZ), &size) == 0
    return ScreenSize(
      rows: isKnown && size.ws_row > 0 ? Int(size.ws_row) : variable("LINES", otherwise: 24),
      columns: isKnown && size.ws_col > 0 ? Int(size.ws_col) : variable("COLUMNS", otherwise: 80))
  }

  private static func readStandardInput() throws -> [UInt8] {
    // A user who sees no reaction does not know that input is expected.
    if isatty(STDIN_FILENO) == 1 {
      DescriptorWriter.writeLine(
        "Type the text. To finish, press Ctrl-D on an empty line.", to: STDERR_FILENO)
    }
    var bytes: [UInt8] = []
    while bytes.count <= StandardInput.bytesMax, let piece = try StandardInput.nextPiece() {
      bytes += piece
    }
    return bytes
  }
}

/// The content of stdin, read only if an argument is "-".
struct StandardInput: Sendable {
  /// A longer text cannot be a message, no matter how much of it is white space.
  static let bytesMax = 16 << 20

  var read: @Sendable () throws -> [UInt8]

  /// The next bytes of stdin, or of another open file; nil at the end. Blocks.
  static func nextPiece(of file: Int32 = STDIN_FILENO) throws -> [UInt8]? {
    var buffer = [UInt8](repeating: 0, count: 65_536)
    while true {
      let count = readBytes(file, &buffer, buffer.count)
      if count > 0 { return Array(buffer[..<count]) }
      if count == 0 { return nil }
      if errno == EINTR { continue }
      throw CommandFailure(
        code: "input", message: "stdin cannot be read: \(String(cString: strerror(errno))).",
        exitCode: ExitStatus.failed)
    }
  }

  /// The same from a thread of its own, piece by piece.
  static func pieces() -> AsyncStream<[UInt8]> {
    let (stream, continuation) = AsyncStream<[UInt8]>.makeStream()
    DispatchQueue(label: "cospool.stdin").async {
      // Input that cannot be read counts as ended.
      while let piece = try? StandardInput.nextPiece() { continuation.yield(piece) }
      continuation.finish()
    }
    return stream
  }

  /// The argument itself, or all of stdin if it is "-".
  func text(for argument: String) throws -> String {
    guard argument == "-" else { return argument }
    let bytes = try read()
    guard bytes.count <= StandardInput.bytesMax else {
      throw CommandFailure(
        code: "contentTooLong",
        message: "stdin has more than \(StandardInput.bytesMax) bytes. Split it.",
        exitCode: ExitStatus.failed)
    }
    guard let text = String(validating: bytes, as: UTF8.self) else {
      throw CommandFailure(
        code: "input", message: "stdin is not UTF-8 text.", exitCode: ExitStatus.failed)
    }
    return text
  }
}
