import Basics
import Hummingbird
import LocalAPI
import QueueModel
import SyncClient

/// Messages that interrupt: a turn is stopped, so that the message starts.
extension APIHandlers {
  /// The turn that is to be stopped for a message; nil if it does not run, as this device knows.
  ///
  /// - Throws: if an agent sends the message.
  func turn(
    _ interrupt: InterruptRequest, in session: SessionID, for send: Command.Send
  ) throws -> TurnElsewhere? {
    guard !send.byAgent else { throw APIProblem.agentInterrupts }
    // What runs by now may be this very message, or one after it.
    let isRepeated = (try? client.workspace().message(send.id)) != nil
    guard !isRepeated || interrupt.message != nil else { return nil }
    return client.execution.shownTurn(
      in: session, at: interrupt.message, attempts: interrupt.attempts)
  }

  /// Stops that turn.
  ///
  /// - Parameter message: the message that starts then, which is queued.
  func interrupt(
    _ turn: TurnElsewhere?, for message: MessageID, in session: SessionID
  ) async -> StopAnswer {
    guard let turn else {
      return StopAnswer(stopped: false, note: "Nothing was stopped: no such turn is running.")
    }
    let outcome = await client.execution.interrupt(turn, for: message)
    guard case .stopping(let device, let since) = outcome else {
      return StopAnswer(stopped: false, note: words(for: outcome, in: session))
    }
    await noteStop(of: turn.message, in: session)
    return StopAnswer(
      stopped: true, message: changed([turn.message]).first, device: device.map(name(of:)),
      awaySince: since)
  }

  private func words(for outcome: TurnInterruption, in session: SessionID) -> String? {
    let quoted = Shell.quotedOption("-s", session.rawValue)
    switch outcome {
    case .stopping: return nil
    case .nothing(let obstacle):
      return "Nothing was stopped: \(words(for: obstacle, quoted))."
    case .unreachable:
      return "Nothing was stopped: another device runs the agent, and the server did not answer."
    case .unconfirmed:
      return
        "The server did not answer in time, so the agent may stop or go on: cospool queue list "
        + quoted
    case .failed(let error): return "Nothing was stopped: \(error)"
    }
  }

  private func words(for obstacle: InterruptObstacle, _ quoted: String) -> String {
    switch obstacle {
    case .over: "that turn has ended"
    case .stopping: "its agent is stopping already"
    case .ofOthers:
      "another device sent what runs, and this one was paired as an author, which interrupts only "
        + "what it sent"
    case .withdrawn: "the message was cancelled"
    case .paused: "the session is paused. To resume it: cospool queue resume \(quoted)"
    case .later(let time): "the message waits until \(LocalTime.words(time))"
    case .needs(let need): "the message \(need.words(in: client.workspace()))"
    case .undecided: "a message waits for a decision: cospool queue list \(quoted)"
    }
  }
}

extension APIProblem {
  fileprivate static let agentInterrupts = APIProblem(
    .forbidden, code: "agentInterrupts",
    message: "An agent may queue messages, and interrupts nothing: a user does that.",
    exitCode: ExitStatus.authentication)
}
