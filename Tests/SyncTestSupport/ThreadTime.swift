import Foundation

/// The processor time of a test, independent of other work on the machine.
package enum ThreadTime {
  /// The processor seconds of this thread so far.
  package static var seconds: Double {
    var time = timespec()
    clock_gettime(CLOCK_THREAD_CPUTIME_ID, &time)
    return Double(time.tv_sec) + Double(time.tv_nsec) / 1e9
  }

  /// The fewest seconds that `body` took in this number of runs.
  package static func best(of count: Int, _ body: () throws -> Void) rethrows -> Double {
    var best = Double.infinity
    for _ in 0..<count {
      let start = seconds
      try body()
      best = min(best, seconds - start)
    }
    return best
  }
}
