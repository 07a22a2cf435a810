import AgentFormats
import Foundation
import QueueModel
import Synchronization
import SystemPackage

/// The two directions between a turn and its agent's process. The agent's output is read on the
/// thread of its pipes. `drive` writes its input, and waits while the agent does not read.
final class ACPLink: Sendable {
  /// Hands output to its link.
  struct Output: AgentOutputReader {
    let link: ACPLink

    mutating func received(_ bytes: some Sequence<UInt8>) -> [AgentEvent] {
      link.with { $0.received(bytes) }
      return []
    }

    mutating func ended(
      _ end: ProcessEnd, now: Int64
    ) -> (events: [AgentEvent], verdict: AgentVerdict) {
      let words = link.state.withLock { $0.isGivenUp } ? "it closed its output" : end.description
      link.with { $0.closed(words) }
      return ([], .failed(reason: link.closing ?? end.description))
    }
  }

  private struct State {
    var conversation: ACPConversation
    var reader: FileDescriptor?
    var waiting = 0
    /// Whether the prompt may have reached the agent.
    var isSent = false
    var end: ACPEnd?
    /// Whether its process was ended because it closed its output.
    var isGivenUp = false
  }

  private enum Errand: Sendable {
    case line(String, isPrompt: Bool)
    case ask(ACPRequest, reason: String?)
    case withdraw(String)
  }

  /// The maximum number of waiting steps: an agent that keeps asking and reads no answers is ended.
  private static let waitingMax = 1_000
  /// The time between two attempts to write to an agent that does not read.
  private static let period = Duration.milliseconds(5)

  private let state: Mutex<State>
  private let writer: FileDescriptor
  private let errands: AsyncStream<Errand>
  private let errand: AsyncStream<Errand>.Continuation
  private let outputEnds: AsyncStream<Void>
  private let outputEnd: AsyncStream<Void>.Continuation
  private let report: @Sendable (TurnEvent) -> Void
  private let journal: @Sendable () throws -> Void

  /// - Parameter journal: called before the prompt is sent to the agent.
  /// - Throws: the system's error if it has no descriptor left.
  init(
    _ conversation: ACPConversation, report: @escaping @Sendable (TurnEvent) -> Void,
    journal: @escaping @Sendable () throws -> Void
  ) throws {
    let (reader, writer) = try FileDescriptor.pipe()
    for end in [reader, writer] { _ = fcntl(end.rawValue, F_SETFD, FD_CLOEXEC) }
    _ = fcntl(writer.rawValue, F_SETFL, O_NONBLOCK)
    self.writer = writer
    state = Mutex(State(conversation: conversation, reader: reader))
    (errands, errand) = AsyncStream.makeStream()
    (outputEnds, outputEnd) = AsyncStream.makeStream()
    self.report = report
    self.journal = journal
    with { $0.began() }
  }

  deinit { state.withLock { try? $0.reader?.close() } }

  /// The agent's end. The code that takes it closes it.
  func takeReader() throws -> FileDescriptor {
    try state.withLock { state in
      guard let reader = state.reader else { throw CancellationError() }
      state.reader = nil
      return reader
    }
  }

  // MARK: - Events

  /// Passes an event to the conversation, and carries out its steps in order.
  private func with(_ tell: (inout ACPConversation) -> [ACPStep]) {
    state.withLock { state in
      for step in tell(&state.conversation) { perform(step, &state) }
    }
  }

  private func perform(_ step: ACPStep, _ state: inout State) {
    switch step {
    case .send(let line): add(.line(line, isPrompt: false), &state)
    case .sendPrompt(let line): add(.line(line, isPrompt: true), &state)
    case .said(let event): report(.said(event))
    case .wrote(let bytes): report(.wrote(bytes))
    case .ask(let request): add(.ask(request, reason: nil), &state)
    case .askAgain(let request, let reason): add(.ask(request, reason: reason), &state)
    case .withdraw(let key): add(.withdraw(key), &state)
    case .ended(let end): finish(end, &state)
    }
  }

  private func add(_ item: Errand, _ state: inout State) {
    guard state.end == nil else { return }
    guard state.waiting < ACPLink.waitingMax else {
      return finish(.died("The agent asks more than it reads answers."), &state)
    }
    state.waiting += 1
    errand.yield(item)
  }

  private func finish(_ end: ACPEnd, _ state: inout State) {
    guard state.end == nil else { return }
    state.end = end
    errand.finish()
  }

  /// The output of its process on standard error. The turn begins with the prompt, not with the
  /// process.
  func processNoted(_ event: TurnEvent) {
    if case .wrote = event { report(event) }
  }

  func cancel() { with { $0.cancelled() } }

  func openingTookTooLong(_ limit: Duration) {
    state.withLock { state in
      guard !state.isSent else { return }
      let seconds = limit.components.seconds
      finish(.notSent("The agent did not begin a conversation within \(seconds) seconds."), &state)
    }
  }

  func processEnded() { errand.finish() }

  func outputEnded() { outputEnd.finish() }

  /// Waits until the agent has closed its output and had some time to end.
  ///
  /// - Returns: false if the task was cancelled before.
  func isSilent(for grace: Duration) async -> Bool {
    for await _ in outputEnds {}
    guard (try? await Task.sleep(for: grace)) != nil else { return false }
    state.withLock { $0.isGivenUp = true }
    return true
  }

