/// A unit that is written anew, and what has the machine be as it was where that one does not start; systemctl(1).
package struct UnitChange: Equatable, Sendable {
  package var name: String
  /// Whether a unit was there; without one there was no service, unless a package's ran.
  package var wasThere: Bool
  package var wasEnabled: Bool
  package var wasActive: Bool

  package init(name: String, wasThere: Bool, wasEnabled: Bool, wasActive: Bool) {
    self.name = name
    self.wasThere = wasThere
    self.wasEnabled = wasEnabled
    self.wasActive = wasActive
  }

  /// What systemctl is told when the unit is written.
  package var start: [[String]] { [["daemon-reload"], ["enable", name], ["restart", name]] }

  /// What it is told before the unit is as it was.
  package var takeBack: [[String]] {
    (wasEnabled ? [] : [["disable", name]]) + (wasActive ? [] : [["stop", name]])
  }

  /// What it is told when the unit is as it was, and whether that may fail.
  package var bringBack: [(words: [String], mayFail: Bool)] {
    [
      (["daemon-reload"], false),
      // Else the service would count as failed, or as started too often. It may be neither.
      (["reset-failed", name], true),
    ] + (wasActive ? [(["restart", name], false)] : [])
  }

  /// What journalctl is told to show of a start: the last that the service and systemd wrote.
  ///
  /// - Parameter began: seconds since 1970.
  package func journal(since began: Int) -> [String] {
    [
      "--unit", name, "--since=@\(began)", "--quiet", "--no-pager", "--output=cat", "--lines=12",
    ]
  }

  /// What a person is told where it did not start.
  ///
  /// - Parameters:
  ///   - reason: what systemctl said.
  ///   - wrote: what the service wrote; nil where nobody tells.
  ///   - problem: why the machine is not as it was; nil where it is.
  ///   - command: the command that has `logs` and `uninstall`.
  ///   - scope: what is said behind these.
  package func failure(
    _ reason: String, wrote: String?, problem: String?, command: String, scope: String = ""
  ) -> String {
    var text = reason
    text +=
      wrote.map { "\nWhat it wrote:\n\($0)" }
      ?? "\nWhat it wrote, where somebody may read it: \(command) logs\(scope)"
    if let problem {
      return text
        + "\nThat could not be taken back: \(problem)\nRemove it: \(command) uninstall\(scope)"
    }
    let wasService = wasThere || wasEnabled || wasActive
    text +=
      wasService ? "\nThe service is again as it was before." : "\nThe service was removed again."
    return text + " Correct what it says, and install it again."
  }
}
