/// The faults and commands that a run draws from; the names are those of the command line.
package enum Profile: String, Hashable, Sendable, CaseIterable {
  /// Few devices and steps, with some faults of every kind.
  case smoke
  /// Every fault, at rates that let most commands succeed.
  case standard = "default"
  /// Many faults at once, and patterns that compete for one place.
  case hostile
  /// One-way and two-way partitions, delays and cuts; outboxes must drain 5 s after the repair.
  case partition
  /// Processes and machines that die, even in the middle of a commit.
  case crash
  /// Full disks, errors, restored backups and copies, on devices and server.
  case storage
  /// Wall clocks that are off by minutes to decades, and step.
  case clock
  /// One device without a server, which runs the messages.
  case alone
  /// Several nodes over one store. They die, pause, lose the store and each other, and the store
  /// loses its latest commits.
  case nodes

  /// The profiles with one server and several devices.
  package static let syncing = allCases.filter { $0 != .alone && $0 != .nodes }
  /// The profiles that seeds take in turn; runs with several nodes have separate seeds.
  package static let turns = allCases.filter { $0 != .nodes }
}

/// Everything that determines a run, except its steps.
package struct SimulationOptions: Hashable, Sendable {
  package var seed: UInt64
  package var devices: Int
  package var network = NetworkConditions()
  package var server = ServerSettings()
  /// Bugs that are planted, to see whether they are found.
  package var planted: Set<PlantedBug> = []
  /// Keeps a line for each event.
  package var keepsTrace = false
  /// The number of messages in a session up to which a device adds one.
  package var queueSizeMax = 50
  /// How long after a repair every outbox must be empty, in virtual milliseconds.
  package var drainMillisecondsMax: Int64 = 120_000
  /// Runs the event of every timer and checks everything after it, even if nothing can have
  /// changed. The run must be the same.
  package var takesLongWay = false
  /// Compares with the oracle, which takes time that grows faster than the number of operations.
  package var usesOracle = true
  /// Sessions have hosts, and hosts run the messages in them.
  package var runsAgents = false
  /// Agents ask for permission and for answers, and users answer.
  package var raisesRequests = false
  /// Users who withdraw or edit a message ask whether that was in time.
  package var asksOutcomes = false
  /// Most agents are done within a second, and observers are compared less often: for runs that
  /// execute as much as possible.
  package var hasQuickAgents = false

  /// The devices have no server.
  package var isAlone = false
  /// The maximum delay of devices on waking, in virtual milliseconds.
  package var timersLateMax: Int64 = 0

  package init(seed: UInt64, devices: Int) {
    self.seed = seed
    self.devices = devices
  }
}

/// The time that bytes take without a fault.
package struct NetworkConditions: Hashable, Sendable {
  package var latencyMilliseconds: ClosedRange<Int64> = 5...60
  /// The percentage of frames that are split and arrive in two parts.
  package var splitPercent = 10

  package init() {}
}

/// The server's limits, small enough that short runs reach them.
package struct ServerSettings: Hashable, Sendable {
  /// The maximum number of missing log entries that a device gets instead of a snapshot.
  package var catchUpEntriesMax = 100
  /// The number of log entries after which a snapshot is due.
  package var snapshotEntries = 24
  package var partBytesMax = 2_048
  /// How long the store takes for a task.
  package var storeMilliseconds: ClosedRange<Int64> = 1...8
  package var nodes = NodeSettings()

  package init() {}
}

/// The processes over the server's store.
package struct NodeSettings: Hashable, Sendable {
  /// 1 for an ordinary server.
  package var count = 1
  /// Whether the proxy sends all connections of a workspace to one node while that works;
  /// otherwise, to any node.
  package var proxyHashes = true
  /// Whether a node forwards connections to the node that serves the workspace; otherwise, it takes
  /// the workspace.
  package var passesOn = true

  package init() {}
}
