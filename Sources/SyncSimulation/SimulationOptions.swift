/// What a run draws its faults and commands from; the names are those of the command line.
package enum Profile: String, Hashable, Sendable, CaseIterable {
  /// Few devices and steps, some of every fault.
  case smoke
  /// Every fault, at rates that leave most commands alone.
  case standard = "default"
  /// Many faults at once, and patterns that meet at one place.
  case hostile
  /// One-way and two-way partitions, clogs and cuts; outboxes must drain in 5 s after healing.
  case partition
  /// Processes and machines that die, also in the middle of a commit.
  case crash
  /// Full disks, errors, restored backups and copies, on devices and server.
  case storage
  /// Wall clocks that are minutes to decades off, and step.
  case clock
  /// One device without a server, which runs what waits there.
  case alone

  /// Those with a server and several devices.
  package static let syncing = allCases.filter { $0 != .alone }
}

/// Everything a run follows from, besides its steps.
package struct SimulationOptions: Hashable, Sendable {
  package var seed: UInt64
  package var devices: Int
  package var network = NetworkConditions()
  package var server = ServerSettings()
  /// Bugs that are there on purpose, to see whether they are found.
  package var planted: Set<PlantedBug> = []
  /// Keeps a line for each thing that happens.
  package var keepsTrace = false
  /// How many messages a session may hold for a device to add one.
  package var queueSizeMax = 50
  /// How long after healing every outbox must be empty, virtual milliseconds.
  package var drainMillisecondsMax: Int64 = 120_000
  /// Runs every timer's event and checks everything behind it, even if nothing can have changed: the same
  /// run, found to be the same by the long way.
  package var takesLongWay = false
  /// Compares with the oracle, which takes time that grows faster than the number of operations.
  package var usesOracle = true
  /// Sessions have hosts, and hosts run what waits in them.
  package var runsAgents = false
  /// Agents ask for leave and for answers, and people answer.
  package var raisesRequests = false
  /// Who withdraws or edits a message asks whether that was in time.
  package var asksOutcomes = false
  /// Agents are done within a second, mostly, and observers are compared less often: for runs whose
  /// point is how much is executed.
  package var hasQuickAgents = false

  /// The devices have no server.
  package var isAlone = false
  /// How late devices wake at most, virtual milliseconds.
  package var timersLateMax: Int64 = 0

  package init(seed: UInt64, devices: Int) {
    self.seed = seed
    self.devices = devices
  }
}

/// How long bytes take, while nothing is wrong.
package struct NetworkConditions: Hashable, Sendable {
  package var latencyMilliseconds: ClosedRange<Int64> = 5...60
  /// Percent of frames that are split and arrive in two parts.
  package var splitPercent = 10

  package init() {}
}

/// The server's limits, small enough that short runs meet them.
package struct ServerSettings: Hashable, Sendable {
  /// Log entries a device may lack and still get them instead of a snapshot.
  package var catchUpEntriesMax = 100
  /// Log entries after which a snapshot is due.
  package var snapshotEntries = 24
  package var partBytesMax = 2_048
  /// How long the store takes for a task.
  package var storeMilliseconds: ClosedRange<Int64> = 1...8

  package init() {}
}
