import Foundation

/// Measures bodies over several runs.
///
/// It measures the processor time of all threads of the process. Even on a busy machine, that is
/// the time that work without waits would take on an idle one. The same clock measures peers. Work
/// that waits for a disk is measured in wall time.
enum Stopwatch {
  /// The seconds that `body` takes, for each run.
  ///
  /// The result of `body` is checked and returned outside the measured time, so that neither the
  /// check nor freeing it counts.
  static func seconds<Input, Output>(
    runs: Int, given setUp: () throws -> Input, _ body: (Input) throws -> Output,
    check: (Output) throws -> Void
  ) rethrows -> [Double] {
    var seconds: [Double] = []
    for _ in 0..<runs {
      let input = try setUp()
      var output: Output?
      seconds.append(try time { output = try body(input) })
      if let output { try check(output) }
    }
    return seconds
  }

  /// The median of the runs, if there is nothing to prepare.
  static func median<Output>(
    _ name: String, runs: Int, _ body: () throws -> Output,
    check: (Output) throws -> Void = { _ in }
  ) rethrows -> Result {
    .median(name, try seconds(runs: runs, given: {}, { try body() }, check: check))
  }

  /// The processor seconds that `body` takes.
  static func time(_ body: () throws -> Void) rethrows -> Double {
    let start = processorSeconds
    try body()
    return processorSeconds - start
  }

  private static var processorSeconds: Double {
    var time = timespec()
    clock_gettime(CLOCK_PROCESS_CPUTIME_ID, &time)
    return Double(time.tv_sec) + Double(time.tv_nsec) / 1e9
  }
}
