import ClientCore
import QueueModel
import ServerCore
import WireProtocol

/// An event that the world scheduled itself. It has no effect if its process has ended.
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

  // One of several nodes.
  case nodeWake(life: Int)
  /// The others learn that it ended.
  case nodeGone(Int, life: Int)
  /// The store performs a task whose connection has ended, unless it went back in time since.
  case lateTask(StoreTask, node: Int, restores: Int)

  // A device.
  case timer(device: Int, life: Int)
  case wake(device: Int, until: Int64)
  case connectionEnd(device: Int, life: Int, TransportID)
  /// An acknowledgement that the server never sent, from a planted bug.
  case bogusAck(device: Int, life: Int, TransportID, batch: UInt64)

  // Agents and users.
  case agentEnd(device: Int, life: Int, StartOrder)
  case ask(device: Int, life: Int, StartOrder)
  case look(device: Int, life: Int, SessionID, RequestID)
  /// The time that a program gives its agents before it ends has passed.
  case graceEnd(device: Int, life: Int)
  /// Checkers examine everything.
  case sample
  case answer(device: Int, life: Int, AnswerRequest)
}
