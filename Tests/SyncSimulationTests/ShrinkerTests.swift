import SyncSimulation
import Testing

@Suite struct ShrinkerTests {
  @Test func aFailingRunGetsSmallAndStillFails() throws {
    let report = try #require(
      (UInt64(1)...20).lazy
        .map { Simulation.run(seed: $0, profile: .smoke, planted: [.moveEventMissing]) }
        .first { !$0.violations.isEmpty })
    let violation = report.violations[0]
    let small = Shrinker.shrink(report.run, violation: violation, attemptsMax: 200)
    #expect(small.run.steps.count < report.run.steps.count / 2)
    #expect(small.run.steps.count <= 6)
    #expect(small.violation.checker == violation.checker)
    let again = Simulation.replay(small.run)
    #expect(again.violations.first == small.violation)
  }

  @Test func noMoreRunsAreTriedThanAllowed() throws {
    let report = try #require(
      (UInt64(1)...20).lazy
        .map { Simulation.run(seed: $0, profile: .smoke, planted: [.moveEventMissing]) }
        .first { !$0.violations.isEmpty })
    let small = Shrinker.shrink(report.run, violation: report.violations[0], attemptsMax: 5)
    #expect(small.attempts <= 5)
  }
}
