/// An event that an agent's output reports while it works.
package enum AgentEvent: Hashable, Sendable {
  /// The agent's own id of its conversation; a later prompt resumes it.
  case session(String)
  /// The conversation to resume no longer exists.
  case sessionLost
  /// A tool began. Ids are as the agent gave them, truncated to `AgentLimits.toolIDBytesMax`.
  case toolStarted(id: String, name: String)
  case toolEnded(id: String)
  /// How many of its own steps the agent has completed, and its present step.
  case progress(completed: Int, total: Int, current: String?)
  /// The agent waits for an approval: the tool's input, if it gave one, and the agent's
  /// conversation, if it is not the turn's.
  case approvalRequested(
    id: String, tool: String, input: JSONTree? = nil, conversation: String? = nil)
  case approvalAnswered(id: String)
  /// A text for the user to read.
  case text(String)
  /// The agent's provider refuses more work until then, in milliseconds since 1970 if it gave a
  /// time.
  case rateLimited(until: Int64?)
  /// Something that may not be a failure, for the log.
  case problem(String)
}

/// How a turn ended.
package enum AgentVerdict: Hashable, Sendable {
  /// The agent reported success itself.
  case succeeded(summary: String)
  case failed(reason: String)
  /// A limit was reached; the prompt is not the cause. Not to be retried before that time,
  /// milliseconds since 1970, if the agent gave one.
  case tryLater(reason: String, until: Int64?)
}

/// How an agent's process ended.
package enum ProcessEnd: Hashable, Sendable {
  case exited(code: Int32)
  case signalled(Int32)

  package var isClean: Bool { self == .exited(code: 0) }

  /// A description for users.
  package var description: String {
    switch self {
    case .exited(let code): "exit code \(code)"
    case .signalled(let signal): "signal \(signal)"
    }
  }
}

/// Every maximum of the readers of agents' output.
package enum AgentLimits {
  /// Bytes of one line; a longer one is dropped as a whole. Tool results with images are lines of
  /// several megabytes.
  package static let lineBytesMax = 16 << 20
  /// Bytes of a tool's id.
  package static let toolIDBytesMax = 256
  /// Bytes of an agent's session id.
  package static let sessionIDBytesMax = 256
  /// Bytes of one text event, and of a summary or reason.
  package static let textBytesMax = 64 << 10
  /// The maximum number of conversations of subagents that are followed.
  package static let childrenMax = 1_000
  /// The maximum number of tools that are remembered as running.
  package static let runningToolsMax = 1_000
}

/// Reads an agent's output, a piece at a time, split at any byte.
///
/// Nothing in the output can trap, and memory is bounded by `AgentLimits`. Unknown output is
/// skipped: agents add kinds of events with every version. Only the end is judged strictly: without
/// the agent's report there is no success.
package protocol AgentOutputReader: Sendable {
  /// Reads output as it arrives.
  mutating func received(_ bytes: some Sequence<UInt8>) -> [AgentEvent]
  /// The output is complete and the process has ended.
  ///
  /// - Parameter now: milliseconds since 1970, from which waits are counted.
  mutating func ended(_ end: ProcessEnd, now: Int64) -> (
    events: [AgentEvent], verdict: AgentVerdict
  )
}

extension String {
  /// The longest prefix of whole characters that has at most this many bytes.
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
