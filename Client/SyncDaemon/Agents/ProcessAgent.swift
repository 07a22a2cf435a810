import AgentFormats
import Foundation
import LocalAPI
import QueueModel
import Subprocess
import Synchronization
import SystemPackage
import Systemd

/// An agent that is a process: started for each turn, fed, read and waited for. A preset is a command
/// line and a reader of its output.
struct ProcessAgent<Reader: AgentOutputReader>: Agent {
  /// The command line of a turn.
  ///
  /// - Throws: any error; the message's failure shows its text. Nothing was started then.
  var commandLine: @Sendable (AgentTurn) throws -> AgentCommandLine
  /// A fresh reader for each turn.
  var reader: @Sendable (AgentTurn) -> Reader
  /// Whether its standard output does not show why it failed: then the last line of standard error
  /// does.
  var isPlain = false
  /// Its standard input, for the turn's whole time; nil is the command line's input. The caller
  /// closes the descriptor.
  var openInput: (@Sendable () throws -> FileDescriptor)?
  /// Called when it closes its standard output, on the thread of its pipes.
  var outputEnded: @Sendable () -> Void = {}
  /// Whether the reader keeps its standard output for the log.
  var isLoggedByReader = false
  /// Whether its last output on standard error shows that the conversation to continue does not
  /// exist.
  var saysLost: @Sendable (String) -> Bool = { _ in false }
  /// The time after which the process is stopped; nil means no limit.
  var timeoutSeconds: Int?
  /// The time between SIGTERM and SIGKILL.
  var stopGrace = Duration.milliseconds(LeaseTimes.stopGraceMilliseconds)
  /// The control groups of turns, if there are any.
  var groups = AttemptGroups.own
  /// Milliseconds since 1970.
  var wall: @Sendable () -> Int64 = { Int64(Date().timeIntervalSince1970 * 1_000) }

  func run(
    _ turn: AgentTurn, report: @escaping @Sendable (TurnEvent) -> Void
  ) async -> TurnResult {
    let state = Mutex(reader(turn))
    let complaint = Mutex(Complaint())
    let line: AgentCommandLine
    let pipes: OutputPipes
    do {
      line = try commandLine(turn)
      pipes = try OutputPipes { stream, bytes in
        if stream == .errors || !isLoggedByReader { report(.wrote(Array(bytes))) }
        guard stream == .output else {
          complaint.withLock { $0.received(bytes) }
          return
        }
        complaint.withLock { $0.hasOutput = true }
        for event in state.withLock({ $0.received(bytes) }) { report(.said(event)) }
      } ended: { stream in
        if stream == .output { outputEnded() }
      }
    } catch let fault as PromptFault {
      // Another attempt would not help: a failure of a turn that began.
      report(.started)
      return .failed("\(fault)")
    } catch {
      return .notStarted("\(error)")
    }
    let group = groups?.make(of: turn.message, attempt: turn.attempt)
    let outcome = await ended(line, turn, pipes, in: group, report)
    if outcome.isCut || Task.isCancelled {
      // It is a task of its own, because this one may be cancelled and could not wait.
      await Task {
        // The agent itself had time to end.
        let grace = min(stopGrace, .milliseconds(LeaseTimes.leftGraceMilliseconds))
        await OrphanedAgents.end(turn, grace: grace)
        await group?.end(within: OrphanedAgents.killLimit)
      }.value
    }
    if let group { groups?.remove(group) }
    // A process that was left behind and still holds a pipe must not keep the turn open.
    await pipes.finish(within: .seconds(1))
    switch outcome {
    case .ended(let end):
      let last = state.withLock { $0.ended(end, now: wall()) }
      for event in last.events { report(.said(event)) }
      if turn.resumed != nil, saysLost(complaint.withLock { $0.text }) {
        report(.said(.sessionLost))
      }
      return result(last.verdict, of: end, attempt: turn.attempt, complaint.withLock { $0 })
    case .timedOut(let seconds):
      return .failed("the agent took longer than \(seconds) seconds and was stopped")
    case .lost(let reason):
      return .died(reason)
    case .notStarted(let reason):
      return .notStarted(reason)
    }
  }

  /// What it wrote to standard error, which shows the reason if nothing else does.
  private struct Complaint {
    private var lines = LastLine()
    var hasOutput = false

    mutating func received(_ bytes: some Sequence<UInt8>) { lines.received(bytes) }

    /// Its last line.
    var text: String { lines.text }
  }

  private func result(
    _ verdict: AgentVerdict, of end: ProcessEnd, attempt: UInt16, _ complaint: Complaint
  ) -> TurnResult {
    var verdict = verdict
    if case .failed(let reason) = verdict, !complaint.text.isEmpty, isPlain || !complaint.hasOutput
    {
      let words = isPlain ? end.description : reason
      let clause = words.hasSuffix(".") ? String(words.dropLast()) : words
      verdict = .failed(reason: "\(clause): \(complaint.text)")
    }
    return switch (verdict, end) {
    case (.succeeded(let summary), _):
      .succeeded(summary: summary)
    case (.tryLater(let reason, let until), .exited):
      // A command requests it itself, and has no conversation.
      .tryingLater(until: until, reason: reason, attempt: isPlain ? 1 : attempt)
    // Another program or a user ended it: its work until then is unknown, whatever it wrote last.
    case (.failed(let reason), .signalled), (.tryLater(let reason, _), .signalled):
      .died(reason)
    case (.failed(let reason), .exited):
      .failed(reason)
    }
  }

