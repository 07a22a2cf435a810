package import ClientCore
package import DispatchAuthority
package import QueueModel
package import ServerCore
package import WireProtocol

/// An event for checkers.
package enum Observation {
  /// A device performed a command.
  case performed(device: Int, UserAction, before: Workspace, CommandOutcome)
  /// The process died during a command, which may or may not count; `after` is the state with it,
  /// if it got that far.
  case interrupted(device: Int, UserAction, before: Workspace, after: Workspace?)
  /// The model refused a command.
  case refused(device: Int, UserAction, QueueError)
  /// A device's process started, for the first time or again.
  case started(device: Int)
  /// A device processed a frame.
  case advanced(device: Int)
  /// Observers on a device received a change.
  case changed(device: Int, TouchedQueues)
  /// A device detected a copy of its memory, and gave unsent operations new ids.
  case reauthored(device: Int)
  /// A device's memory was copied, or set back; two processes may write under one replica.
  case memoryCloned(device: Int)
  /// The files of a device, or of the server, went back in time.
  case rolledBack(Party)
  /// A device's machine went down, and lost commits that had not waited for the disk: received
  /// data, and commands that were not reported as done.
  case lostCommits(device: Int)
  /// The server's store reported these entries as durable; the time is the server's when it
  /// accepted them.
  case committed([LogEntry], wallMilliseconds: Int64)
  /// The server acknowledged a batch of a device.
  case acknowledged(device: Int)
  /// The server's log has a new entry: its state joined with that of a device.
  case joined
  /// The server reported a problem with a connection.
  case serverReport(ServerReport)
  /// A device was added, as a copy of another.
  case added(device: Int)
  /// The server's store has these grants, after the operations that were committed with them.
  case granted([Dispatch])
  /// The server's store has the decisions to stop these attempts, or that they were taken over.
  case intervened([Dispatch])
  /// A user who stops an attempt learns that it stops.
  case stopReported(AskedStop)
  /// A device stopped an agent.
  case agentStopped(device: Int, StartOrder)
  /// A device handed a prompt to an agent.
  case agentStarted(device: Int, StartOrder)
  /// A user learned how the race between a change and the start of a message ended.
  case raceEnded(device: Int, AskedRace, StartRace.Ending)
  /// An agent made a request, on a device in this life of it.
  case raised(device: Int, life: Int, RequestID)
  /// The agent received the decision.
  case decided(device: Int, RequestID, AskAnswer)
  /// A user at a device approved the displayed content.
  case allowed(device: Int, RequestID, shown: ContentHash?)
  /// A user who answered learned the outcome of the answer.
  case answerEnded(device: Int, AnswerRequest, AnswerEnding)
  /// The server's store has these changes to inboxes.
  case inboxesChanged(InboxChanges)
  /// A device showed a notification to its user, and could or could not record that.
  case shown(device: Int, InboxNotification, isRemembered: Bool)
  /// An agent of the host waits for an answer, and nothing is in transit between it, the server and
  /// the device.
  case looked(host: Int, device: Int, SessionID, RequestID)
  /// One of several nodes sends a frame.
  case answered(node: Int, [UInt8])
  /// One of several nodes is about to push something.
  case pushing(node: Int)
  /// A push reached its provider.
  case pushed(StoredPushOrder)
  /// The server received the time while there are notifications.
  case serverTicked
  /// Some seconds passed.
  case sampled
  /// The agent succeeded.
  case agentSucceeded(device: Int, StartOrder)
}

/// An owner of data.
package enum Party: Hashable, Sendable {
  case device(Int)
  case server
}

/// Watches a run, and reports violations.
///
/// A checker belongs to one run. Each call reports its findings once; a run ends at the first
/// violation of a step.
package protocol SimulationChecker: AnyObject {
  /// The name in reports, by which shrinking recognises a failure.
  var name: String { get }
  /// An event happened.
  func noted(_ observation: Observation, in simulation: Simulation) -> [String]
  /// All faults have ended and everything has come to rest.
  func settled(in simulation: Simulation) -> [String]
}

extension SimulationChecker {
  package func noted(_ observation: Observation, in simulation: Simulation) -> [String] { [] }
  package func settled(in simulation: Simulation) -> [String] { [] }
}
