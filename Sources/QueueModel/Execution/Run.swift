import SequenceCRDT

/// The progress of an attempt to run a message. The raw value is the wire's; later ones win.
public enum RunPhase: UInt8, Hashable, Sendable, CaseIterable {
  /// The authority granted the start; the agent may have got the prompt.
  case dispatched = 2
  /// The agent has the prompt.
  case running = 3
  /// The host's daemon died after the dispatch, so the agent's work is unknown.
  case unknown = 4
  /// The agent is known to have died before it was done.
  case interrupted = 5
  /// The agent failed.
  case failed = 6
  /// A user stopped it; the message is cancelled with it, and may be restored.
  case cancelled = 7
  /// The agent is done.
  case succeeded = 8

  /// Whether the agent may be at work on it.
  public var isInFlight: Bool { self == .dispatched || self == .running }
  /// Whether it ended and waits for a user: retry, skip, edit or cancel (S0-66).
  public var needsDecision: Bool {
    self == .unknown || self == .interrupted || self == .failed
  }
}

/// The latest attempt to run a message.
public struct Run: Hashable, Sendable {
  /// The token of the lease it runs under.
  public var token: UInt64
  /// The number of the attempt, from 1.
  public var attempt: UInt16
  /// Its phase.
  public var phase: RunPhase
  /// When it reached this phase, in milliseconds since 1970 on the host's clock.
  public var milliseconds: Int64
  /// The error of a failed attempt, or the summary of a successful one.
  public var note: String

  /// Creates a value from its parts.
  public init(
    token: UInt64, attempt: UInt16, phase: RunPhase, milliseconds: Int64, note: String = ""
  ) {
    self.token = token
    self.attempt = attempt
    self.phase = phase
    self.milliseconds = milliseconds
    self.note = note
  }

  /// The maximum bytes of a note; longer ones are cut between characters.
  public static let noteBytesMax = 1_000

  /// Its place in the order of writes.
  package var fence: Fence { Fence(token: token, attempt: attempt, phase: phase.rawValue) }

  /// The register's value: the time, a space and the note.
  package var value: RegisterValue {
    let note = self.note.cut(toUTF8Bytes: Run.noteBytesMax)
    return .text(note.isEmpty ? "\(milliseconds)" : "\(milliseconds) \(note)")
  }

  /// Reads a register. A phase of a later version counts as running, so that nothing starts.
  package init(fence: Fence, value: RegisterValue) {
    token = fence.token
    attempt = fence.attempt
    phase = RunPhase(rawValue: fence.phase) ?? .running
    switch value {
    case .number(let number):
      milliseconds = Int64(clamping: number)
      note = ""
    case .text(let text):
      let end = text.utf8.firstIndex(of: UInt8(ascii: " ")) ?? text.endIndex
      milliseconds = Int64(text[..<end]) ?? 0
      note = end == text.endIndex ? "" : String(text[text.utf8.index(after: end)...])
    }
  }
}

extension Run {
  /// Why it did not succeed; nil if it did, or is not finished.
  var error: String? {
    guard phase.needsDecision else { return nil }
    return note.isEmpty ? phase.defaultNote : note
  }
}

extension RunPhase {
  /// A stable name for scripts.
  public var name: String { "\(self)" }

  /// The reason of a failed attempt if the agent gave none.
  var defaultNote: String {
    switch self {
    case .unknown: "The host stopped while the agent worked; it may have done it or not."
    case .interrupted: "The agent ended before it was done."
    default: "The agent failed."
    }
  }
}

extension StringProtocol {
  /// The text if it fits in this many bytes of UTF-8, or its beginning and the length of the rest.
  /// The user who approves it must see that there is more.
  package func cutWithMark(toUTF8Bytes limit: Int) -> String {
    let count = utf8.count
    guard count > limit else { return String(self) }
    // The number of omitted bytes has no more digits than the whole.
    let room = Swift.max(limit - "… [cut:  bytes more]".utf8.count - "\(count)".utf8.count, 0)
    let kept = cut(toUTF8Bytes: room)
    return kept + "… [cut: \(count - kept.utf8.count) bytes more]"
  }

  /// The longest beginning of whole characters that fits in this many bytes of UTF-8.
  package func cut(toUTF8Bytes limit: Int) -> String {
    guard utf8.count > limit else { return String(self) }
    var bytes = 0
    var end = startIndex
    while end < endIndex {
      let next = index(after: end)
      bytes += self[end..<next].utf8.count
      if bytes > limit { break }
      end = next
    }
    return String(self[..<end])
  }
}

/// A user's decision about an attempt that ended without success.
public struct Resolution: Hashable, Sendable {
  /// The attempt that it concerns; a decision about another one has no effect.
  public var attempt: UInt16
  /// Whether the message leaves the queue; if not, it is tried again.
  public var skips: Bool

  /// Creates a value from its parts.
  public init(attempt: UInt16, skips: Bool) {
    self.attempt = attempt
    self.skips = skips
  }

