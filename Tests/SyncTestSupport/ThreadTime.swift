import Foundation

/// What a test takes of the processor, whatever else the machine does.
package enum ThreadTime {
  /// Seconds that this thread has had so far.
  package static var seconds: Double {
    var time = timespec()
    clock_gettime(CLOCK_THREAD_CPUTIME_ID, &time)
    return Double(time.tv_sec) + Double(time.tv_nsec) / 1e9
  }

  /// The least seconds that `body` took, of so many times.
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
