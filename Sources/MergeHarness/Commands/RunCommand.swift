import ArgumentParser
import Foundation
import SyncSimulation

/// Runs many seeds of a profile.
struct RunCommand: AsyncParsableCommand {
  static let configuration = CommandConfiguration(
    commandName: "run",
    abstract: "Run many seeds and report violations.",
    discussion: """
      Examples:
        cospool-harness run
        cospool-harness run --seeds 10000 --first 1 --profile all
        cospool-harness run --profile partition --minutes 5 --json
        cospool-harness run --profile all --agents
        cospool-harness run --profile all --items 400 --minutes 10
        cospool-harness run --profile all --requests --items 8 --seeds 10000
        cospool-harness run --profile all --outcomes --seeds 10000

      With --profile all, seeds take the profiles in turn. Without --seeds and with --minutes, it \
      runs until the time is over.
      """)

  @Option(help: "The number of seeds to run (default: 100; with --minutes: as many as fit).")
  var seeds: UInt64?

  @Option(help: "The first seed.")
  var first: UInt64 = 1

  @Option(help: "The faults of the world.")
  var profile: ProfileChoice = .one(.standard)

  @Flag(help: "Give sessions hosts, which run the messages.")
  var agents = false

  @Flag(help: "Let agents ask for permission and answers, and users answer; implies --agents.")
  var requests = false

  @Flag(help: "Let users who withdraw or edit ask whether that was in time; implies --agents.")
  var outcomes = false

  @Option(help: "The number of messages in each run, for hosts to run; implies --agents.")
  var items = 0

  @Option(help: "The number of minutes after which to end.")
  var minutes: Double?

  @Flag(help: "Print one JSON object instead of sentences.")
  var json = false

  @Option(help: "The number of seeds to run at the same time (default: the number of cores).")
  var jobs: Int?

  @Option(name: .customLong("plant"), help: "Plant a bug, to see it found.")
  var planted: [PlantedBug] = []

  func validate() throws {
    guard seeds.map({ $0 >= 1 }) ?? true else {
      throw ValidationError("--seeds takes 1 or more.")
    }
    guard first <= UInt64(Int64.max), (seeds ?? 1) <= UInt64(Int64.max) - first else {
      throw ValidationError("Seeds must be below 2 to the power of 63.")
    }
    guard minutes.map({ $0 > 0 && $0.isFinite }) ?? true else {
      throw ValidationError("--minutes takes a number above 0.")
    }
    try RunArguments.check(items: items)
    guard jobs.map({ (1...1_024).contains($0) }) ?? true else {
      throw ValidationError("--jobs takes 1 to 1024.")
    }
  }

  func run() async throws {
    let count = seeds ?? (minutes == nil ? 100 : nil)
    let sweep = Sweep(
      first: first, count: count, profiles: profile, planted: Set(planted),
      runsAgents: agents || requests || outcomes || items > 0, items: items,
      raisesRequests: requests, asksOutcomes: outcomes,
      jobs: jobs ?? ProcessInfo.processInfo.activeProcessorCount,
      secondsMax: minutes.map { $0 * 60 })
    let interruption = Interruption()
    var line = ProgressLine(
      total: count, secondsMax: sweep.secondsMax, isTerminal: Console.standardErrorIsTerminal)
    let showsFailures = !json
    let result = await sweep.run(shouldStop: interruption.question) { soFar, failures in
      if !failures.isEmpty {
        line.clear()
        if showsFailures {
          for failure in failures.prefix(3) { Console.write(SweepText.lines(of: failure)) }
        }
      }
      line.show(soFar)
    }
    line.clear()
    Console.write(try json ? SweepText.json(of: result) : SweepText.summary(of: result))
    if !result.failures.isEmpty { throw ExitCode.violation }
    if interruption.isRaised { throw ExitCode.interrupted }
  }
}

/// The result of a sweep, as text and as JSON.
enum SweepText {
  static func lines(of failure: SweepResult.Failure) -> String {
    let violation = failure.violation
    return """
      seed \(failure.name.seed), profile \(failure.name.profile.rawValue), step \
      \(violation.step), \(violation.at) virtual ms: \(violation.checker)
        \(violation.message.replacing("\n", with: "\n  "))
        \(failure.name.replayCommand)
      """
  }