  /// The order of decisions: by attempt, then by time, and always after the decision that it
  /// replaces. So a decision about an earlier attempt never wins, however late it was made.
  ///
  /// - Parameter seen: the fence of the decision that its author saw.
  static func fence(
    attempt: UInt16, milliseconds: Int64, behind seen: Stamp?
  ) -> Stamp {
    let time = UInt64(clamping: milliseconds) & ((1 << 48) - 1)
    let fence = Stamp(rawValue: UInt64(attempt) << 48 | time)
    guard let seen, seen >= fence else { return fence }
    return Stamp(rawValue: seen.rawValue == .max ? .max : seen.rawValue + 1)
  }

  /// When a decision was made, in milliseconds since 1970. If it revokes another decision, its
  /// fence only follows that one's, and the result is nil.
  static func milliseconds(ofFence fence: Stamp, _ value: RegisterValue) -> Int64? {
    guard let decision = Resolution(value), UInt64(decision.attempt) == fence.rawValue >> 48 else {
      return nil
    }
    return Int64(fence.rawValue & ((1 << 48) - 1))
  }

  /// The register's value.
  package var value: RegisterValue { .number(UInt64(attempt) << 1 | (skips ? 1 : 0)) }

  /// The decision about an attempt; of the two registers that may hold it, *decision* comes first.
  static func about(
    _ attempt: UInt16, decision: RegisterValue?, resolution: RegisterValue?
  ) -> Resolution? {
    if let decision = decision.flatMap(Resolution.init), decision.attempt == attempt {
      return decision
    }
    return resolution.flatMap(Resolution.init).flatMap { $0.attempt == attempt ? $0 : nil }
  }

  /// Reads a register; nil if it holds something else.
  package init?(_ value: RegisterValue) {
    guard case .number(let number) = value, let attempt = UInt16(exactly: number >> 1) else {
      return nil
    }
    self.init(attempt: attempt, skips: number & 1 == 1)
  }
}

/// The execution state of a message: the run and the decision about it.
package struct RunState: Hashable, Sendable {
  package var run: Run?
  /// The decision about its attempt, whether or not the attempt waits for one.
  package var resolution: Resolution?

  package init(run: Run? = nil, resolution: Resolution? = nil) {
    self.run = run
    self.resolution = resolution
  }

  /// Reads them from a message's registers.
  package init(_ registers: [WorkspaceImage.Register]) {
    guard let register = registers.first(where: { $0.field == .run }) else { return }
    let run = Run(fence: Fence(register.stamp), value: register.value)
    self.run = run
    resolution = Resolution.about(
      run.attempt, decision: registers.first { $0.field == .decision }?.value,
      resolution: registers.first { $0.field == .resolution }?.value)
  }

  /// The decision, if the latest attempt waits for one.
  private var decision: Resolution? {
    run?.phase.needsDecision == true ? resolution : nil
  }

  /// Whether the agent may be at work on it.
  package var isInFlight: Bool { run?.phase.isInFlight ?? false }
  /// Whether it waits for a user's decision, and blocks its queue (S0-66).
  package var isHalted: Bool { (run?.phase.needsDecision ?? false) && decision == nil }
  /// Whether it never runs again, even if it is restored.
  package var isFinal: Bool {
    run?.phase == .succeeded || decision?.skips == true
  }

  /// Whether the message is in its queue.
  ///
  /// - Parameter isLive: whether it has a `live` tag. A message that an agent may be at work on
  ///   stays in its queue, even if it was cancelled too late.
  package func stands(isLive: Bool) -> Bool { isInFlight || (isLive && !isFinal) }

  /// The message's status.
  ///
  /// - Parameter stands: whether the message is in a queue of an existing session.
  package func status(stands: Bool) -> MessageStatus {
    guard let run else { return stands ? .queued : .cancelled }
    switch run.phase {
    case .succeeded: return .succeeded
    case .cancelled: return stands ? .queued : .cancelled
    case .dispatched, .running: return .running
    case .unknown, .interrupted, .failed: break
    }
    if let decision { return decision.skips ? .skipped : stands ? .queued : .cancelled }
    guard stands else { return .cancelled }
    return run.phase == .unknown ? .unknown : run.phase == .interrupted ? .interrupted : .failed
  }
}

extension ElementState {
  /// As `runState`, but without times and notes. They do not affect whether a message is in its
  /// queue, which a long queue checks for every message.
  var standing: RunState {
    guard let register = registers[.run] else { return RunState() }
    return runState(of: Run(fence: Fence(register.stamp), value: .number(0)))
  }

  /// The execution state of the message.
  var runState: RunState {
    guard let register = registers[.run] else { return RunState() }
    return runState(of: Run(fence: Fence(register.stamp), value: register.value))
  }

  private func runState(of run: Run) -> RunState {
    RunState(
      run: run,
      resolution: Resolution.about(
        run.attempt, decision: registers[.decision]?.value,
        resolution: registers[.resolution]?.value))
  }
}

extension RunPhase: Codable {}
