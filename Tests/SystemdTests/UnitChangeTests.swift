import Testing

@testable import Systemd

@Suite struct UnitChangeTests {
  private func change(wasThere: Bool, isOn: Bool) -> UnitChange {
    UnitChange(name: "a.service", wasThere: wasThere, wasEnabled: isOn, wasActive: isOn)
  }

  @Test func newServicesAreStoppedAndRemoved() {
    let change = change(wasThere: false, isOn: false)
    #expect(
      change.start == [["daemon-reload"], ["enable", "a.service"], ["restart", "a.service"]])
    #expect(change.takeBack == [["disable", "a.service"], ["stop", "a.service"]])
    #expect(change.bringBack.map(\.words) == [["daemon-reload"], ["reset-failed", "a.service"]])
    #expect(change.bringBack.map(\.mayFail) == [false, true])
    let text = change.failure("no.", wrote: nil, problem: nil, command: "c", scope: " --user")
    #expect(text.hasPrefix("no.\n") && text.contains(": c logs --user\n"))
    #expect(text.contains("removed again"))
  }

  @Test func runningServicesRunAgain() {
    let change = change(wasThere: true, isOn: true)
    #expect(change.takeBack.isEmpty)
    #expect(change.bringBack.last?.words == ["restart", "a.service"])
    let text = change.failure("no.", wrote: "why", problem: nil, command: "c")
    #expect(text.contains("Its output:\nwhy\n") && text.contains("was restored"))
    let stuck = change.failure("no.", wrote: "why", problem: "full.", command: "c")
    #expect(stuck.hasSuffix("full.\nRemove it: c uninstall") && !stuck.contains("was restored"))
    // A package's service ran before.
    let package = self.change(wasThere: false, isOn: true)
    #expect(
      package.failure("no.", wrote: nil, problem: nil, command: "c").contains("was restored"))
  }
}
