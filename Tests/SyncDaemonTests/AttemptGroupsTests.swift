import Foundation
import QueueModel
import Testing

@testable import SyncDaemon

/// How a process finds its control group.
@Suite struct AttemptGroupsTests {
  private static let whole =
    "24 30 0:22 / /proc rw - proc proc rw\n29 23 0:26 / /sys/fs/cgroup rw shared:9 - cgroup2 cgroup2 rw\n"

  @Test func theGroupIsBelowItsFileSystem() {
    let path = "/user.slice/user-1000.slice/user@1000.service/app.slice/cospoold.service"
    #expect(
      AttemptGroups.ownFolder(groups: "0::\(path)\n", mounts: Self.whole) == "/sys/fs/cgroup" + path
    )
    // Next to control groups of version 1.
    let both = "41 31 0:38 / /sys/fs/cgroup/unified rw - cgroup2 cgroup2 rw"
    #expect(
      AttemptGroups.ownFolder(groups: "8:pids:/a\n0::/b/cospoold.service\n", mounts: both)
        == "/sys/fs/cgroup/unified/b/cospoold.service")
  }

  @Test(arguments: [
    ("0::/\n", whole), ("8:pids:/cospoold.service\n", whole), ("", whole),
    ("0::/user.slice/session-3.scope", whole), ("0::/cospoold.service", ""),
    ("0::/cospoold.service", "29 23 0:26 /docker/1 /sys/fs/cgroup rw - cgroup2 cgroup2 rw"),
    ("0::/cospoold.service", "29 23 0:26 / /sys/fs/cgroup rw - cgroup cgroup rw"),
    ("0::/cospoold.service", "- cgroup2"),
  ])
  func elsewhereThereIsNone(groups: String, mounts: String) {
    #expect(AttemptGroups.ownFolder(groups: groups, mounts: mounts) == nil)
  }

  /// A folder that contains a file cannot be removed, like a group that contains a process.
  @Test func aGroupThatWasLeftWithSomethingInItGoesLater() throws {
    let folder = "/tmp/csp-groups-\(UInt32.random(in: .min ... .max))"
    try FileManager.default.createDirectory(atPath: folder, withIntermediateDirectories: true)
    defer { try? FileManager.default.removeItem(atPath: folder) }
    func names() throws -> [String] {
      try FileManager.default.contentsOfDirectory(atPath: folder).sorted()
    }
    let groups = AttemptGroups(folder: folder)
    func make(_ number: UInt64) throws -> AttemptGroup {
      try #require(groups.make(of: MessageID(high: 0, low: number), attempt: 1))
    }
    let first = try make(1)
    let name = try #require(try names().first)
    let inside = "\(folder)/\(name)/process"
    #expect(FileManager.default.createFile(atPath: inside, contents: nil))
    groups.remove(first)
    let second = try make(2)
    #expect(try names().count == 2)
    try FileManager.default.removeItem(atPath: inside)
    // Groups in which a process has yet to start stay.
    _ = try make(3)
    #expect(try names().count == 2 && !names().contains(name))
    groups.remove(second)
    #expect(try names().count == 1)
  }
}
