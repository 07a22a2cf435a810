import ClientCore
public import QueueModel
import WireProtocol

/// What an interruption did with the turn that its user saw running. The message is queued in each case.
public enum TurnInterruption: Hashable, Sendable {
  /// The agent stops: on this device if it names none; now, or when that device is back, if it has been
  /// away since a time.
  case stopping(on: DeviceID?, awaySince: Int64?)
  /// Nothing is stopped.
  case nothing(InterruptObstacle)
  /// Nothing is stopped: the server could not be asked.
  case unreachable
  /// The server was asked to stop it, and did not answer.
  case unconfirmed
  /// Nothing is stopped: this device could not store the stop.
  case failed(ClientError)
}

extension ClientExecution {
  /// The turn that this device shows as running in a session; nil if it shows none, or another one than
  /// its user named.
  ///
  /// - Parameters:
  ///   - message: the message that the user saw running; nil for whichever runs.
  ///   - attempts: the number of its attempts that the user saw; nil for any.
  public func shownTurn(
    in session: SessionID, at message: MessageID? = nil, attempts: Int? = nil
  ) -> TurnElsewhere? {
    guard let queue = try? client.workspace().messageQueue(session),
      let running = queue.messages.first(where: { $0.status == .running }), let run = running.run,
      message ?? running.id == running.id, attempts ?? running.attempts == running.attempts
    else { return nil }
    return TurnElsewhere(message: running.id, attempt: run.attempt)
  }

  /// Stops a turn, so that a message which was sent before can start. Only that attempt is stopped, and
  /// only if the message could start then.
  ///
  /// Without an answer of the server nothing is written. A stop in the outbox would meet whatever runs
  /// when the connection is back.
  public func interrupt(_ turn: TurnElsewhere, for message: MessageID) async -> TurnInterruption {
    do throws(ClientError) {
      if let obstacle = obstacle(to: turn, for: message) { return .nothing(obstacle) }
      if try await stopHere(turn) { return .stopping(on: nil, awaySince: nil) }
      // The answer comes when the server has the message: it shows that a stop reaches it now.
      switch try await client.engine.ask(.outcome(turn.message), within: Self.answerLimit) {
      case .outcome(turn.attempt, _, _): break
      case .outcome: return .nothing(.over)
      default: return .unreachable
      }
      if let obstacle = obstacle(to: turn, for: message) { return .nothing(obstacle) }
      return switch try await stop(turn) {
      case .stopping(let device, let since): .stopping(on: device, awaySince: since)
      case .unreachable: .unconfirmed
      case .takenOver, .connected, .notAtWork: .nothing(.over)
      }
    } catch {
      return .failed(error)
    }
  }

  private func obstacle(to turn: TurnElsewhere, for message: MessageID) -> InterruptObstacle? {
    let workspace = client.workspace()
    let sender = (try? workspace.message(turn.message))?.device?.id
    if client.syncStatus().role == DeviceRole.author.name, sender != client.deviceID {
      return .ofOthers
    }
    return InterruptObstacle.found(
      for: message, stopping: (turn.message, turn.attempt), in: workspace, by: client.time)
  }

  /// - Returns: whether the turn runs on this device, which stops it.
  private func stopHere(_ turn: TurnElsewhere) async throws(ClientError) -> Bool {
    guard let session = (try? client.workspace().message(turn.message))?.session else {
      return false
    }
    return try await client.engine.submit { core, context, store throws(Replica.Fault) in
      guard core.running[session]?.attempt == turn.attempt,
        let actions = core.agentStopRequested(
          session, of: turn.message, at: context, store: store)
      else { return (false, []) }
      return (true, actions)
    }
  }
}
