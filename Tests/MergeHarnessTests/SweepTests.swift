import Foundation
import QueueOracle
import SyncSimulation
import SyncTestSupport
import Testing

@testable import MergeHarness

/// Seeds in CI: fixed ones for every profile, and fresh ones, whose numbers are printed.
@Suite struct SweepTests {
  /// `COSPOOL_SEEDS` runs more of them; `COSPOOL_SEED` repeats one.
  private static let fixedPerProfile = 3
  private static let freshSeeds = 14

  private func expectNoViolations(_ sweep: Sweep) async {
    let result = await sweep.run()
    for failure in result.failures {
      Issue.record(Comment(rawValue: SweepText.lines(of: failure)))
    }
    #expect(result.seeds > 0 && result.operations > 0)
    print(SweepText.summary(of: result))
  }

  @Test(arguments: Profile.allCases)
  func fixedSeedsHold(_ profile: Profile) async {
    let seeds = TestSeeds.list(standard: Self.fixedPerProfile)
    await expectNoViolations(
      Sweep(first: seeds[0], count: UInt64(seeds.count), profiles: .one(profile), jobs: 2))
  }

  /// Uses the profile with a little of everything, in which long runs no longer found anything.
  /// Long runs look for rarer faults, which must not block an unrelated change.
  @Test func freshSeedsHold() async {
    let first = UInt64.random(in: 1_000_000..<1 << 40)
    print(
      "fresh seeds: cospool-harness run --profile smoke --first \(first) --seeds \(Self.freshSeeds)"
    )
    await expectNoViolations(
      Sweep(first: first, count: UInt64(Self.freshSeeds), profiles: .one(.smoke), jobs: 2))
  }

  @Test func sameSeedsGiveTheSameOnAnyNumberOfThreads() async {
    let one = await Sweep(first: 5, count: 6, profiles: .one(.smoke), jobs: 1).run()
    let many = await Sweep(first: 5, count: 6, profiles: .one(.smoke), jobs: 4).run()
    #expect(one.operations == many.operations)
    #expect(one.steps == many.steps)
    #expect(one.seeds == 6)
  }

  @Test func sweepsEndOnRequest() async {
    let flag = InterruptionFlag()
    let result = await Sweep(first: 1, count: 10_000, profiles: .one(.smoke), jobs: 2).run(
      shouldStop: { flag.isRaised }, progress: { _, _ in flag.raise() })
    #expect(result.wasCutShort)
    #expect((1...4).contains(result.seeds))
  }

  @Test func plantedBugsAreFoundAndCountedOut() async {
    let result = await Sweep(
      first: 1, count: 10_000, profiles: .one(.standard), planted: [.moveEventMissing], jobs: 2
    ).run()
    let failing = Set(result.failures.map(\.name.seed))
    #expect(failing.count >= Sweep.failingSeedsMax)
    #expect(result.wasCutShort)
    #expect(result.seeds < 10_000)
    let failure = result.failures[0]
    #expect(
      failure.name.replayCommand
        == "cospool-harness replay --seed \(failure.name.seed) --profile default "
        + "--plant move-event-missing")
  }

  @Test func profilesTakeTurns() {
    let profiles = (0..<16).map { ProfileChoice.all.profile(of: $0) }
    #expect(Set(profiles) == Set(Profile.turns))
    #expect(profiles[0] == profiles[8])
    #expect(ProfileChoice(argument: "default") == .one(.standard))
    #expect(ProfileChoice(argument: "all") == .all)
    #expect(ProfileChoice(argument: "standard") == nil)
  }

  @Test func progressTellsRateAndTimeLeft() {
    var result = SweepResult()
    result.seeds = 50
    result.seconds = 10
    let line = ProgressLine(total: 200, secondsMax: nil, isTerminal: true)
    #expect(line.text(for: result) == "50 of 200 seeds, 5.0 a second, 30 s left, 0 violations")
    let limited = ProgressLine(total: nil, secondsMax: 15, isTerminal: true)
    #expect(limited.text(for: result) == "50 seeds, 5.0 a second, 5 s left, 0 violations")
    #expect(Console.duration(61) == "1 min 1 s")
    #expect(Console.duration(7_322) == "2 h 2 min")
    #expect(Console.duration(.infinity) == "?")
  }
}
