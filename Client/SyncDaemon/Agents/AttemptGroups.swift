import Foundation
import QueueModel
import Synchronization

/// Control groups of the turns' processes, if systemd delegates the daemon's group to it. Processes
/// that a turn starts, directly or not, are in its group and end with it, unless they move into
/// another group that their user may write; cgroups(7), systemd.resource-control(5) (`Delegate`).
final class AttemptGroups: Sendable {
  /// The daemon's own group, in which those of turns are made.
  private let folder: String
  /// Groups of turns that ended and left processes at work.
  private let left = Mutex<Set<AttemptGroup>>([])

  init(folder: String) { self.folder = folder }

  /// The groups of this process; nil if it is not in the group of a unit with `Delegate`, or if the
  /// kernel cannot end groups (before 5.14).
  static let own: AttemptGroups? = {
    #if os(Linux)
      func text(_ path: String) -> String {
        (try? String(contentsOfFile: path, encoding: .utf8)) ?? ""
      }
      guard
        let folder = ownFolder(
          groups: text("/proc/self/cgroup"), mounts: text("/proc/self/mountinfo")),
        access(folder, W_OK) == 0, access(folder + "/cgroup.kill", W_OK) == 0
      else { return nil }
      return AttemptGroups(folder: folder)
    #else
      return nil
    #endif
  }()

  /// The name of the daemon's unit in `cospool service install` and in the package.
  private static let unit = "/cospoold.service"

  /// The path of a process's unit's group in the second version of control groups; nil if it is in
  /// none.
  ///
  /// - Parameters:
  ///   - groups: the content of proc_pid_cgroup(5).
  ///   - mounts: the content of proc_pid_mountinfo(5).
  static func ownFolder(groups: String, mounts: String) -> String? {
    let line = groups.split(separator: "\n").first { $0.hasPrefix("0::/") }
    guard let path = line?.dropFirst(3), path.hasSuffix(unit) else { return nil }
    for mount in mounts.split(separator: "\n") {
      let fields = mount.split(separator: " ")
      guard let end = fields.firstIndex(of: "-"), end > 4, fields.count > end + 1,
        fields[end + 1] == "cgroup2", fields[3] == "/"
      else { continue }
      return String(fields[4]) + path
    }
    return nil
  }

  /// The turn whose group holds a process, and the group of its daemon's unit; nil if no turn's
  /// group does. The rest of the path belongs to the turn.
  ///
  /// - Parameter path: the path of the process's group, in the form of proc_pid_cgroup(5).
  static func turn(
    inPath path: String
  ) -> (message: MessageID, attempt: UInt16, unit: String)? {
    guard let start = path.range(of: "\(unit)/\(namePrefix)") else { return nil }
    let name = path[start.upperBound...].prefix { $0 != "/" }
    guard let hyphen = name.lastIndex(of: "-"), let message = MessageID(name[..<hyphen]),
      let attempt = UInt16(name[name.index(after: hyphen)...])
    else { return nil }
    return (message, attempt, path[..<start.lowerBound] + unit)
  }

  /// The beginning of the names of turns' groups.
  private static let namePrefix = "turn-"

  /// The name of a turn's group.
  func group(of message: MessageID, attempt: UInt16) -> AttemptGroup {
    AttemptGroup(folder: "\(folder)/\(AttemptGroups.namePrefix)\(message)-\(attempt)")
  }

  /// Makes the group of a turn, and removes those without processes; nil if it cannot be made.
  func make(of message: MessageID, attempt: UInt16) -> AttemptGroup? {
    let made = group(of: message, attempt: attempt)
    left.withLock { left in left = left.filter { $0 != made && !$0.remove() } }
    return mkdir(made.folder, 0o700) == 0 || errno == EEXIST ? made : nil
  }

  /// Removes the group of a turn that ended: at once, or, if processes of it still run, when a
  /// later group is made.
  func remove(_ group: AttemptGroup) {
    if !group.remove() { left.withLock { _ = $0.insert(group) } }
  }

  /// Removes the groups of an earlier daemon's turns that no longer have processes. Call it before
  /// any turn begins: a new group is empty, too.
  func removeEnded() {
    let names = (try? FileManager.default.contentsOfDirectory(atPath: folder)) ?? []
    for name in names where name.hasPrefix(AttemptGroups.namePrefix) { rmdir("\(folder)/\(name)") }
  }
}

/// The control group of one turn.
struct AttemptGroup: Hashable, Sendable {
  fileprivate let folder: String

  /// Moves a process that has just begun into the group, with the processes that it has started
  /// already. A process that left its parent before is not found.
  func add(_ process: pid_t) {
    guard write("\(process)", to: "cgroup.procs") else { return }
    // Later children start in the group; an earlier child may have children of its own.
    let children = try? String(
      contentsOfFile: "/proc/\(process)/task/\(process)/children", encoding: .utf8)
    for child in (children ?? "").split(separator: " ").compactMap({ pid_t($0) }) { add(child) }
  }

  /// Ends all processes of the group (SIGKILL), and removes it.
  ///
  /// - Parameter limit: the wait ends after this time, since a process that hangs in the system may
  ///   never end.
  func end(within limit: Duration) async {
    guard write("1", to: "cgroup.kill") else { return }
    let last = ContinuousClock.now + limit
    while !remove(), ContinuousClock.now < last {
      // A wait that was cancelled would end at once, and this must not be cut short.
      await Task { try? await Task.sleep(for: .milliseconds(10)) }.value
    }
  }

  /// - Returns: whether no process was left in it.
  fileprivate func remove() -> Bool { rmdir(folder) == 0 || errno == ENOENT }

  private func write(_ text: String, to name: String) -> Bool {
    let file = open("\(folder)/\(name)", O_WRONLY | O_CLOEXEC)
    guard file >= 0 else { return false }
    defer { close(file) }
    let bytes = Array(text.utf8)
    return Foundation.write(file, bytes, bytes.count) == bytes.count
  }
}
