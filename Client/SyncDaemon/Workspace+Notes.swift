import Basics
import QueueModel
import SyncClient

/// What answers say about messages beside their receipts.
extension Workspace {
  /// Where moved messages are, if that is not where their user wants them; nil if it is.
  func place(of ids: [MessageID], movedTo target: MoveTarget) throws -> String? {
    guard let first = ids.first, let last = ids.last else { return nil }
    let queue = try messageQueue(message(first).session).messages.map(\.id)
    guard let start = queue.firstIndex(of: first), let end = queue.firstIndex(of: last) else {
      return nil
    }
    let isThere =
      switch target {
      case .position(let position): start == min(position - 1, queue.count - ids.count)
      case .before(let id): end + 1 == queue.firstIndex(of: id)
      case .after(let id): start - 1 == queue.firstIndex(of: id)
      }
    guard !isThere else { return nil }
    return "It is at position \(start + 1), the nearest possible one: a message that an agent had "
      + "comes first, then urgent ones, then normal ones"
  }

  /// What a user decides about in a session in which no agent runs: its first message, which did not
  /// succeed.
  func undecided(in session: SessionID) -> String? {
    guard let first = try? messageQueue(session).messages.first, first.status.standsInFront,
      first.status != .running
    else { return nil }
    let quoted = Shell.quoted(String(first.id.description.prefix(8)))
    return
      "Message \(quoted) waits until you decide: cospool queue retry \(quoted), or cospool queue skip "
      + quoted + (first.lastError.map { ". What happened: \($0)" } ?? "")
  }
}

extension QueueClient {
  /// That a session is paused, and how to resume it; nil if it is not.
  func pause(of session: SessionID) -> String? {
    guard let queue = try? workspace().messageQueue(session), queue.paused else { return nil }
    let reasons = queue.pauseReasons.filter { !$0.isEmpty }.joined(separator: "; ")
    return
      "\(session.rawValue) is paused\(reasons.isEmpty ? "" : " (\(reasons))"). To resume it: "
      + "cospool queue resume \(Shell.quotedOption("-s", session.rawValue))"
  }

  /// Why the server accepts nothing that is sent here; nil if it does, as far as this device knows.
  var refusal: String? {
    let sync = syncStatus()
    guard sync.state == .refused || sync.refusalCode == "notAllowed", let reason = sync.lastError
    else { return nil }
    return "Saved on this device only: the server is rejecting its changes (\(reason))."
  }
}
