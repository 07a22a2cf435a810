import Foundation

/// A real server process under load from this process, over WebSockets on the loopback interface.
/// Acknowledgements are durable; the server runs with its usual limits.
struct SyncSuite {
  /// Updates a second, with one measurement for each rate.
  var rates = [2_000, 4_000]
  var loadSeconds = 5
  /// Devices under a steady load; an even number, because two share a workspace.
  var loadDevices = 400
  /// Devices that are idle, and that reconnect together after a restart of the server.
  var crowd = 2_000
  var crowdPerWorkspace = 10
  /// The number of operations that the catching-up device lacks.
  var operationsBehind = 10_000
  /// More runs would take minutes.
  var runsMax = 3

  /// The share of a load's first updates that warms up and is not counted.
  private static let warmUpShare = 0.2

  /// What prevents the suite from running; nil if nothing does.
  static var obstacle: String? {
    SyncServerProcess.executable == nil
      ? "the suite sync needs cospool-server beside cospool-bench: swift build -c release "
        + "--product cospool-server" : nil
  }

  func measure(runs: Int) throws -> [Result] {
    try raiseFileLimit()
    let runs = min(runs, runsMax)
    var results: [Result] = []
    for rate in rates { results += try load(perSecond: rate, runs: runs) }
    results += try gathering()
    results.append(try catchUp(runs: runs))
    return results
  }

  /// 400 devices in 200 workspaces send one character each in turn.
  private func load(perSecond: Int, runs: Int) throws -> [Result] {
    try withDirectory { directory in
      let count = perSecond * loadSeconds
      let seeds = try FleetSeeds.pair(
        devices: loadDevices, perWorkspace: 2, characters: runs * count / loadDevices,
        directory: directory)
      let server = try SyncServerProcess(directory: directory)
      defer { server.stop() }
      let fleet = try SyncFleet(seeds, merges: false)
      try fleet.join(port: server.port)
      try fleet.exchangeFirst(perWorkspace: 2)
      var (middles, tails, costs): ([Double], [Double], [Double]) = ([], [], [])
      for _ in 0..<runs {
        let before = try server.processorSeconds
        let latencies = try fleet.load(count: count, perSecond: perSecond)
        costs.append((try server.processorSeconds - before) / Double(count))
        let counted = latencies.dropFirst(Int(Double(count) * Self.warmUpShare)).sorted()
        middles.append(counted[counted.count / 2])
        tails.append(counted[counted.count * 99 / 100])
      }
      try fleet.close()
      let name = "sync/\(perSecond)"
      return [
        .median("\(name)/edit-to-peer-p50", middles), .median("\(name)/edit-to-peer-p99", tails),
        .median("\(name)/server-processor-an-update", costs),
      ]
    }
  }

  /// 2,000 devices in 200 workspaces: the memory of an idle connection, and a restart of the
  /// server.
  private func gathering() throws -> [Result] {
    try withDirectory { directory in
      let seeds = try FleetSeeds.pair(
        devices: crowd, perWorkspace: crowdPerWorkspace, characters: 0, directory: directory)
      var server = try SyncServerProcess(directory: directory)
      defer { server.stop() }
      let alone = try server.memory.resident
      let fleet = try SyncFleet(seeds, merges: true)
      try fleet.join(port: server.port)
      let idle = (try server.memory.resident - alone) / Double(crowd)
      try fleet.exchangeFirst(perWorkspace: crowdPerWorkspace)
      let steady = try server.memory.resident
      let port = server.port
      try fleet.outlive { server.stop() }
      server = try SyncServerProcess(directory: directory, port: port)
      let clock = ContinuousClock()
      let storm = try clock.measure { try fleet.join(port: port) } / .seconds(1)
      let peak = try server.memory.peak
      try fleet.close()
      return [
        Result(name: "sync/idle/memory-a-connection", metric: "bytes", value: idle),
        Result(name: "sync/storm/all-in-sync", metric: "seconds", value: storm),
        Result(name: "sync/storm/peak-memory-by-steady", metric: "ratio", value: peak / steady),
      ]
    }
  }

  /// A device without data joins a workspace of 10,000 operations, by the server's snapshot and the
  /// changes after it.
  private func catchUp(runs: Int) throws -> Result {
    try withDirectory { directory in
      var seeds = try FleetSeeds.pair(
        devices: 2, perWorkspace: 2, characters: 0, directory: directory)
      try FleetSeeds.occupy(&seeds[0], operations: operationsBehind)
      let server = try SyncServerProcess(directory: directory)
      defer { server.stop() }
      let author = try SyncFleet([seeds[0]], merges: false)
      try author.join(port: server.port)
      try author.sendEverything()
      try author.close()
      let clock = ContinuousClock()
      var seconds: [Double] = []
      for _ in 0..<runs {
        let late = try SyncFleet([seeds[1]], merges: true, isEmpty: true)
        seconds.append(try clock.measure { try late.join(port: server.port) } / .seconds(1))
        try late.close()
      }
      return .median("sync/catch-up", seconds)
    }
  }

  func withDirectory<Value>(_ body: (String) throws -> Value) throws -> Value {
    let directory = NSTemporaryDirectory() + "cospool-bench-" + UUID().uuidString
    // A leftover directory must not hide the benchmark's own failure.
    defer { try? FileManager.default.removeItem(atPath: directory) }
    return try body(directory)
  }

  /// A descriptor for each connection, here and in the server, which inherits the limit.
  private func raiseFileLimit() throws {
    var limit = rlimit()
    let files = __rlimit_resource_t(RLIMIT_NOFILE.rawValue)
    guard getrlimit(files, &limit) == 0 else { throw BenchFailure("no limit of open files") }
    limit.rlim_cur = min(limit.rlim_max, 65_536)
    guard setrlimit(files, &limit) == 0, limit.rlim_cur > UInt64(crowd + 200) else {
      throw BenchFailure("\(limit.rlim_cur) open files are too few: ulimit -n \(crowd + 200)")
    }
  }
}
