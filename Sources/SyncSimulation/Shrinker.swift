/// A failing run made small.
package struct ShrunkRun: Hashable, Sendable {
  package var run: RecordedRun
  /// How it fails now.
  package var violation: Violation
  /// Runs that were tried.
  package var attempts: Int
}

/// Takes steps out of a failing run as long as it still fails in the same checker: delta debugging
/// (Zeller and Hildebrandt, "Simplifying and isolating failure-inducing input", 2002).
package enum Shrinker {
  /// Makes a run small.
  ///
  /// - Parameters:
  ///   - violation: the failure to keep; its checker is what counts.
  ///   - attemptsMax: runs to try at most.
  ///   - joining: makes the checkers that watched beside the standard ones.
  ///   - progress: told the number of steps left and of attempts after each success.
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

    /// Tries other steps; keeps them where they fail too.
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

    /// Takes all steps of one device out, the last device first.
    mutating func dropDevices() {
      let named = Set(best.steps.compactMap(\.event.device))
      for device in named.sorted(by: >) {
        _ = keeps(best.steps.filter { $0.event.device != device })
      }
    }

    /// Takes stretches out, long ones first.
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

    /// Lets things happen at once where the time between them does not matter.
    mutating func dropDelays() {
      if keeps(best.steps.map { Step(after: 0, $0.event) }) { return }
      for index in best.steps.indices where best.steps[index].after > 0 && !isOver {
        var steps = best.steps
        steps[index].after = 0
        _ = keeps(steps)
      }
    }

    /// Devices are numbered; those behind the last one that is named can go.
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