  /// Why a turn whose process ended has ended; nil if it ended for another reason.
  private var closing: String? {
    switch state.withLock({ $0.end }) {
    case .notSent(let reason), .died(let reason): reason
    case .verdict, .cancelled, nil: nil
    }
  }

  /// How the turn ended.
  ///
  /// - Parameter process: the end of its process.
  func result(_ process: TurnResult, attempt: UInt16) -> TurnResult {
    let (end, isSent) = state.withLock { ($0.end, $0.isSent) }
    if !isSent, let end {
      switch end {
      case .notSent(let reason), .died(let reason): return .notStarted(longer(process, reason))
      // It cannot continue its conversation.
      case .verdict(.failed(let reason)): return .failed(reason)
      case .verdict, .cancelled:
        return .notStarted("The agent reports the end of a turn whose prompt it did not get.")
      }
    }
    switch end {
    case .verdict(.succeeded(let summary)): return .succeeded(summary: summary)
    case .verdict(.failed(let reason)): return .failed(reason)
    case .verdict(.tryLater(let reason, let until)):
      return .tryingLater(until: until, reason: reason, attempt: attempt)
    case .cancelled: return .failed("The agent says that its turn was cancelled.")
    // The process may still add its last output.
    case .notSent(let reason): return .notStarted(longer(process, reason))
    case .died(let reason): return .died(longer(process, reason))
    case nil:
      if case .died(let reason) = process, !isSent { return .notStarted(reason) }
      return process
    }
  }

  private func longer(_ process: TurnResult, _ reason: String) -> String {
    let clause = reason.hasSuffix(".") ? reason.dropLast() : reason[...]
    return process.detail.hasPrefix(clause) ? process.detail : reason
  }

  // MARK: - Input of the agent

  /// Carries out the steps until the turn has ended, and closes the agent's input.
  func drive(_ session: SessionID, _ ask: @escaping OpencodeAgent.Asker) async {
    // A descriptor that cannot be closed is left.
    defer { try? writer.close() }
    await withTaskGroup(of: Void.self) { group in
      var asking: [String: AsyncStream<Void>.Continuation] = [:]
      for await item in errands {
        state.withLock { $0.waiting -= 1 }
        switch item {
        case .line(let line, let isPrompt): await send(line, isPrompt: isPrompt)
        case .withdraw(let key): asking.removeValue(forKey: key)?.finish()
        case .ask(let request, let reason):
          let (ends, end) = AsyncStream<Void>.makeStream()
          asking.updateValue(end, forKey: request.key)?.finish()
          group.addTask { [self] in
            let answer = await decided(request, reason, session, ask, until: ends)
            if let answer { with { $0.answered(request.key, answer) } }
          }
        }
      }
      group.cancelAll()
    }
  }

  /// nil if it was withdrawn.
  private func decided(
    _ request: ACPRequest, _ reason: String?, _ session: SessionID,
    _ ask: @escaping OpencodeAgent.Asker, until ends: AsyncStream<Void>
  ) async -> ACPAnswer? {
    await withTaskGroup(of: ACPAnswer?.self) { group in
      group.addTask { ACPAnswer(await ask(AgentAsk(request, reason), session)) }
      group.addTask {
        for await _ in ends {}
        return nil
      }
      let first = await group.next() ?? nil
      group.cancelAll()
      return Task.isCancelled ? nil : first
    }
  }

  private func send(_ line: String, isPrompt: Bool) async {
    if isPrompt {
      do {
        try journal()
      } catch {
        return state.withLock { finish(.notSent("\(error)"), &$0) }
      }
      let isOver = state.withLock { state in
        if state.end == nil { state.isSent = true }
        return state.end != nil
      }
      guard !isOver else { return }
      report(.started)
    }
    let bytes = Array((line + "\n").utf8)
    var left = bytes[...]
    while !left.isEmpty {
      do {
        left = left.dropFirst(try left.withUnsafeBytes { try writer.write($0) })
      } catch Errno.wouldBlock, Errno.interrupted {
        // The end of the turn, or of its process, ends the wait.
        guard state.withLock({ $0.end == nil }),
          (try? await Task.sleep(for: ACPLink.period)) != nil
        else { return }
      } catch {
        // Its input is closed: its process ends, and its exit shows the result.
        if isPrompt, left.count == bytes.count { state.withLock { $0.isSent = false } }
        return
      }
    }
  }
}

extension ACPAnswer {
  /// Without an answer, there is no permission: the agent has no prompt of its own.
  fileprivate init(_ answer: AskAnswer?) {
    self =
      switch answer?.ending {
      case .allowed: .allowed
      case .denied: .denied
      case .answered: .text(answer?.text ?? "")
      default: .dismissed
      }
  }
}

extension AgentAsk {
  fileprivate init(_ request: ACPRequest, _ reason: String?) {
    let before = reason.map { "\($0)\n" } ?? ""
    switch request.matter {
    case .permission(let tool, let input, let choice):
      self = .approval(ofTool: tool, input, choosing: choice)
    case .form(let form): self = .question(before + form.text, options: form.options)
    case .address(let text, let options): self = .question(before + text, options: options)
    }
  }
}