  static func summary(of result: SweepResult) -> String {
    let failing = Set(result.failures.map(\.name)).count
    let verdict =
      result.failures.isEmpty
      ? "0 violations" : "\(result.failures.count) violations in \(failing) seeds"
    let rate = result.seconds > 0 ? Double(result.seeds) / result.seconds : 0
    return """
      \(verdict): \(result.seeds) seeds\(result.wasCutShort ? " (ended early)" : ""), \
      \(result.steps) steps, \(result.commands) commands, \(result.operations) operations, \
      \(result.faults) faults in \(Console.decimal(result.seconds)) s \
      (\(Console.decimal(rate)) seeds a second); slowest drain after healing \
      \(result.drainMillisecondsMax) virtual ms
      """ + (result.execution.claims > 0 ? "\n" + executed(result.execution) : "")
  }

  private static func executed(_ execution: ExecutionReport) -> String {
    """
    \(execution.starts) starts, \(execution.successes) done, \(execution.claims) claims, \
    \(execution.fenced) fenced, \(execution.unknown) unknown, \(execution.doubleStarts) started \
    twice, \(execution.repeatsAfterRestore) repeated after the server was put back
    """
      + (execution.inTime + execution.tooLate == 0
        ? ""
        : "\n\(execution.inTime) changes in time, \(execution.tooLate) too late")
      + (execution.requests.raised == 0
        ? "" : asked(execution.requests) + notified(execution.notifications))
  }

  private static func asked(_ requests: RequestCounts) -> String {
    """

    \(requests.raised) requests, \(requests.answers) answers, \(requests.answersTaken) taken, \
    \(requests.decided) decisions, \(requests.expired) expired
    """
  }

  private static func notified(_ counts: NotificationCounts) -> String {
    """

    \(counts.shown) notifications shown, \(counts.repeats) again after a crash, \
    \(counts.pushes) pushed; \(counts.approvalLooks) looks at quiet devices, \
    \(counts.missedApprovals) missed approvals
    """
  }

  private struct Output: Encodable {
    struct Violation: Encodable {
      var seed: UInt64
      var profile: String
      var checker: String
      var message: String
    }

    var seeds: Int
    var operations: Int
    var steps: Int
    var violations: [Violation]
    var seconds: Double
    var execution: Execution?
  }

  /// Counters of the hosts' work; only with `--agents`.
  private struct Execution: Encodable {
    var starts: Int
    var successes: Int
    var claims: Int
    var fenced: Int
    var unknown: Int
    var doubleStart: Int
    var repeatsAfterRestore: Int
    var inTime: Int
    var tooLate: Int
    var requests: Int
    var answers: Int
    var answersTaken: Int
    var decisions: Int
    var expiries: Int
    var notifications: Int
    var notificationRepeats: Int
    var pushes: Int
    var approvalLooks: Int
    var missedApprovals: Int

    init(_ report: ExecutionReport) {
      starts = report.starts
      successes = report.successes
      claims = report.claims
      fenced = report.fenced
      unknown = report.unknown
      doubleStart = report.doubleStarts
      repeatsAfterRestore = report.repeatsAfterRestore
      inTime = report.inTime
      tooLate = report.tooLate
      requests = report.requests.raised
      answers = report.requests.answers
      answersTaken = report.requests.answersTaken
      decisions = report.requests.decided
      expiries = report.requests.expired
      notifications = report.notifications.shown
      notificationRepeats = report.notifications.repeats
      pushes = report.notifications.pushes
      approvalLooks = report.notifications.approvalLooks
      missedApprovals = report.notifications.missedApprovals
    }
  }

  static func json(of result: SweepResult) throws -> String {
    let encoder = JSONEncoder()
    encoder.outputFormatting = [.sortedKeys, .withoutEscapingSlashes]
    let output = Output(
      seeds: result.seeds, operations: result.operations, steps: result.steps,
      violations: result.failures.map {
        Output.Violation(
          seed: $0.name.seed, profile: $0.name.profile.rawValue, checker: $0.violation.checker,
          message: $0.violation.message)
      }, seconds: result.seconds,
      execution: result.execution.claims > 0 ? Execution(result.execution) : nil)
    return String(decoding: try encoder.encode(output), as: UTF8.self)
  }
}
