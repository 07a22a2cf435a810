import ArgumentParser
import Foundation
import SyncSimulation

/// Measures the speed of the harness itself.
struct BenchCommand: AsyncParsableCommand {
  static let configuration = CommandConfiguration(
    commandName: "bench",
    abstract: "Measure seeds and operations per second, profile by profile.",
    discussion: """
      Examples:
        cospool-harness bench
        cospool-harness bench --seconds 30 --jobs 1

      Build with optimisation: make harness.
      """)

  @Option(help: "The number of seconds for each profile.")
  var seconds = 5.0

  @Option(help: "The number of seeds to run at the same time (default: the number of cores).")
  var jobs: Int?

  func validate() throws {
    guard seconds > 0, seconds <= 3_600 else {
      throw ValidationError("--seconds takes a number above 0, up to 3600.")
    }
    guard jobs.map({ (1...1_024).contains($0) }) ?? true else {
      throw ValidationError("--jobs takes 1 to 1024.")
    }
  }

  func run() async throws {
    let jobs = jobs ?? ProcessInfo.processInfo.activeProcessorCount
    let interruption = Interruption()
    Console.write("profile    seeds/s  operations/s  steps/s  violations  (\(jobs) at a time)")
    for profile in Profile.allCases where !interruption.isRaised {
      let result = await Sweep(
        first: 1, count: nil, profiles: .one(profile), jobs: jobs, secondsMax: seconds
      ).run(shouldStop: interruption.question)
      let name = profile.rawValue.padding(toLength: 10, withPad: " ", startingAt: 0)
      let perSecond = { (count: Int) in Double(count) / max(result.seconds, 1e-9) }
      Console.write(
        name
          + String(
            format: "%8.1f%14.0f%9.0f%12d", perSecond(result.seeds),
            perSecond(result.operations), perSecond(result.steps), result.failures.count))
    }
    if interruption.isRaised { throw ExitCode.interrupted }
  }
}
