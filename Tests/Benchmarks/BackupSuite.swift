import Foundation
import QueueModel
import SyncServer
import Synchronization

/// Backups of a real server process that gets updates all the time. A backup must contain
/// everything that was acknowledged when it began. Later changes must be back within a minute after
/// the devices connect to the server that was restored from the last one.
struct BackupSuite {
  var perSecond = 1_000
  var loadSeconds = 30
  /// An even number, because two share a workspace.
  var devices = 100
  var backups = 5

  static let returnSecondsMax = 60.0

  static var obstacle: String? {
    ["cospool-server", "cospoold", "cospool"].first { DaemonProcess.executable($0) == nil }
      .map { "the suite backup needs \($0) beside cospool-bench: make backup-check" }
  }

  /// - Throws: `BenchFailure` if a backup is incomplete or lacks acknowledged changes, or the
  ///   devices do not send the rest in time.
  func measure() throws -> [Result] {
    try SyncSuite().withDirectory { root in
      let data = "\(root)/server"
      // A folder for each, because only the last backup of a day is kept.
      let folder: @Sendable (Int) -> String = { number in "\(root)/backups-\(number)" }
      try FileManager.default.createDirectory(atPath: data, withIntermediateDirectories: true)
      let count = perSecond * loadSeconds
      let seeds = try FleetSeeds.pair(
        devices: devices, perWorkspace: 2, characters: count / devices + 1, directory: data)
      var server = try SyncServerProcess(directory: data)
      defer { server.stop() }
      let devices = try ReturningDevices(
        workspaces: self.devices / 2, of: server, over: data, in: root)
      let fleet = try SyncFleet(seeds, merges: false)
      try fleet.join(port: server.port)
      try fleet.exchangeFirst(perWorkspace: 2)
      let made = try underLoad(fleet, count: count) { number in
        try Self.run(["backup", "create", "--folder", folder(number), "--data", data])
      }
      let acknowledged = try fleet.acknowledgedPositions()
      let texts = try fleet.sentTexts()
      try fleet.close()
      _ = try devices.synchronise()
      let port = server.port
      server.stop()
      var (lost, later) = (0, 0)
      var restored = ""
      for (index, backup) in made.enumerated() {
        let place = [backup.name, "--folder", folder(index), "--data"]
        try Self.run(["backup", "verify"] + place + [data])
        restored = "\(root)/restored-\(index)"
        try Self.run(["backup", "restore"] + place + [restored])
        lost += try Self.missing(of: backup.acknowledged, in: restored)
        later = try Self.missing(of: acknowledged, in: restored)
      }
      try BenchFailure.require(lost == 0, "the backups lack \(lost) entries that were acknowledged")
      let entries = made.last?.acknowledged.values.reduce(0, +) ?? 0
      try BenchFailure.require(
        entries > 0 && later > 0, "nothing was acknowledged before the last backup, or after it")
      server = try SyncServerProcess(directory: restored, port: port)
      let back = try devices.synchronise()
      try Self.requireAll(texts, from: port, as: seeds)
      try BenchFailure.require(
        back <= Self.returnSecondsMax, "what came later was back after \(back) s only")
      return [
        .median("backup/\(perSecond)/create", made.map(\.seconds)),
        Result(name: "backup/\(perSecond)/entries", metric: "count", value: Double(entries)),
        Result(name: "backup/\(perSecond)/lost", metric: "count", value: Double(lost)),
        Result(name: "backup/\(perSecond)/later", metric: "count", value: Double(later)),
        Result(name: "backup/\(perSecond)/later-is-back", metric: "seconds", value: back),
      ]
    }
  }

  /// Requires that devices without data get everything that was sent.
  private static func requireAll(
    _ texts: [String], from port: Int, as seeds: [FleetSeed]
  ) throws {
    let fresh = try SyncFleet(seeds, merges: true, isEmpty: true)
    try fresh.join(port: port)
    let got = try fresh.texts()
    try fresh.close()
    for index in texts.indices {
      // Two share a workspace.
      try BenchFailure.require(
        got[index] == [texts[index], texts[index ^ 1]],
        "\(seeds[index].name) gets \(got[index]) from the restored server")
    }
  }

  private struct Made {
    var name: String
    var seconds: Double
    /// The latest position that each workspace's devices had acknowledged when it began.
    var acknowledged: [WorkspaceID: UInt64]
  }

  /// Sends at the rate, and makes the backups meanwhile, evenly spread.
  private func underLoad(
    _ fleet: SyncFleet, count: Int, backUp: @escaping @Sendable (Int) throws -> String
  ) throws -> [Made] {
    let made = Mutex<[Made]>([])
    let failure = Mutex<String?>(nil)
    let isDone = DispatchSemaphore(value: 0)
    let (backups, loadSeconds) = (backups, loadSeconds)
    Thread.detachNewThread {
      defer { isDone.signal() }
      do {
        for number in 0..<backups {
          if number > 0 { Thread.sleep(forTimeInterval: Double(loadSeconds) / Double(backups)) }
          let acknowledged = try fleet.acknowledgedPositions()
          let clock = ContinuousClock()
          let begin = clock.now
          let said = try backUp(number)
          let seconds = (clock.now - begin) / .seconds(1)
          guard let name = said.firstMatch(of: #/[0-9]{8}T[0-9]{6}Z[-0-9]*/#) else {
            throw BenchFailure("backup create said no name: \(said)")
          }
          let entry = Made(name: String(name.0), seconds: seconds, acknowledged: acknowledged)
          made.withLock { $0.append(entry) }
        }
      } catch {
        failure.withLock { $0 = "\(error)" }
      }
    }
    _ = try fleet.load(count: count, perSecond: perSecond)
    isDone.wait()
    if let reason = failure.withLock({ $0 }) { throw BenchFailure(reason) }
    return made.withLock { $0 }
  }

  /// The number of log entries that are missing in a restored data directory.
  private static func missing(
    of acknowledged: [WorkspaceID: UInt64], in directory: String
  ) throws -> Int {
    let logs = try ServerAdministration(dataDirectory: directory).logs(workspaceName: nil)
      .workspaces
    let problem = logs.compactMap(\.problem).first
    try BenchFailure.require(problem == nil, "a workspace cannot be read: \(problem ?? "")")
    let positions = Dictionary(uniqueKeysWithValues: logs.map { ($0.workspace, $0.logPosition) })
    return acknowledged.reduce(0) { sum, entry in
      let restored = positions[entry.key.description] ?? 0
      return sum + Int(max(entry.value, restored) - restored)
    }
  }

  /// Runs the server's program until it ends.
  @discardableResult
  private static func run(_ words: [String]) throws -> String {
    guard let executable = SyncServerProcess.executable else {
      throw BenchFailure("there is no cospool-server beside cospool-bench")
    }
    let process = Process()
    let pipe = Pipe()
    process.executableURL = executable
    process.arguments = words
    process.standardOutput = pipe
    process.standardError = pipe
    try process.run()
    let text = String(decoding: pipe.fileHandleForReading.readDataToEndOfFile(), as: UTF8.self)
    process.waitUntilExit()
    try BenchFailure.require(
      process.terminationStatus == 0, "cospool-server \(words.joined(separator: " ")): \(text)")
    return text
  }
}