  enum Outcome: Hashable, Sendable {
    case ended(ProcessEnd)
    case timedOut(seconds: Int)
    /// It ran, and its outcome is unknown.
    case lost(String)
    case notStarted(String)

    /// Whether something other than this daemon ended it, so that its tools may still run.
    var isCut: Bool {
      switch self {
      case .ended(.signalled), .timedOut, .lost: true
      case .ended(.exited), .notStarted: false
      }
    }
  }

  private func ended(
    _ line: AgentCommandLine, _ turn: AgentTurn, _ pipes: OutputPipes, in group: AttemptGroup?,
    _ report: @escaping @Sendable (TurnEvent) -> Void
  ) async -> Outcome {
    guard let timeoutSeconds else { return await process(line, turn, pipes, in: group, report) }
    return await withTaskGroup(of: Outcome?.self) { tasks in
      tasks.addTask { await process(line, turn, pipes, in: group, report) }
      tasks.addTask {
        do {
          try await Task.sleep(for: .seconds(timeoutSeconds))
          return .timedOut(seconds: timeoutSeconds)
        } catch {
          return nil
        }
      }
      var first: Outcome?
      // A stop ends the sleep before the process, and does not show how that ended. The process has
      // ended when its task ends.
      for await outcome in tasks where first == nil {
        guard let outcome else { continue }
        first = outcome
        tasks.cancelAll()
      }
      return first ?? .ended(.signalled(SIGTERM))
    }
  }

  private func process(
    _ line: AgentCommandLine, _ turn: AgentTurn, _ pipes: OutputPipes, in group: AttemptGroup?,
    _ report: @escaping @Sendable (TurnEvent) -> Void
  ) async -> Outcome {
    guard let program = line.words.first else { return .notStarted("no command is set") }
    var options = PlatformOptions()
    // A session of its own, so that everything it starts can be stopped with it.
    options.createSession = true
    options.teardownSequence = [
      .send(signal: .terminate, toProcessGroup: true, allowedDurationToNextStep: stopGrace)
    ]
    let environment = Self.environment(of: turn)
    let leader = Mutex<pid_t>(0)
    defer {
      let group = leader.withLock { $0 }
      if group > 0 { kill(-group, SIGKILL) }
    }
    do {
      try ZeroByte.check(line, turn)
      // By name, Subprocess would try a process in every folder of PATH.
      let path =
        program.contains("/")
        ? FilePath(program)
        : try await Executable.name(program).resolveExecutablePath(in: environment)
      let input = try openInput?() ?? PromptFile.descriptor(holding: line.input)
      // Subprocess would start it even if cancelled.
      guard !Task.isCancelled, let ends = pipes.takeWriters() else {
        // A descriptor that cannot be closed is left.
        try? input.close()
        return .notStarted("the agent was stopped")
      }
      let result = try await Subprocess.run(
        .path(path),
        arguments: Arguments(Array(line.words.dropFirst())),
        environment: environment,
        workingDirectory: turn.folder.map { FilePath($0) },
        platformOptions: options,
        input: .fileDescriptor(input, closeAfterSpawningProcess: true),
        output: .fileDescriptor(ends.output, closeAfterSpawningProcess: true),
        error: .fileDescriptor(ends.errors, closeAfterSpawningProcess: true)
      ) { execution in
        let id = execution.processIdentifier.value
        leader.withLock { $0 = id }
        group?.add(id)
        report(.started)
        try pipes.read()
      }
      switch result.terminationStatus {
      case .exited(let code): return .ended(.exited(code: code))
      case .signaled(let signal): return .ended(.signalled(signal))
      }
    } catch is CancellationError {
      return .ended(.signalled(SIGTERM))
    } catch {
      return Self.outcome(of: error, program: program, started: leader.withLock { $0 } > 0)
    }
  }

  /// The daemon's environment, with the turn's additions.
  private static func environment(of turn: AgentTurn) -> Environment {
    var values: [Environment.Key: String?] = [:]
    if let key = Environment.Key(rawValue: DispatchLog.variable),
      ProcessInfo.processInfo.environment[DispatchLog.variable] == DispatchLog.silent
    {
      values[key] = .some(nil)
    }
    for (name, value) in turn.environment {
      if let key = Environment.Key(rawValue: name) { values[key] = value }
    }
    return .inherit.updating(values)
  }

  /// The meaning of an error in place of the process's end. If a process was started, its agent may
  /// have done anything. Another attempt is safe only if none was started.
  static func outcome(of error: any Error, program: String, started: Bool) -> Outcome {
    let reason = "\(program): \(error)"
    return started ? .lost("cannot wait for \(reason)") : .notStarted(reason)
  }
}

/// A text that the system would cut, since texts end at a zero byte there.
struct ZeroByte: Error, Hashable, CustomStringConvertible {
  /// Its name at the beginning of a sentence.
  var place: String

  var description: String {
    "\(place) contains a NUL character, at which it would be cut: remove it"
  }

  /// - Throws: if an agent would be started with another command, folder or environment than
  ///   intended.
  static func check(_ line: AgentCommandLine, _ turn: AgentTurn) throws(ZeroByte) {
    let texts =
      line.words.map { ("An argument of the agent's command", $0) }
      + [("The folder of the project", turn.folder ?? "")]
      + turn.environment.map { ("\($0) in the agent's environment", $1) }
    for (place, text) in texts where text.utf8.contains(0) { throw ZeroByte(place: place) }
  }
}
