import Foundation
import Synchronization
import WireProtocol

/// A device of another workspace that writes, waits, and measures the wait.
final class QuietWriter: Sendable {
  private let latencies = Mutex<[Double]>([])
  private let failures = Mutex(0)
  private let isEnding = Mutex(false)
  private let ended = DispatchSemaphore(value: 0)

  init(_ member: Member, port: Int) {
    Thread.detachNewThread { [self] in
      var member = member
      while !isEnding.withLock({ $0 }) { session(&member, port) }
      ended.signal()
    }
  }

  /// Removes and returns the times since the last call, in seconds, sorted.
  func take() -> [Double] {
    latencies.withLock { list in
      defer { list = [] }
      return list.sorted()
    }
  }

  /// How many times it was cut off or not answered within 2 seconds.
  var failureCount: Int { failures.withLock { $0 } }

  func end() {
    isEnding.withLock { $0 = true }
    ended.wait()
  }

  private func session(_ member: inout Member, _ port: Int) {
    guard let peer = HostilePeer(port: port, from: (0, 0, 1)), peer.upgrade(),
      peer.send(raw: HostilePeer.frame(FrameCodec.encode(.hello(member.hello)))),
      isWelcomed(peer)
    else { return failed() }
    while !isEnding.withLock({ $0 }) {
      // This must not count as a failure of the server, or nothing would be measured.
      guard let (operations, after) = try? member.writing("text") else {
        preconditionFailure("the quiet writer can write nothing")
      }
      let frame = HostilePeer.frame(member.changes(operations))
      // Measured from the frame, because the writer's own computing is not the server's.
      let start = ContinuousClock.now
      guard peer.send(raw: frame) else { return failed() }
      guard isTaken(member.latestBatch, on: peer) else { return failed() }
      let batch = member.latestBatch
      member = after
      member.skip(to: batch)
      let took = start.duration(to: .now)
      latencies.withLock { $0.append(took / .seconds(1)) }
      usleep(20_000)
    }
  }

  private func isWelcomed(_ peer: HostilePeer) -> Bool {
    while let bytes = peer.message() {
      if case .presence? = try? FrameCodec.decode(bytes) { return true }
    }
    return false
  }

  private func isTaken(_ batch: UInt64, on peer: HostilePeer) -> Bool {
    while let bytes = peer.message() {
      switch try? FrameCodec.decode(bytes) {
      case .ack(let ack)? where ack.batch == batch: return true
      case .refused?, .error?: return false
      default: continue
      }
    }
    return false
  }

  private func failed() {
    failures.withLock { $0 += 1 }
    usleep(100_000)
  }
}
