import ClientCore
import QueueModel
import WireProtocol

/// What the world does on its own, at a time that it set itself. A life that has ended does nothing.
enum Happening {
  // The network.
  case arrival(Pipe, Pipe.Direction)
  case opening(Pipe)
  case lingerEnd(Pipe)

  // The server.
  case storeDone(life: Int)
  case tick(life: Int)
  case serverStart(life: Int)
  case push(life: Int)

  // A device.
  case timer(device: Int, life: Int)
  case wake(device: Int, until: Int64)
  case connectionEnd(device: Int, life: Int, TransportID)
  /// An acknowledgement that the server never gave, where that bug is planted.
  case bogusAck(device: Int, life: Int, TransportID, batch: UInt64)

  // Agents and people.
  case agentEnd(device: Int, life: Int, StartOrder)
  case ask(device: Int, life: Int, StartOrder)
  case look(device: Int, life: Int, SessionID, RequestID)
  /// The time is over that a program which is told to end gives its agents.
  case graceEnd(device: Int, life: Int)
  /// Checkers look at everything.
  case sample
  case answer(device: Int, life: Int, AnswerRequest)
}
