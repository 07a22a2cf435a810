/// A new unit, and how to restore the former state of the machine if the new unit does not start;
/// systemctl(1).
package struct UnitChange: Equatable, Sendable {
  package var name: String
  /// Whether there was a unit before; without one there was no service, except that of a package.
  package var wasThere: Bool
  package var wasEnabled: Bool
  package var wasActive: Bool

  package init(name: String, wasThere: Bool, wasEnabled: Bool, wasActive: Bool) {
    self.name = name
    self.wasThere = wasThere
    self.wasEnabled = wasEnabled
    self.wasActive = wasActive
  }

  /// The arguments of systemctl after the unit is written.
  package var start: [[String]] { [["daemon-reload"], ["enable", name], ["restart", name]] }

  /// The arguments of systemctl before the former unit is restored.
  package var takeBack: [[String]] {
    (wasEnabled ? [] : [["disable", name]]) + (wasActive ? [] : [["stop", name]])
  }

  /// The arguments of systemctl after the former unit is restored, and whether each may fail.
  package var bringBack: [(words: [String], mayFail: Bool)] {
    [
      (["daemon-reload"], false),
      // Otherwise, the service could count as failed, or as started too often. It may be neither.
      (["reset-failed", name], true),
    ] + (wasActive ? [(["restart", name], false)] : [])
  }

  /// The arguments of journalctl to show the latest lines that the service and systemd wrote at a
  /// start.
  ///
  /// - Parameter began: seconds since 1970.
  package func journal(since began: Int) -> [String] {
    [
      "--unit", name, "--since=@\(began)", "--quiet", "--no-pager", "--output=cat", "--lines=12",
    ]
  }

  /// The error if the new unit did not start.
  ///
  /// - Parameters:
  ///   - reason: the output of systemctl.
  ///   - wrote: the output of the service; nil if it cannot be read.
  ///   - problem: why the former state could not be restored; nil if it was.
  ///   - command: the command that has `logs` and `uninstall`.
  ///   - scope: the options that these need.
  package func failure(
    _ reason: String, wrote: String?, problem: String?, command: String, scope: String = ""
  ) -> String {
    var text = reason
    text +=
      wrote.map { "\nIts output:\n\($0)" }
      ?? "\nTo see its output, if you may read the log: \(command) logs\(scope)"
    if let problem {
      return text
        + "\nThe former state could not be restored: \(problem)\nRemove it: \(command) uninstall\(scope)"
    }
    let wasService = wasThere || wasEnabled || wasActive
    text +=
      wasService ? "\nThe former service was restored." : "\nThe service was removed again."
    return text + " Correct the error, and install it again."
  }
}
