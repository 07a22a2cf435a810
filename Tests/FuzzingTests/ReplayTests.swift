import Foundation
import Fuzzing
import Testing

/// Runs the inputs that fuzzers start from, and those that they found, on every build.
struct ReplayTests {
  @Test(arguments: FuzzTarget.allCases)
  func everySeedIsTaken(target: FuzzTarget) throws {
    let files = try FuzzFiles.inputs("Corpus", target)
    #expect(!files.isEmpty, "\(target) has no seeds")
    for file in files { try replay(file, target) }
  }

  @Test(arguments: FuzzTarget.allCases)
  func earlierFailuresStayRepaired(target: FuzzTarget) throws {
    for file in try FuzzFiles.inputs("Failures", target) { try replay(file, target) }
  }

  private func replay(_ file: FuzzFiles.Input, _ target: FuzzTarget) throws {
    do {
      try target.run(file.bytes)
    } catch {
      Issue.record("\(target.rawValue)/\(file.name): \(error)")
    }
  }

  /// A fuzzer whose inputs are all refused tests little: the decoder must accept most seeds.
  @Test func seedsReachBehindTheDecoders() throws {
    for target in FuzzTarget.allCases where target != .sequences {
      let files = try FuzzFiles.inputs("Corpus", target)
      let taken = files.filter { FuzzSeeds.isTaken($0.bytes, by: target) }
      #expect(taken.count * 2 > files.count, "\(target): \(taken.count) of \(files.count)")
    }
  }

  /// `COSPOOL_WRITE_VECTORS=1 swift test --filter ReplayTests` writes the seeds again.
  @Test func seedsAreThereAndSmall() throws {
    for target in FuzzTarget.allCases {
      if ProcessInfo.processInfo.environment["COSPOOL_WRITE_VECTORS"] == "1" {
        try FuzzFiles.write(FuzzSeeds.seeds(of: target), "Corpus", target)
      }
      let bytes = try FuzzFiles.inputs("Corpus", target).reduce(0) { $0 + $1.bytes.count }
      #expect(bytes <= 200_000, "the seeds of \(target) take \(bytes) bytes")
    }
  }
}

/// The inputs under `Tests/Fuzzing`.
enum FuzzFiles {
  struct Input {
    var name: String
    var bytes: [UInt8]
  }

  private static func folder(_ kind: String, _ target: FuzzTarget) -> URL {
    URL(filePath: #filePath).deletingLastPathComponent().deletingLastPathComponent()
      .appending(path: "Fuzzing/\(kind)/\(target.rawValue)")
  }

  static func inputs(_ kind: String, _ target: FuzzTarget) throws -> [Input] {
    let folder = folder(kind, target)
    // If there is no folder, no failure was found yet.
    guard FileManager.default.fileExists(atPath: folder.path(percentEncoded: false)) else {
      return []
    }
    return try FileManager.default.contentsOfDirectory(atPath: folder.path(percentEncoded: false))
      .filter { !$0.hasPrefix(".") }.sorted()
      .map { Input(name: $0, bytes: Array(try Data(contentsOf: folder.appending(path: $0)))) }
  }

  static func write(_ seeds: [Input], _ kind: String, _ target: FuzzTarget) throws {
    let folder = folder(kind, target)
    try FileManager.default.createDirectory(at: folder, withIntermediateDirectories: true)
    for seed in seeds { try Data(seed.bytes).write(to: folder.appending(path: seed.name)) }
  }
}
