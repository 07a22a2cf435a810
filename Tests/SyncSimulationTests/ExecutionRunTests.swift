import SyncSimulation
import SyncTestSupport
import Testing

/// Hosts run messages in worlds with every fault. `COSPOOL_SEEDS` for more seeds; `cospool-harness
/// run --agents` for many.
@Suite struct ExecutionRunTests {
  @Test(arguments: Profile.allCases)
  func noAttemptStartsTwiceAndNothingIsLost(profile: Profile) {
    var execution = ExecutionReport()
    for seed in TestSeeds.list(standard: 4) {
      let report = Simulation.run(seed: seed, profile: profile, runsAgents: true)
      #expect(
        report.violations == [],
        "cospool-harness replay --seed \(seed) --profile \(profile.rawValue) --agents")
      execution += report.execution
    }
    #expect(execution.starts > 0 && execution.claims > 0)
    #expect(execution.doubleStarts == 0)
  }

  /// Long queues drain: nearly all queued messages run, most of them in the first attempt.
  @Test(arguments: [Profile.standard, .crash, .storage])
  func longQueuesDrain(profile: Profile) {
    let report = Simulation.run(seed: 3, profile: profile, runsAgents: true, items: 60)
    #expect(
      report.violations == [],
      "cospool-harness replay --seed 3 --profile \(profile.rawValue) --items 60")
    #expect(report.execution.successes >= 45)
    #expect(report.execution.doubleStarts == 0)
    #expect(Simulation.replay(report.run).traceHash == report.traceHash)
  }

  /// Each request has one outcome, whichever device answers when, and none is missed. Each
  /// notification is shown once. See `RequestChecker` and `NotificationChecker`.
  @Test(arguments: Profile.syncing)
  func requestsHaveOneOutcomeAndNoneIsMissed(profile: Profile) {
    var execution = ExecutionReport()
    for seed in TestSeeds.list(standard: 6) {
      let report = Simulation.run(
        seed: seed, profile: profile, runsAgents: true, raisesRequests: true, items: 8)
      #expect(
        report.violations == [],
        """
        cospool-harness replay --seed \(seed) --profile \(profile.rawValue) --items 8 --requests
        """)
      execution += report.execution
    }
    #expect(execution.requests.decided > 0 && execution.requests.answersTaken > 0)
    #expect(execution.notifications.shown > 0 && execution.notifications.approvalLooks > 0)
    #expect(execution.notifications.missedApprovals == 0)
  }

  /// A host whose disk was full when its request was decided; a copy of a waiting host; two answers
  /// of one device; a device that connects while the server cannot store.
  @Test(
    arguments: zip(
      [UInt64(96), 397, 520, 567], [Profile.storage, .storage, .hostile, .smoke]))
  func requestsThatWereOnceMissedHold(seed: UInt64, profile: Profile) {
    let report = Simulation.run(
      seed: seed, profile: profile, runsAgents: true, raisesRequests: true, items: 20)
    #expect(report.violations == [])
  }

  /// The reports about users' withdrawals and edits are true. See `OutcomeChecker`.
  @Test(arguments: Profile.syncing)
  func noStartContradictsWhatUsersWereShown(profile: Profile) {
    var execution = ExecutionReport()
    for seed in TestSeeds.list(standard: 4) {
      let report = Simulation.run(
        seed: seed, profile: profile, runsAgents: true, asksOutcomes: true)
      #expect(
        report.violations == [],
        "cospool-harness replay --seed \(seed) --profile \(profile.rawValue) --outcomes")
      execution += report.execution
    }
    #expect(execution.inTime + execution.tooLate > 0)
  }

  @Test func aRunWithRequestsIsTheSameAgain() {
    let first = Simulation.run(
      seed: 5, profile: .crash, runsAgents: true, raisesRequests: true, items: 8)
    #expect(Simulation.replay(first.run).traceHash == first.traceHash)
  }

  /// The message came to a queue whose lease is older than the one under which it ran.
  @Test func aMessageThatRanElsewhereRunsInItsNewQueue() {
    #expect(
      Simulation.run(seed: 500_060, profile: .standard, runsAgents: true).violations == [])
  }

  /// Several changes in one event: the observer is compared after the last.
  @Test func observersAreComparedBehindTheLastChangeOfAnEvent() {
    #expect(Simulation.run(seed: 500_380, profile: .clock, runsAgents: true).violations == [])
  }

  /// A busy host with slow links always has something to send: only operations from before the
  /// repair count.
  @Test func aBusyHostHasDrainedWhatWasThereAtHealing() {
    let report = Simulation.run(seed: 8_000_975, profile: .partition, runsAgents: true, items: 100)
    #expect(report.violations == [])
  }

  /// Two copies of a host's disk: the run of the one whose lease has ended is unknown.
  @Test func aSuccessUnderALeaseThatHasEndedMayBeTriedAgain() {
    let report = Simulation.run(seed: 8_007_526, profile: .hostile, runsAgents: true, items: 100)
    #expect(report.violations == [])
  }

  /// Its host died during the report of its success, which is lost.
  @Test func aSuccessThatItsHostDidNotStoreMayBeTriedAgain() {
    #expect(Simulation.run(seed: 75, profile: .crash, runsAgents: true).violations == [])
  }

  /// The server granted an attempt twice, since it had forgotten the first time.
  @Test func aGrantThatTheServerForgotIsNotADoubleStart() {
    let report = Simulation.run(
      seed: 8_009_317, profile: .standard, runsAgents: true, items: 100)
    #expect(report.violations == [])
  }

  @Test func aRunIsTheSameAgain() {
    let first = Simulation.run(seed: 5, profile: .crash, runsAgents: true)
    let second = Simulation.run(seed: 5, profile: .crash, runsAgents: true)
    #expect(first.traceHash == second.traceHash)
    #expect(first.execution == second.execution)
    #expect(Simulation.replay(first.run).traceHash == first.traceHash)
  }

  /// A host that lost its memory of an agent finds the message reported as running, and reports its
  /// outcome as unknown: no message counts as running forever.
  @Test func aHostThatForgotWhatItRanSaysSo() {
    let report = Simulation.run(seed: 107, profile: .storage, runsAgents: true)
    #expect(report.violations == [])
    #expect(report.execution.unknown > 0)
  }

  /// A time that passed while something else blocked the message woke the host repeatedly.
  @Test func timesThatHaveComeWakeNothingTwice() {
    #expect(Simulation.run(seed: 122, profile: .clock, runsAgents: true).violations == [])
  }
}
