import ClientCore
import DispatchAuthority
import QueueModel
import WireProtocol

/// How many times the server's store had gone back in time when attempts were granted. A server
/// whose store has gone back since then cannot know of the attempt, even if its answer was still on
/// its way.
struct GrantLives {
  private struct Grant: Hashable {
    var message: MessageID
    var attempt: UInt16
    var token: UInt64
  }

  private var restores: [Grant: Int] = [:]

  mutating func note(_ observation: Observation, in simulation: Simulation) {
    let now = simulation.server.disk.restores
    switch observation {
    case .granted(let dispatches):
      for dispatch in dispatches {
        restores[
          Grant(
            message: dispatch.message, attempt: dispatch.attempt, token: dispatch.token)] = now
      }
    case .agentStarted(_, let order):
      // A device that is its own authority does not report its grants.
      let grant = Grant(message: order.message, attempt: order.attempt, token: order.token)
      restores[grant] = restores[grant] ?? now
    default: break
    }
  }

  /// nil if the attempt did not begin.
  func life(of order: StartOrder) -> Int? {
    restores[Grant(message: order.message, attempt: order.attempt, token: order.token)]
  }

  /// The same for a reported run of a message.
  func life(of run: Run, of message: MessageID) -> Int? {
    restores[Grant(message: message, attempt: run.attempt, token: run.token)]
  }
}
