/// Measures bodies over several runs.
enum Stopwatch {
  /// The seconds that `body` takes, once a run.
  ///
  /// What `body` returns is checked and given back outside the measured time, so that neither the
  /// check nor freeing the result counts.
  static func seconds<Input, Output>(
    runs: Int, given setUp: () throws -> Input, _ body: (Input) throws -> Output,
    check: (Output) throws -> Void
  ) rethrows -> [Double] {
    let clock = ContinuousClock()
    var seconds: [Double] = []
    for _ in 0..<runs {
      let input = try setUp()
      let start = clock.now
      let output = try body(input)
      let end = clock.now
      seconds.append(start.duration(to: end) / .seconds(1))
      try check(output)
    }
    return seconds
  }

  /// The median of the runs, where there is nothing to prepare.
  static func median<Output>(
    _ name: String, runs: Int, _ body: () throws -> Output,
    check: (Output) throws -> Void = { _ in }
  ) rethrows -> Result {
    .median(name, try seconds(runs: runs, given: {}, { try body() }, check: check))
  }
}
