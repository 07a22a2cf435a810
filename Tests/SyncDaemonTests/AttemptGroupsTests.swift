import Testing

@testable import SyncDaemon

/// Where a process finds its control group.
@Suite struct AttemptGroupsTests {
  private static let whole =
    "24 30 0:22 / /proc rw - proc proc rw\n29 23 0:26 / /sys/fs/cgroup rw shared:9 - cgroup2 cgroup2 rw\n"

  @Test func theGroupIsBelowItsFileSystem() {
    let path = "/user.slice/user-1000.slice/user@1000.service/app.slice/cospoold.service"
    #expect(
      AttemptGroups.ownFolder(groups: "0::\(path)\n", mounts: Self.whole) == "/sys/fs/cgroup" + path
    )
    // Beside the first version.
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
}
