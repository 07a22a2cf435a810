/// A failing run after shrinking.
package struct ShrunkRun: Hashable, Sendable {
  package var run: RecordedRun
  /// Its failure.
  package var violation: Violation
  /// The number of runs that were tried.
  package var attempts: Int
}

/// Removes steps from a failing run as long as it still fails in the same checker: delta debugging
/// (Zeller and Hildebrandt, "Simplifying and isolating failure-inducing input", 2002).
package enum Shrinker {
  /// Shrinks a run.
  ///
  /// - Parameters:
  ///   - violation: the failure to keep; only its checker counts.
  ///   - attemptsMax: the maximum number of runs to try.
  ///   - joining: makes the checkers that watched in addition to the standard ones.
  ///   - progress: receives the number of steps left and of attempts after each success.
  package static func shrink(
    _ run: RecordedRun, violation: Violation, attemptsMax: Int,
    joining: @escaping () -> [any SimulationChecker] = { [] },
    progress: (_ steps: Int, _ attempts: Int) -> Void = { _, _ in }
  ) -> ShrunkRun {
    var search = Search(
      best: run, violation: violation, attemptsMax: attemptsMax, joining: joining)
    search.cutTail()
    progress(search.best.steps.count, search.attempts)
    var before = Int.max
    while search.best.steps.count < before, !search.isOver {
      before = search.best.steps.count
      search.dropDevices()
      search.dropStretches(progress)
      search.dropDelays()
    }
    search.dropUnusedDevices()
    return ShrunkRun(run: search.best, violation: search.violation, attempts: search.attempts)
  }

  private struct Search {
    var best: RecordedRun
    var violation: Violation
    let attemptsMax: Int
    let joining: () -> [any SimulationChecker]
    var attempts = 0

    var isOver: Bool { attempts >= attemptsMax }

    /// Tries other steps, and keeps them if they fail, too.
    mutating func keeps(_ steps: [Step], devices: Int? = nil) -> Bool {
      guard !isOver else { return false }
      attempts += 1
      var candidate = best
      candidate.steps = steps
      candidate.options.devices = devices ?? best.options.devices
      candidate.options.keepsTrace = false
      let report = Simulation.replay(candidate, joining: joining)
      guard let found = report.violations.first(where: { $0.checker == violation.checker }) else {
        return false
      }
      best = candidate
      violation = found
      return true
    }

    /// Nothing after the failure matters.
    mutating func cutTail() {
      let count = min(best.steps.count, violation.step + 1)
      if keeps(Array(best.steps.prefix(count))) { return }
      _ = keeps(best.steps)
    }

    /// Removes all steps of one device, the last device first.
    mutating func dropDevices() {
      let named = Set(best.steps.compactMap(\.event.device))
      for device in named.sorted(by: >) {
        _ = keeps(best.steps.filter { $0.event.device != device })
      }
    }

    /// Removes ranges of steps, long ones first.
    mutating func dropStretches(_ progress: (Int, Int) -> Void) {
      var length = max(1, best.steps.count / 2)
      while !isOver {
        var first = 0
        while first < best.steps.count, !isOver {
          var steps = best.steps
          steps.removeSubrange(first..<min(first + length, steps.count))
          if keeps(steps) {
            progress(best.steps.count, attempts)
          } else {
            first += length
          }
        }
        if length == 1 { return }
        length /= 2
      }
    }

    /// Removes the time between events if it makes no difference.
    mutating func dropDelays() {
      if keeps(best.steps.map { Step(after: 0, $0.event) }) { return }
      for index in best.steps.indices where best.steps[index].after > 0 && !isOver {
        var steps = best.steps
        steps[index].after = 0
        _ = keeps(steps)
      }
    }

    /// Devices are numbered; those after the last named one can be removed.
    mutating func dropUnusedDevices() {
      let clones = best.steps.contains { if case .clone = $0.event { true } else { false } }
      guard !clones else { return }
      let last = best.steps.compactMap(\.event.device).max() ?? 0
      for devices in (last + 1)..<max(best.options.devices, last + 1) {
        if keeps(best.steps, devices: devices) { return }
      }
    }
  }
}
