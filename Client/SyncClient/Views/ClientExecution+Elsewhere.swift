import ClientCore
public import QueueModel
import WireProtocol

/// An attempt that may be at work on another device.
public struct TurnElsewhere: Hashable, Sendable {
  /// The message.
  public var message: MessageID
  /// The number of the attempt, from 1.
  public var attempt: UInt16
  /// The device, if the server named it; otherwise it may be the session's host.
  public var device: DeviceID?
  /// Since when that device has been away, in milliseconds since 1970; nil if it is connected, or
  /// if that is unknown.
  public var awaySince: Int64?
}

/// The result of a request to stop an attempt on another device, or to take it over.
public enum TurnIntervention: Hashable, Sendable {
  /// That device stops it: now, or when it is back, if it has been away since a time.
  case stopping(on: DeviceID, awaySince: Int64?)
  /// The session continues without it.
  case takenOver
  /// Its device is connected: stop it instead of taking it over.
  case connected(DeviceID)
  /// No such attempt is at work.
  case notAtWork
  /// The server did not answer. If this was a request to stop, the message counts as cancelled
  /// unless the attempt succeeds.
  case unreachable
}

extension ClientExecution {
  static let answerLimit: Duration = .seconds(5)

  /// The attempts on other devices that block sessions of this one, by session.
  public func runsElsewhere() async -> [SessionID: TurnElsewhere] {
    await client.engine.read { core in
      core.runsElsewhere.mapValues {
        TurnElsewhere(
          message: $0.atWork.attempt.message, attempt: $0.atWork.attempt.number,
          device: $0.device, awaySince: $0.atWork.awaySince)
      }
    }
  }

  /// The attempt that may be at work in a session, on any device; nil if none is known. Asks the
  /// server about the first message, unless it is known to run.
  public func turnAtWork(in session: SessionID) async -> TurnElsewhere? {
    if let known = await runsElsewhere()[session] { return known }
    guard let queue = try? client.workspace().messageQueue(session) else { return nil }
    if let running = queue.messages.first(where: { $0.status == .running }), let run = running.run {
      return TurnElsewhere(message: running.id, attempt: run.attempt)
    }
    guard let head = queue.messages.first,
      case .outcome(let attempt, _, _)? = try? await client.engine.ask(
        .outcome(head.id), within: ClientExecution.answerLimit),
      attempt > head.run?.attempt ?? 0
    else { return nil }
    return TurnElsewhere(message: head.id, attempt: attempt)
  }

  /// Stops an attempt on the device where it is at work. The server decides, once for all requests.
  ///
  /// - Throws: `.notAllowed` if the server does not let this device change anything;
  ///   `.queue(.persistenceFailed)`, without sending a request, if the stop cannot be stored.
  public func stop(_ turn: TurnElsewhere) async throws(ClientError) -> TurnIntervention {
    try client.requireAccess()
    return try await intervene(.stop(AttemptName(message: turn.message, number: turn.attempt)))
  }

  /// Gives up an attempt whose device is away, so that its session continues without it. Its
  /// outcome is unknown, and a user decides. That device stops its agent when it is back.
  ///
  /// - Throws: `.notAllowed` if the server does not let this device change anything.
  public func takeOver(_ turn: TurnElsewhere) async throws(ClientError) -> TurnIntervention {
    try client.requireAccess()
    return try await intervene(.takeOver(AttemptName(message: turn.message, number: turn.attempt)))
  }

  private func intervene(
    _ request: AuthorityRequest
  ) async throws(ClientError) -> TurnIntervention {
    switch try await client.engine.ask(request, within: ClientExecution.answerLimit) {
    case .stopping(let device, let since): .stopping(on: device, awaySince: since)
    case .taken: .takenOver
    case .held(let device, _, _): .connected(device)
    case .notAtWork: .notAtWork
    default: .unreachable
    }
  }
}
