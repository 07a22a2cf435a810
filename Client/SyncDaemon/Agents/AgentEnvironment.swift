import Foundation
import Subprocess

/// What an agent's process finds in its environment: the daemon's own, and what a turn adds.
enum AgentEnvironment {
  /// The daemon's own, which nobody changes, as it is handed to a process: `NAME=value`, and a zero.
  /// nil where it holds what Subprocess passes on and does not take.
  private static let inherited: [(name: String, entry: [UInt8])]? = {
    let all = ProcessInfo.processInfo.environment
    guard all.keys.allSatisfy({ $0.first.map { !"0123456789".contains($0) } ?? false })
    else { return nil }
    return all.map { ($0, entry($0, $1)) }
  }()

  /// The daemon's own and a turn's values; nil where only Subprocess can pass the daemon's own on.
  ///
  /// Put together while there is time: left to Subprocess, it would be done between the leave to begin
  /// and the beginning.
  static func entries(_ values: [String: String]) -> [[UInt8]]? {
    inherited.map { entries(values, over: $0) }
  }

  /// The same for Subprocess.
  static func holding(_ values: [String: String], _ entries: [[UInt8]]?) -> Environment {
    if let entries { return .custom(entries) }
    var updates: [Environment.Key: String?] = [:]
    for (name, value) in values {
      if let key = Environment.Key(rawValue: name) { updates[key] = value }
    }
    return .inherit.updating(updates)
  }

  /// A name that stands in both has the turn's value, and stands there once.
  static func entries(
    _ values: [String: String], over inherited: [(name: String, entry: [UInt8])]
  ) -> [[UInt8]] {
    inherited.filter { values[$0.name] == nil }.map(\.entry) + values.map { entry($0, $1) }
  }

  private static func entry(_ name: String, _ value: String) -> [UInt8] {
    Array("\(name)=\(value)\0".utf8)
  }
}
