import ArgumentParser
import Basics
import CommandArguments
import LocalAPI
import Operations
import Platform
import QueueModel

/// Arguments in, text and exit code out; the executable only writes this result.
struct CommandRunner: Sendable {
  var environment: Environment

  struct Outcome: Equatable, Sendable {
    var exitCode: Int32 = 0
    /// Both without their last line break; empty if there is nothing to write.
    var output = ""
    var errors = ""

    /// The same if its output cannot be written, for example to a file on a full disk. A script
    /// must not take that for a command that failed, and repeat it.
    func withOutputLost(isJSON: Bool) -> Outcome {
      guard exitCode == 0 else { return self }
      let failure = CommandFailure(
        code: "outputLost",
        message: "The command is done, but its output cannot be written. Do not repeat a command "
          + "that changes something.", exitCode: ExitStatus.partly)
      let lines = [errors, isJSON ? failure.json : failure.text].filter { !$0.isEmpty }
      return Outcome(exitCode: failure.exitCode, errors: lines.joined(separator: "\n"))
    }
  }

  func run(_ arguments: [String]) async -> Outcome {
    // The parser treats help for an unknown command as help for all commands.
    if arguments.first == "help",
      let suggestion = CommandSuggestion.text(for: Array(arguments.dropFirst()))
    {
      return written(
        Outcome(exitCode: ExitStatus.usage, errors: "Error: " + suggestion), for: arguments)
    }
    let reading: ArgumentReader.Reading
    let parsed: any ParsableCommand
    do {
      reading = try CommandRunner.reader.read(arguments)
      parsed = try Cospool.parseAsRoot(reading.arguments)
      guard parsed is any DaemonCommand || parsed is any LocalCommand else {
        // A group of commands, or help, which ArgumentParser shows by throwing.
        var command = parsed
        try command.run()
        return Outcome()
      }
    } catch {
      let outcome = outcome(ofParsing: error, arguments: arguments)
      switch CommandSuggestion.command(of: arguments) {
      // Agents treat exit code 2 of a hook as a veto.
      case "hook" where outcome.exitCode != 0: return Outcome(errors: outcome.errors)
      // A script treats 0 as permission, and the output as an answer.
      case "ask" where outcome.exitCode == 0:
        return Outcome(exitCode: ExitStatus.usage, errors: outcome.output)
      default: return written(outcome, for: arguments)
      }
    }
    var runner = self
    if reading.isDashText { runner.environment.input = StandardInput { Array("-".utf8) } }
    if let command = parsed as? any LocalCommand { return await runner.run(command) }
    guard let command = parsed as? any DaemonCommand else { return Outcome() }
    return await runner.run(command)
  }

  /// Distinguishes options from texts before the parser does.
  static let reader = ArgumentReader(
    Cospool.self, shared: [GlobalOptions.self], flags: ["--json"])

  private func run(_ command: any LocalCommand) async -> Outcome {
    do {
      var outcome = try await command.outcome(in: environment)
      if command.options.json { outcome.output = environment.style.document(outcome.output.utf8) }
      return outcome
    } catch {
      let failure = CommandRunner.failure(of: error)
      return Outcome(
        exitCode: failure.exitCode,
        errors: command.options.json ? failure.json : failure.text)
    }
  }

  private func run(_ command: any DaemonCommand) async -> Outcome {
    let isJSON = command.options.json
    do {
      var connection = environment.connection(
        try environment.dataDirectory(flag: command.options.data))
      // For a user at a terminal; what scripts read stays as it is.
      if environment.confirm != nil, !isJSON {
        connection.waiting = { [complain = environment.complain] in
          complain("cospool: Waiting for the daemon's answer …")
        }
      }
      if let message = (command as? any EditorCommand)?.editedMessage {
        let session = EditorSession(
          connection: connection, message: message, variables: environment.variables)
        return try outcome(of: command, try await session.run())
      }
      let command = try await readied(command, connection)
      let request = try command.request(input: environment.input)
      guard !request.hasEmptyPart else {
        throw CommandFailure.usage("An id or a name is empty. Give one that is not empty.")
      }
      if let command = command as? any WatchableCommand, command.watch.isOn {
        let watcher = Watcher(
          connection: connection, request: request, surroundings: environment.watching,
          isJSON: isJSON)
        try await watcher.run { try command.text(of: $0, style: $1) }
        return Outcome()
      }
      if var output = command as? OutputCommand, output.follows {
        try await output.follow(over: connection, environment.watching)
        return Outcome()
      }
      if let turning = command as? any TurningCommand, !turning.isHarmless {
        return try outcome(
          of: command,
          try await turning.answer(to: request, over: connection, stop: environment.watching.stop))
      }
      return try outcome(of: command, try await connection.answer(to: request))
    } catch {
      let failure = CommandRunner.failure(of: error)
      return Outcome(exitCode: failure.exitCode, errors: isJSON ? failure.json : failure.text)
    }
  }

  /// The same with ids in place of names, and with the request that a user was shown and allows.
  private func readied(
    _ command: any DaemonCommand, _ connection: DaemonConnection
  ) async throws -> any DaemonCommand {
    guard var dated = command as? any LaterCommand, dated.time.isGiven else {
      return try await named(command, connection)
    }
    // The clock of this device may be wrong.
    dated.time.now += try await connection.answer(to: APIRequest(.get, ["sessions"])).secondsAhead
    return try await named(dated, connection)
  }

