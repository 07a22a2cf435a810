import Basics
import Foundation
import LocalAPI
import QueueModel
import SyncClient

/// The text about a session that waits, and how to resolve it.
extension StartObstacle {
  var standing: SessionAnswer.Standing {
    switch self {
    case .noAgent: .agentless
    case .consentMissing: .unconsented
    case .merged: .merged
    case .agentBusy, .agentNotAsking, .draining, .changeIncomplete, .blank, .movedWhileRunning,
      .runsElsewhere, .notBefore, .needs, .triesAgain, .unanswered:
      .waiting
    }
  }

  /// The name of the reason in JSON.
  var reason: String {
    switch self {
    case .noAgent: "noAgent"
    case .consentMissing: "consentMissing"
    case .agentBusy: "agentBusy"
    case .agentNotAsking: "agentNotAsking"
    case .draining: "draining"
    case .changeIncomplete: "changeIncomplete"
    case .merged: "merged"
    case .blank: "blank"
    case .movedWhileRunning: "movedWhileRunning"
    case .runsElsewhere: "runsElsewhere"
    case .notBefore: "notBefore"
    case .needs: "needs"
    case .triesAgain: "triesAgain"
    case .unanswered: "unanswered"
    }
  }

  /// Why it waits and how to resolve it; nil if there is nothing to report.
  ///
  /// - Parameters:
  ///   - quoted: the name of the session on a command line, quoted for a shell.
  ///   - message: the message of its queue that starts next.
  ///   - now: in milliseconds since 1970.
  ///   - agent: the device's agent.
  ///   - awaitsServer: whether the decision is a server's that cannot be reached now.
  ///   - isUnpaired: whether the decision is that of a server that this device was unpaired from.
  ///   - workspace: has the other messages and sessions.
  func words(
    for quoted: String, message: MessageView, now: Int64, agent: AgentKind,
    awaitsServer: Bool, isUnpaired: Bool, in workspace: Workspace
  ) -> String? {
    let id = message.id.description.prefix(8)
    switch self {
    case .noAgent where agent == .acp:
      return "no command is set for its agent: cospool config set command \"gemini --acp\""
    case .noAgent:
      return "no agent set up: cospool session agent \(quoted) claude"
    case .consentMissing:
      return "it needs your consent to run on this device: cospool session host \(quoted) this"
    case .agentBusy:
      return "somebody is using its agent, which gets the next message afterwards"
    case .agentNotAsking:
      return
        "a user is using its agent, which gets the next message at the end of its next turn"
    case .draining:
      return "the daemon is stopping, and starts no messages"
    case .changeIncomplete:
      return
        "a part of a change to \(id) has not arrived from the device that made it. If that "
        + "device is lost: cospool queue cancel \(Shell.quoted(String(id)))"
    case .merged:
      return
        "\(id) was edited in two places, and its texts were merged. To see them and choose "
        + "one: cospool queue show \(Shell.quoted(String(id)))"
    case .blank:
      let quoted = Shell.quoted(String(id))
      return
        "nothing is left of the text of \(id). To write one: cospool queue edit \(quoted). To "
        + "remove it: cospool queue cancel \(quoted)"
    case .movedWhileRunning(let other):
      return
        "the agent of \(workspace.session(other)?.name ?? other.rawValue) still works on \(id), which was moved here"
    case .runsElsewhere:
      return
        "another device may still work on it. To continue without it: cospool session take-over "
        + quoted
    case .notBefore(let time):
      if let held = message.heldUntil, held >= time { return "\(id) is on hold while it is edited" }
      return Self.wait(of: message, until: time, now: now)
    case .needs(let need):
      let start = "To start it now: cospool queue start \(Shell.quoted(String(id)))"
      return "\(id) \(need.words(in: workspace)). \(start)"
    case .triesAgain(let time):
      let seconds = max(1, (time - now + 999) / 1_000)
      let reason = message.lastError.map { ": \($0)" } ?? ""
      return "the next try is in \(seconds) s\(reason)"
    case .unanswered where awaitsServer:
      return "it starts when the server can be reached again: cospool status"
    case .unanswered where isUnpaired:
      return
        "this device was unpaired, and only its server knows that no other device runs it: cospool "
        + "pair URL CODE"
    case .unanswered: return nil
    }
  }

  /// The time until which a message waits, the reason, and how to start it earlier.
  static func wait(of message: MessageView, until time: Int64, now: Int64) -> String {
    let id = message.id.description.prefix(8)
    // After an error it waits for the end of a limit, not for a time that a user named.
    let error = message.notBefore == time ? message.lastError : nil
    let reason = error.map { ": \($0)" } ?? ""
    let end = reason.hasSuffix(".") ? "" : "."
    let date = Date(timeIntervalSince1970: Double(now) / 1_000)
    return "\(id) waits until \(LocalTime.words(time, now: date))\(reason)\(end) "
      + "To start it now: cospool queue start \(Shell.quoted(String(id)))"
  }
}

extension UnmetNeed {
  /// That a message waits for this one, and how this one ended without success.
  func words(in workspace: Workspace) -> String {
    let short = message.description.prefix(8)
    guard let need = try? workspace.message(message) else {
      return "waits for message \(short), which this device does not know"
    }
    let line = need.content.split(whereSeparator: \.isNewline).first.map(String.init) ?? ""
    let text = line.count > 40 ? "\(line.prefix(39))…" : line
    let place = workspace.session(need.session)?.name ?? need.session.rawValue
    let name = text.isEmpty ? "message \(short)" : "“\(text)”"
    return "waits for \(name) in \(place)" + (isPending ? "" : ", which \(ending)")
  }

  private var ending: String {
    switch status {
    case .failed: "failed"
    case .interrupted: "was interrupted"
    case .unknown: "has an unknown outcome"
    case .skipped: "was skipped"
    default: "was cancelled"
    }
  }
}
