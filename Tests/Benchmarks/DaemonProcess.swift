import Foundation

/// A real `cospoold` process with a store, and requests to it.
///
/// `posix_spawn` starts it, and answers are parsed by hand: the daemon and the command line are
/// measured, and not a library of this process.
final class DaemonProcess {
  let directory: String
  private let pid: pid_t
  private var socketPath: String { directory + "/cospool.sock" }
  private var isRunning = true

  /// The path of an executable: beside this one, or in `COSPOOL_BIN`.
  static func executable(_ name: String) -> String? {
    let chosen = ProcessInfo.processInfo.environment["COSPOOL_BIN"].map { URL(filePath: $0) }
    let folders = [chosen, Bundle.main.executableURL?.deletingLastPathComponent()]
    return folders.compactMap { $0?.appending(path: name).path(percentEncoded: false) }
      .first { FileManager.default.isExecutableFile(atPath: $0) }
  }

  /// Starts it, and returns when it reports that it answers.
  ///
  /// - Parameter name: the device's; nil is the machine's.
  init(directory: String, isNamed name: String? = nil) throws {
    guard let path = Self.executable("cospoold") else {
      throw BenchFailure("there is no cospoold beside cospool-bench")
    }
    var ends: [Int32] = [0, 0]
    guard pipe(&ends) == 0 else { throw BenchFailure("no pipe: errno \(errno)") }
    defer { close(ends[0]) }
    let arguments = ["--data", directory, "--log-level", "error"]
    pid = try Self.spawn(path, arguments + (name.map { ["--name", $0] } ?? []), output: ends[1])
    self.directory = directory
    close(ends[1])
    var line: [UInt8] = []
    var byte: UInt8 = 0
    while read(ends[0], &byte, 1) == 1, byte != UInt8(ascii: "\n") { line.append(byte) }
    guard line.starts(with: Array("ready on ".utf8)) else {
      throw BenchFailure("cospoold does not answer: \(String(decoding: line, as: UTF8.self))")
    }
  }

  /// Starts a process; `output` becomes its standard output.
  static func spawn(_ path: String, _ arguments: [String], output: Int32) throws -> pid_t {
    var actions = posix_spawn_file_actions_t()
    posix_spawn_file_actions_init(&actions)
    defer { posix_spawn_file_actions_destroy(&actions) }
    posix_spawn_file_actions_adddup2(&actions, output, STDOUT_FILENO)
    var pid: pid_t = 0
    let words = ([path] + arguments).map { strdup($0) } + [nil]
    defer { for word in words { free(word) } }
    let code = posix_spawn(&pid, path, &actions, nil, words, environ)
    guard code == 0 else { throw BenchFailure("\(path) cannot be started: errno \(code)") }
    return pid
  }

  /// Runs a process until it ends, and discards its output.
  static func run(_ path: String, _ arguments: [String]) throws {
    let nowhere = open("/dev/null", O_WRONLY | O_CLOEXEC)
    defer { close(nowhere) }
    let pid = try spawn(path, arguments, output: nowhere)
    var status: Int32 = 0
    guard waitpid(pid, &status, 0) == pid, status == 0 else {
      throw BenchFailure("\(path) \(arguments.joined(separator: " ")) failed: \(status)")
    }
  }

  /// Runs one of the product's executables until it ends, and returns its standard output.
  static func output(_ name: String, _ arguments: [String]) throws -> String {
    guard let path = executable(name) else { throw BenchFailure("there is no \(name)") }
    var ends: [Int32] = [0, 0]
    guard pipe(&ends) == 0 else { throw BenchFailure("no pipe: errno \(errno)") }
    defer { close(ends[0]) }
    let pid = try spawn(path, arguments, output: ends[1])
    close(ends[1])
    var written: [UInt8] = []
    var buffer = [UInt8](repeating: 0, count: 65_536)
    while true {
      let count = read(ends[0], &buffer, buffer.count)
      guard count > 0 else { break }
      written += buffer[..<count]
    }
    var status: Int32 = 0
    guard waitpid(pid, &status, 0) == pid, status == 0 else {
      throw BenchFailure("\(name) \(arguments.joined(separator: " ")) failed: \(status)")
    }
    return String(decoding: written, as: UTF8.self)
  }

  /// Seconds of processor time that it has used.
  var processorSeconds: Double { get throws { try ProcessorTime.seconds(of: pid) } }

  /// The anonymous memory that it has now, in bytes. It excludes pages of files, which the system
  /// reclaims on demand and which other processes may share.
  var anonymousMemory: Double { get throws { try ProcessMemory.bytes("RssAnon", of: pid) } }

  /// Sends one request over its own connection, like the command line, and returns the whole
  /// response.
  func request(_ method: String, _ target: String, _ body: String = "") throws -> String {
    let socket = try send(method, target, body)
    defer { close(socket) }
    return try Self.receive(socket) { _ in false }
  }

  /// Sends a request over its own connection.
  ///
  /// - Returns: the connection's descriptor, which the caller closes.
  func send(_ method: String, _ target: String, _ body: String = "") throws -> Int32 {
    let socket = socket(AF_UNIX, Int32(SOCK_STREAM.rawValue), 0)
    do {
      try reach(socket)
      let text =
        "\(method) \(target) HTTP/1.1\r\nhost: localhost\r\nconnection: close\r\n"
        + "content-type: application/json\r\ncontent-length: \(body.utf8.count)\r\n\r\n" + body
      let bytes = Array(text.utf8)
      guard write(socket, bytes, bytes.count) == bytes.count else {
        throw BenchFailure("the request cannot be written: errno \(errno)")
      }
    } catch {
      close(socket)
      throw error
    }
    return socket
  }

  /// Reads until there is enough, or the other side closes.
  ///
  /// - Throws: `BenchFailure` if nothing comes for 30 seconds.
  static func receive(_ socket: Int32, until isEnough: (String) -> Bool) throws -> String {
    var answer: [UInt8] = []
    var buffer = [UInt8](repeating: 0, count: 65_536)
    while true {
      var waiting = pollfd(fd: socket, events: Int16(POLLIN), revents: 0)
      guard poll(&waiting, 1, 30_000) == 1 else {
        throw BenchFailure("nothing came within 30 seconds")
      }
      let count = read(socket, &buffer, buffer.count)
      guard count > 0 else { break }
      answer += buffer[..<count]
      if isEnough(String(decoding: answer, as: UTF8.self)) { break }
    }
    return String(decoding: answer, as: UTF8.self)
  }

  private func reach(_ socket: Int32) throws {
    var address = sockaddr_un()
    address.sun_family = sa_family_t(AF_UNIX)
    guard socketPath.utf8.count < MemoryLayout.size(ofValue: address.sun_path) else {
      throw BenchFailure("\(socketPath) is too long for a socket")
    }
    withUnsafeMutableBytes(of: &address.sun_path) { $0.copyBytes(from: Array(socketPath.utf8)) }
    let code = withUnsafePointer(to: &address) {
      $0.withMemoryRebound(to: sockaddr.self, capacity: 1) {
        connect(socket, $0, socklen_t(MemoryLayout<sockaddr_un>.size))
      }
    }
    guard code == 0 else { throw BenchFailure("\(socketPath) does not answer: errno \(errno)") }
  }

  /// Ends it as a user does, and waits for its end.
  func stop() {
    guard isRunning else { return }
    isRunning = false
    kill(pid, SIGTERM)
    var status: Int32 = 0
    waitpid(pid, &status, 0)
  }

  deinit {
    if isRunning { kill(pid, SIGKILL) }
  }
}