  private func named(
    _ command: any DaemonCommand, _ connection: DaemonConnection
  ) async throws -> any DaemonCommand {
    if var making = command as? any SessionMaking {
      try making.lookUp(in: try await names(connection), environment)
      return making
    }
    if var naming = command as? any SessionNaming {
      try naming.lookUp(in: try await names(connection))
      return naming
    }
    if var turning = command as? any TurningCommand, turning.asks(in: environment) {
      let state = try await connection.answer(to: APIRequest(.get, ["undo"]))
      try turning.lookUp(try state.decoded(UndoAnswer.self), environment)
      return turning
    }
    if var resolve = command as? QueueCommands.Resolve, !resolve.message.isEmpty {
      let shown = try await connection.answer(to: APIRequest(.get, ["messages", resolve.message]))
      try resolve.lookUp(try shown.decoded(MessageAnswer.self), environment)
      return resolve
    }
    if var answering = command as? any AnsweringCommand {
      let answer = try await connection.answer(to: APIRequest(.get, ["tasks"]))
      var tasks = try answer.decoded(TasksAnswer.self).tasks.map(\.state)
      var environment = environment
      environment.style = answer.timed(environment.style)
      if !(answering is DenyCommand) { try await complete(&tasks, connection) }
      try answering.lookUp(in: try await names(connection), tasks, environment)
      return answering
    }
    return command
  }

  /// Reads tasks again if their requests do not fit the registers: read one by one, they are
  /// complete.
  private func complete(
    _ tasks: inout [TaskState], _ connection: DaemonConnection
  ) async throws {
    for (index, task) in tasks.enumerated() where task.requests.contains(where: \.isCut) {
      tasks[index] = try await connection.answer(
        to: APIRequest(.get, ["sessions", task.sessionId.rawValue, "task"])
      ).decoded(TaskStateAnswer.self).state
    }
  }

  private func names(_ connection: DaemonConnection) async throws -> SessionNames {
    let answer = try await connection.answer(to: APIRequest(.get, ["sessions"]))
    let known = try answer.decoded(SessionsAnswer.self)
    return SessionNames(
      sessions: known.sessions, closed: Set(known.closed ?? []), named: environment.session,
      folder: Paths.absolute("."))
  }

  private func outcome(of command: any DaemonCommand, _ answer: Answer) throws -> Outcome {
    try command.received(answer)
    let output =
      command.options.json
      ? environment.style.document(answer.json)
      : try command.text(of: answer, style: answer.timed(environment.style))
    return Outcome(
      exitCode: command.exitCode(of: answer), output: output,
      errors: command.warning(of: answer) ?? "")
  }

  static func failure(of error: any Error) -> CommandFailure {
    switch error {
    case let failure as CommandFailure: failure
    case let failure as OperationFailure: CommandFailure(failure)
    case let error as QueueError:
      CommandFailure(
        code: error.code, message: error.description,
        exitCode: error == .blankText ? ExitStatus.usage : ExitStatus.failed)
    default: CommandFailure(code: "internal", message: "\(error)", exitCode: ExitStatus.failed)
    }
  }

  /// Help and version are answers; everything else is wrong usage, exit code 2.
  private func outcome(ofParsing error: any Error, arguments: [String]) -> Outcome {
    let message = message(for: error)
    if !(error is ArgumentFault), Cospool.exitCode(for: error) == .success {
      return Outcome(output: message)
    }
    guard let suggestion = CommandSuggestion.text(for: arguments) else {
      return Outcome(
        exitCode: ExitStatus.usage, errors: CommandSuggestion.withHint(message))
    }
    // The parser's message about an unknown command is about its arguments, or about the default
    // command; its usage stays.
    let isKnown = Cospool.configuration.subcommands.contains {
      $0._commandName == CommandSuggestion.command(of: arguments)
    }
    let help = isKnown ? message : self.message(for: ValidationError(suggestion))
    let usage = help.split(separator: "\n", omittingEmptySubsequences: false).drop {
      !$0.hasPrefix("Usage:")
    }
    return Outcome(
      exitCode: ExitStatus.usage,
      errors: (["Error: " + suggestion] + usage.map(String.init)).joined(separator: "\n"))
  }

  /// Wrong usage in the requested language; requested help is text.
  private func written(_ outcome: Outcome, for arguments: [String]) -> Outcome {
    let words = arguments.prefix { $0 != "--" }
    guard words.contains("--json") else { return outcome }
    guard outcome.exitCode != 0 else {
      if arguments.first == "help" { return outcome }
      // A group of commands, which shows its help to users.
      let failure = CommandFailure.usage(
        "Name one of its commands: cospool \(CommandSuggestion.command(of: arguments) ?? "") --help "
          + "lists them.")
      return Outcome(exitCode: failure.exitCode, errors: failure.json)
    }
    let lines = outcome.errors.split(separator: "\n", omittingEmptySubsequences: false)
      .prefix { !$0.hasPrefix("Usage:") && !$0.hasPrefix("  See ") }
    var message = lines.joined(separator: "\n")
    if message.hasPrefix("Error: ") { message.removeFirst("Error: ".count) }
    return Outcome(
      exitCode: outcome.exitCode, errors: CommandFailure.usage(message.trimmedOfWhitespace()).json)
  }

  private func message(for error: any Error) -> String {
    if let fault = error as? ArgumentFault { return fault.text }
    return HelpText.wrapped(
      Cospool.fullMessage(for: error, columns: HelpText.unwrappedColumns),
      width: environment.style.width)
  }
}
