import Foundation
import SyncSimulation

/// Runs and the hashes of their traces, as in a file: lines of profile, seed and hash.
///
/// The hash covers every frame and every step. If the hashes are the same in debug, in release and
/// on every machine, nothing in a run depends on memory addresses, hashing or the time of day.
struct TraceHashTable: Hashable, Sendable {
  struct Entry: Hashable, Sendable {
    var profile: Profile
    var seed: UInt64
    var hash: UInt64

    var line: String { "\(profile.rawValue) \(seed) \(String(hash, radix: 16))" }
  }

  /// A line that cannot be read.
  struct Mistake: Error, CustomStringConvertible {
    var line: Int
    var description: String { "line \(line): expected a profile, a seed and a hash" }
  }

  /// Short runs, and one of every other profile: seconds in release, half a minute in debug.
  static let usual: [(profile: Profile, seed: UInt64)] =
    (1...6).map { (Profile.smoke, $0) }
    + Profile.allCases.filter { $0 != .smoke }.map { ($0, 3) }

  var entries: [Entry]

  /// Runs the seeds and records their hashes.
  init(running runs: [(profile: Profile, seed: UInt64)] = Self.usual) {
    entries = runs.map { run in
      let report = Simulation.run(seed: run.seed, profile: run.profile)
      return Entry(profile: run.profile, seed: run.seed, hash: report.traceHash)
    }
  }

  init(_ text: String) throws(Mistake) {
    entries = []
    for (index, line) in text.split(separator: "\n").enumerated() {
      let words = line.split(separator: " ").map(String.init)
      guard words.count == 3, let profile = Profile(rawValue: words[0]),
        let seed = UInt64(words[1]), let hash = UInt64(words[2], radix: 16)
      else { throw Mistake(line: index + 1) }
      entries.append(Entry(profile: profile, seed: seed, hash: hash))
    }
  }

  var text: String { entries.map { $0.line + "\n" }.joined() }

  /// The entries whose hashes differ now, as text.
  func differences() -> [String] {
    let now = TraceHashTable(running: entries.map { ($0.profile, $0.seed) })
    return zip(entries, now.entries).filter { $0 != $1 }.map { before, after in
      "\(before.profile.rawValue) \(before.seed): \(String(before.hash, radix: 16)) in the file, "
        + "\(String(after.hash, radix: 16)) now"
    }
  }
}
