/// What an agent's output says while it works.
package enum AgentEvent: Hashable, Sendable {
  /// The agent's own id of its conversation; a later prompt resumes it.
  case session(String)
  /// The conversation that was to be resumed does not exist any more.
  case sessionLost
  /// A tool began. Ids are as the agent gave them, cut to `AgentLimits.toolIDBytesMax`.
  case toolStarted(id: String, name: String)
  case toolEnded(id: String)
  /// How far the agent is with what it set itself, and the point it works on.
  case progress(completed: Int, total: Int, current: String?)
  /// The agent waits for an approval: what it wants to give to the tool, if it said so, and in which of
  /// its conversations, if it is another than the turn's.
  case approvalRequested(
    id: String, tool: String, input: JSONTree? = nil, conversation: String? = nil)
  case approvalAnswered(id: String)
  /// Something for its person to read.
  case text(String)
  /// The agent's provider refuses more work until then, milliseconds since 1970 if it said when.
  case rateLimited(until: Int64?)
  /// Something that may be no failure, for the log.
  case problem(String)
}

/// How a turn ended.
package enum AgentVerdict: Hashable, Sendable {
  /// The agent said so itself.
  case succeeded(summary: String)
  case failed(reason: String)
  /// Nothing is wrong with the prompt: a limit was reached. Not before that time, milliseconds
  /// since 1970, if the agent said when.
  case tryLater(reason: String, until: Int64?)
}

/// How an agent's process ended.
package enum ProcessEnd: Hashable, Sendable {
  case exited(code: Int32)
  case signalled(Int32)

  package var isClean: Bool { self == .exited(code: 0) }

  /// For people.
  package var description: String {
    switch self {
    case .exited(let code): "exit code \(code)"
    case .signalled(let signal): "signal \(signal)"
    }
  }
}

/// Every maximum of the readers of agents' output.
package enum AgentLimits {
  /// Bytes of one line; a longer one is dropped as a whole. Tool results with pictures are lines of
  /// some megabytes.
  package static let lineBytesMax = 16 << 20
  /// Bytes of a tool's id.
  package static let toolIDBytesMax = 256
  /// Bytes of an agent's session id.
  package static let sessionIDBytesMax = 256
  /// Bytes of one text event, and of a summary or reason.
  package static let textBytesMax = 64 << 10
  /// Conversations of subagents that are listened to.
  package static let childrenMax = 1_000
  /// Tools that are remembered as running.
  package static let runningToolsMax = 1_000
}

/// Reads what an agent writes, a piece at a time, wherever the pieces are cut.
///
/// Nothing in the output can trap, and memory is bounded by `AgentLimits`. What is not understood is
/// passed over: agents add kinds of events with every version. Only the end is judged strictly: what
/// the agent did not say is no success.
package protocol AgentOutputReader: Sendable {
  /// Takes in what came.
  mutating func received(_ bytes: some Sequence<UInt8>) -> [AgentEvent]
  /// The output is complete and the process is gone.
  ///
  /// - Parameter now: milliseconds since 1970, to reckon waits from.
  mutating func ended(_ end: ProcessEnd, now: Int64) -> (
    events: [AgentEvent], verdict: AgentVerdict
  )
}

extension String {
  /// The longest beginning of whole characters with at most so many bytes.
  func cut(to bytesMax: Int) -> String {
    guard utf8.count > bytesMax else { return self }
    var end = startIndex
    var bytes = 0
    while end < endIndex {
      let next = index(after: end)
      bytes += self[end..<next].utf8.count
      if bytes > bytesMax { break }
      end = next
    }
    return String(self[..<end])
  }
}
