import Basics
import NIOCore
import Platform

/// HTTP over the daemon's Unix socket.
struct DaemonConnection: Sendable {
  var dataDirectory: String
  /// The socket and the token of an agent's turn, if this process belongs to one and asks the
  /// daemon that started it.
  private var turn: (socket: String, token: String)?
  private var variables: [String: String]
  /// Called if a request that is answered at once as a rule is not, after two seconds.
  var waiting: (@Sendable () -> Void)?

  /// - Parameter variables: of the environment, which name the socket of an agent and the service.
  init(dataDirectory: String, variables: [String: String] = [:]) {
    self.dataDirectory = dataDirectory
    self.variables = variables
    var started = variables["COSPOOL_DATA"] ?? ""
    while started.utf8.count > 1, started.hasSuffix("/") { started.removeLast() }
    if let socket = variables["COSPOOL_SOCKET"], let token = variables["COSPOOL_TOKEN"],
      !socket.isEmpty, !token.isEmpty, started == dataDirectory
    {
      turn = (socket, token)
    }
  }

  static let socketFileName = "cospool.sock"
  /// Names the socket if the data directory's own path is too long for one.
  static let pointerFileName = "cospool.sock.path"
  /// No answer may take more memory than this.
  static let answerBytesMax = 1 << 30

  /// The socket on which the daemon of the data directory listens.
  var socketPath: String {
    if let turn { return turn.socket }
    if let data = try? Data(
      contentsOf: URL(filePath: dataDirectory + "/" + DaemonConnection.pointerFileName))
    {
      let path = String(decoding: data, as: UTF8.self).split(separator: "\n").first ?? ""
      if path.hasPrefix("/") { return String(path) }
    }
    return dataDirectory + "/" + DaemonConnection.socketFileName
  }

  var exchange: HTTPExchange {
    HTTPExchange(
      socketPath: socketPath, token: turn?.token, answerBytesMax: Self.answerBytesMax)
  }

  func answer(to request: APIRequest) async throws -> Answer {
    let reply: HTTPExchange.Reply
    let notice = Task { [waiting] in
      guard let waiting, request.timeoutSeconds == APIRequest.timeoutSecondsDefault else { return }
      try await Task.sleep(for: .seconds(2))
      waiting()
    }
    defer { notice.cancel() }
    do {
      reply = try await exchange.reply(to: request)
    } catch HTTPExchange.Failure.timedOut where turn == nil {
      let daemon = await silent(variables)
      throw CommandFailure.noAnswer(
        to: request, "No answer in time: \(daemon.what).", fix: daemon.fix, cure: daemon.cure)
    } catch {
      throw failure(for: error, to: request)
    }
    var answer = Answer(json: Data(reply.body.readableBytesView))
    let now = Date.now.timeIntervalSince1970
    answer.secondsAhead = reply.time.map { Double($0) / 1_000 - now } ?? 0
    guard (200..<300).contains(reply.status) else { throw refusal(answer, status: reply.status) }
    return answer
  }

  /// The daemon that accepted a request and did not answer it.
  ///
  /// - Parameter variables: of the environment, which show whether a service may exist.
  func silent(_ variables: [String: String]) async -> SilentDaemon {
    await SilentDaemon(
      at: self,
      start: SystemdUnit.starts(dataDirectory, variables)
        ? nil : "cospoold --data " + Shell.quoted(dataDirectory))
  }

  /// The process that listens on the socket; nil if the system does not name it.
  func listener() async throws -> ListeningProcess? {
    do { return try await exchange.listener() } catch { throw failure(for: error) }
  }

  /// The daemon's own words, if a daemon answered.
  private func refusal(_ answer: Answer, status: Int) -> CommandFailure {
    struct Refusal: Decodable {
      var error: CommandFailure
    }
    if let refusal = try? answer.decoded(Refusal.self) { return refusal.error }
    return CommandFailure(
      code: "unexpectedAnswer",
      message: "\(socketPath) answered with HTTP status \(status). It is not a Cospool daemon.",
      exitCode: ExitStatus.failed)
  }

  /// - Parameter request: nil if only the connection was tried.
  func failure(for error: any Error, to request: APIRequest? = nil) -> CommandFailure {
    switch error {
    case HTTPExchange.Failure.timedOut:
      CommandFailure.noAnswer(
        to: request, "The daemon did not answer in time.", fix: "Try again later.")
    case HTTPExchange.Failure.answerTooLarge:
      CommandFailure(
        code: "answerTooLarge",
        message: "The answer has more than \(DaemonConnection.answerBytesMax) bytes.",
        exitCode: ExitStatus.failed)
    case HTTPExchange.Failure.cutOff:
      CommandFailure(
        code: "daemonStopped",
        message:
          "The daemon stopped before it answered, so the command may or may not be done. To check: "
          + "cospool queue list.", exitCode: ExitStatus.unreachable)
    case HTTPExchange.Failure.notHTTP:
      CommandFailure(
        code: "unexpectedAnswer", message: "\(socketPath) does not answer as a Cospool daemon.",
        exitCode: ExitStatus.failed)
    case HTTPExchange.Failure.notConnected(let error) where error == EACCES || error == EPERM:
      CommandFailure(
        code: "socketForbidden",
        message: "\(socketPath) cannot be opened: it belongs to another user.",
        exitCode: ExitStatus.unreachable)
    // A Unix socket whose backlog is full.
    case HTTPExchange.Failure.notConnected(let error) where error == EAGAIN:
      CommandFailure(
        code: "busy", message: "The daemon is busy. Try again later.", exitCode: ExitStatus.tryLater
      )
    default: noDaemon()
    }
  }

  private func noDaemon() -> CommandFailure {
    CommandFailure(
      code: "noDaemon",
      message: "No daemon is running for \(dataDirectory). "
        + (SystemdUnit.starts(dataDirectory, variables)
          ? SystemdUnit.startAdvice
          : "To set this machine up: cospool setup. To start it by hand: cospoold --data "
            + Shell.quoted(dataDirectory)),
      exitCode: ExitStatus.unreachable)
  }
}

extension CommandFailure {
  /// The daemon accepted the request and did not answer. Whether it does what was asked is unknown.
  ///
  /// - Parameters:
  ///   - fix: what to do if the request changes nothing.
  ///   - cure: what helps against a daemon that hangs.
  static func noAnswer(
    to request: APIRequest?, _ what: String, fix: String, cure: String? = nil
  ) -> CommandFailure {
    guard let request, request.method != .get else {
      return CommandFailure(
        code: "timeout", message: "\(what) \(fix)", exitCode: ExitStatus.tryLater)
    }
    let help = cure.map { " If the daemon stays silent, \($0)" } ?? ""
    return CommandFailure(
      code: "timeout",
      message: "\(what) The command may or may not be done. Before you repeat it, check: cospool "
        + "queue list." + help, exitCode: ExitStatus.unreachable)
  }
}
