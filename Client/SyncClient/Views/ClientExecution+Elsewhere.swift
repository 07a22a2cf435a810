import ClientCore
public import QueueModel
import WireProtocol

/// An attempt that may be at work on another device.
public struct TurnElsewhere: Hashable, Sendable {
  /// The message.
  public var message: MessageID
  /// Which attempt, from 1.
  public var attempt: UInt16
  /// The device, if the server said which; else the session's host may be it.
  public var device: DeviceID?
  /// Since when that device is away, in milliseconds since 1970; nil if it is connected, or where
  /// nobody said.
  public var awaySince: Int64?
}

/// What became of the wish to stop an attempt on another device, or to take it over.
public enum TurnIntervention: Hashable, Sendable {
  /// That device stops it: now, or when it is back, if it has been away since a time.
  case stopping(on: DeviceID, awaySince: Int64?)
  /// The session goes on without it.
  case takenOver
  /// Its device is connected: it is stopped and not taken over.
  case connected(DeviceID)
  /// No such attempt is at work.
  case notAtWork
  /// The server did not answer; nothing was decided.
  case unreachable
}

extension ClientExecution {
  private static let answerLimit: Duration = .seconds(5)

  /// The attempts that keep sessions of this device on another one, by session.
  public func runsElsewhere() async -> [SessionID: TurnElsewhere] {
    await client.engine.read { core in
      core.runsElsewhere.mapValues {
        TurnElsewhere(
          message: $0.atWork.attempt.message, attempt: $0.atWork.attempt.number,
          device: $0.device, awaySince: $0.atWork.awaySince)
      }
    }
  }

  /// The attempt that may be at work in a session, on whatever device; nil if none is known. Asks
  /// the server about the first message if nobody has said that it runs.
  public func turnAtWork(in session: SessionID) async -> TurnElsewhere? {
    if let known = await runsElsewhere()[session] { return known }
    guard let queue = try? client.workspace().messageQueue(session) else { return nil }
    if let running = queue.messages.first(where: { $0.status == .running }), let run = running.run {
      return TurnElsewhere(message: running.id, attempt: run.attempt)
    }
    guard let head = queue.messages.first,
      case .outcome(let attempt, _, _) = await client.engine.ask(
        .outcome(head.id), within: ClientExecution.answerLimit),
      attempt > head.run?.attempt ?? 0
    else { return nil }
    return TurnElsewhere(message: head.id, attempt: attempt)
  }

  /// Has an attempt stopped on the device where it is at work. The server decides, once for all who ask.
  public func stop(_ turn: TurnElsewhere) async -> TurnIntervention {
    await intervene(.stop(AttemptName(message: turn.message, number: turn.attempt)))
  }

  /// Gives an attempt up whose device is away, so that its session goes on without it: what became of it is
  /// unknown, and a person decides. That device stops its agent when it is back.
  public func takeOver(_ turn: TurnElsewhere) async -> TurnIntervention {
    await intervene(.takeOver(AttemptName(message: turn.message, number: turn.attempt)))
  }

  private func intervene(_ request: AuthorityRequest) async -> TurnIntervention {
    switch await client.engine.ask(request, within: ClientExecution.answerLimit) {
    case .stopping(let device, let since): .stopping(on: device, awaySince: since)
    case .taken: .takenOver
    case .held(let device, _, _): .connected(device)
    case .notAtWork: .notAtWork
    default: .unreachable
    }
  }
}
