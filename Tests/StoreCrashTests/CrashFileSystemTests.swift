import Foundation
import GRDB
import QueueOracle
import Testing

/// The disk under the stores: its losses, and proof that they happen.
@Suite struct CrashFileSystemTests {
  /// A table of numbers on a disk that can lose power.
  private final class Bench {
    let disk: Disk
    let path: String
    private(set) var queue: DatabaseQueue
    private let synchronous: String

    init(synchronous: String, autocheckpoint: Int = 1_000) throws {
      let directory = NSTemporaryDirectory() + "cospool-disk-\(UUID().uuidString)"
      try FileManager.default.createDirectory(
        atPath: directory, withIntermediateDirectories: true)
      disk = Disk(directory: directory)
      CrashFileSystem.mount(disk)
      path = directory + "/numbers.sqlite"
      self.synchronous = synchronous
      queue = try Bench.connect(path, synchronous, autocheckpoint)
      try queue.write { try $0.execute(sql: "CREATE TABLE numbers (number INTEGER)") }
    }

    deinit {
      CrashFileSystem.unmount(disk)
      try? FileManager.default.removeItem(atPath: disk.directory)
    }

    private static func connect(
      _ path: String, _ synchronous: String, _ autocheckpoint: Int
    ) throws -> DatabaseQueue {
      var configuration = Configuration()
      configuration.prepareDatabase { database in
        try database.execute(sql: "PRAGMA journal_mode = WAL")
        try database.execute(sql: "PRAGMA synchronous = \(synchronous)")
        try database.execute(sql: "PRAGMA wal_autocheckpoint = \(autocheckpoint)")
      }
      return try DatabaseQueue(path: path, configuration: configuration)
    }

    func insert(_ number: Int) throws {
      try queue.write { try $0.execute(sql: "INSERT INTO numbers VALUES (?)", arguments: [number]) }
    }

    func crash(using generator: inout SeededGenerator) throws {
      disk.failPowerNow()
      try? queue.close()
      try disk.crash(using: &generator)
      queue = try Bench.connect(path, synchronous, 1_000)
    }

    func numbers() throws -> [Int] {
      try queue.read { try Int.fetchAll($0, sql: "SELECT number FROM numbers ORDER BY rowid") }
    }
  }

  @Test func syncedTransactionsSurvive() throws {
    for seed in 1...40 as ClosedRange<UInt64> {
      var generator = SeededGenerator(seed: seed)
      let bench = try Bench(synchronous: "FULL", autocheckpoint: 4)
      for number in 1...20 { try bench.insert(number) }
      try bench.crash(using: &generator)
      #expect(try bench.numbers() == Array(1...20), "seed \(seed)")
      #expect(try integrity(of: bench.path) == "ok", "seed \(seed)")
    }
  }

  /// The checks are effective: without syncs, committed data is lost.
  @Test(arguments: ["NORMAL", "OFF"])
  func transactionsWithoutSyncsGetLost(_ synchronous: String) throws {
    var lost = 0
    for seed in 1...40 as ClosedRange<UInt64> {
      var generator = SeededGenerator(seed: seed)
      let bench = try Bench(synchronous: synchronous)
      try bench.queue.writeWithoutTransaction { try $0.execute(sql: "PRAGMA wal_checkpoint") }
      for number in 1...20 { try bench.insert(number) }
      // Without syncs the file may even be damaged beyond opening.
      guard (try? bench.crash(using: &generator)) != nil, let held = try? bench.numbers() else {
        lost += 1
        continue
      }
      if held != Array(1...20) { lost += 1 }
    }
    #expect(lost > 20, "\(lost) of 40")
  }

  @Test func powerFailsAtTheGivenChange() throws {
    for change in 1...30 {
      var generator = SeededGenerator(seed: UInt64(change))
      let bench = try Bench(synchronous: "FULL", autocheckpoint: 2)
      bench.disk.failPower(after: change)
      var committed: [Int] = []
      var number = 0
      while !bench.disk.isOff {
        number += 1
        do {
          try bench.insert(number)
          if !bench.disk.isOff { committed.append(number) }
        } catch {}
      }
      #expect(throws: (any Error).self) { try bench.insert(0) }
      try bench.crash(using: &generator)
      let held = try bench.numbers()
      // The last one may have been stored without an answer; nothing else is possible.
      #expect(held == committed || held == committed + [number], "change \(change): \(held)")
      #expect(try integrity(of: bench.path) == "ok", "change \(change)")
    }
  }

  @Test func otherFilesPassThrough() throws {
    let path = NSTemporaryDirectory() + "cospool-other-\(UUID().uuidString).sqlite"
    defer { try? FileManager.default.removeItem(atPath: path) }
    let bench = try Bench(synchronous: "FULL")
    let queue = try DatabaseQueue(path: path)
    bench.disk.failPowerNow()
    try queue.write { try $0.execute(sql: "CREATE TABLE t (a)") }
    #expect(try queue.read { try $0.tableExists("t") })
    try queue.close()
    var generator = SeededGenerator(seed: 1)
    try bench.crash(using: &generator)
  }
}
