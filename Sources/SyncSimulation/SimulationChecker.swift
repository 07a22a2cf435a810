package import ClientCore
package import DispatchAuthority
package import QueueModel
package import ServerCore
package import WireProtocol

/// Something that checkers want to know of.
package enum Observation {
  /// A command was taken on a device.
  case performed(device: Int, UserAction, before: Workspace, CommandOutcome)
  /// The process died over a command, which counts or does not; `after` is the state with it, where it
  /// came so far.
  case interrupted(device: Int, UserAction, before: Workspace, after: Workspace?)
  /// A command was refused by the model.
  case refused(device: Int, UserAction, QueueError)
  /// A device's process began, anew or for the first time.
  case started(device: Int)
  /// A device took a frame in.
  case advanced(device: Int)
  /// Observers on a device were told of a change.
  case changed(device: Int, TouchedQueues)
  /// A device found a copy of its memory and gave unsent operations other ids.
  case reauthored(device: Int)
  /// A device's memory was copied, or set back: two processes may write under one replica.
  case memoryCloned(device: Int)
  /// The files of a device, or the server's, went back in time.
  case rolledBack(Party)
  /// A device's machine went down, and with it commits that had not waited for the disk: of what was
  /// received, and of a command that nobody was told is done.
  case lostCommits(device: Int)
  /// The server's store said that these are durable; the server's clock when it took them.
  case committed([LogEntry], wallMilliseconds: Int64)
  /// The server acknowledged a batch of a device's.
  case acknowledged(device: Int)
  /// The server's log has an entry more: its state joined with that of a device.
  case joined
  /// The server complained of a connection.
  case serverReport(ServerReport)
  /// A device was added, as a copy of another.
  case added(device: Int)
  /// The server's store holds that these attempts were let out, behind what was committed with it.
  case letOut([Dispatch])
  /// The server's store holds that these attempts are to be stopped, or were taken over.
  case intervened([Dispatch])
  /// Somebody who stops an attempt is told that it stops.
  case stopTold(AskedStop)
  /// A device told an agent to stop.
  case agentStopped(device: Int, StartOrder)
  /// A device handed a prompt to an agent.
  case agentStarted(device: Int, StartOrder)
  /// Somebody is told how the race between a change of theirs and the start of a message ended.
  case raceEnded(device: Int, AskedRace, StartRace.Ending)
  /// An agent asks for something, on a device in this life of it.
  case raised(device: Int, life: Int, RequestID)
  /// The agent is told what became of it.
  case decided(device: Int, RequestID, AskAnswer)
  /// Somebody at a device says yes to what they are shown.
  case allowed(device: Int, RequestID, shown: ContentHash?)
  /// Somebody who answered is told what became of the answer.
  case answerEnded(device: Int, AnswerRequest, AnswerEnding)
  /// The server's store holds these changes of inboxes.
  case inboxesChanged(InboxChanges)
  /// A device shows a notification to its person, and could or could not store that it did.
  case shown(device: Int, InboxNotification, isRemembered: Bool)
  /// An agent of the host waits for an answer, and nothing is under way between it, the server and
  /// the device.
  case looked(host: Int, device: Int, SessionID, RequestID)
  /// A push reached its provider.
  case pushed(StoredPushOrder)
  /// The server was told the time, where there are notifications.
  case serverTicked
  /// Some seconds went by.
  case sampled
  /// The agent was done.
  case agentSucceeded(device: Int, StartOrder)
}

/// Who holds data.
package enum Party: Hashable, Sendable {
  case device(Int)
  case server
}

/// Watches a run, and says what must not be.
///
/// A checker belongs to one run. What it finds is reported once for each call; a run ends at the
/// first violation of a step.
package protocol SimulationChecker: AnyObject {
  /// The name that reports show, and by which shrinking knows a failure again.
  var name: String { get }
  /// Something happened.
  func noted(_ observation: Observation, in simulation: Simulation) -> [String]
  /// All faults are over and everything came to rest.
  func settled(in simulation: Simulation) -> [String]
}

extension SimulationChecker {
  package func noted(_ observation: Observation, in simulation: Simulation) -> [String] { [] }
  package func settled(in simulation: Simulation) -> [String] { [] }
}
