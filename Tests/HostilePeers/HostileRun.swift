import Foundation
import QueueOracle
import Synchronization
import WireProtocol

/// Runs hostile clients against a server, and returns the outcome.
package struct HostileRun: Sendable {
  /// The number of clients, and how many run at a time.
  package var clients = 300
  package var atOnce = 16
  /// Silent sockets from one address.
  package var idle = 300
  package var seed: UInt64 = 1
  /// The maximum memory of the server, in bytes.
  package var memoryMax = 512 << 20
  /// The maximum wait of another workspace, in multiples of its quiet p99; nil: it is only
  /// reported.
  package var slowdownMax: Double?
  /// How long the quiet baseline is measured.
  package var quietSeconds = 2.0
  /// The server's program.
  package var binary: String

  package init(binary: String) {
    self.binary = binary
  }

  /// The measurements, and what is wrong with them.
  package struct Outcome: Sendable {
    package var text = ""
    package var problems: [String] = []
  }

  private struct Progress {
    var next = 0
    var counts: [Attack: Int] = [:]
    var successes: [String] = []
    var notConnected = 0
  }

  package func run() throws -> Outcome {
    let directory = NSTemporaryDirectory() + "cospool-hostile-" + UUID().uuidString
    defer { try? FileManager.default.removeItem(atPath: directory) }
    let server = try HostileServer(binary: binary, directory: directory)
    let writer = QuietWriter(
      try server.pair(900, workspace: "quiet", isNew: true), port: server.port)
    let members = try (1...UInt64(atOnce)).map {
      try server.pair($0, workspace: "hostile", isNew: $0 == 1)
    }
    let known = try server.pair(901, workspace: "quiet", isNew: false)
    _ = writer.take()
    Thread.sleep(forTimeInterval: quietSeconds)
    let quiet = writer.take()
    let start = ContinuousClock.now
    let progress = attack(server, members)
    let seconds = start.duration(to: .now) / .seconds(1)
    let pressed = writer.take()
    writer.end()
    let welcome = welcomeBesideIdleSockets(server, known)
    let memory = try? server.peakMemory
    let endedWell = server.stop()

    var outcome = Outcome()
    let (before, during) = (Self.p99(quiet), Self.p99(pressed))
    let slowdown = before > 0 ? during / before : 0
    outcome.text = """
      seed \(seed): \(clients) hostile clients, \(atOnce) at a time, in \(Self.shown(seconds)) s
      \(progress.counts.map { "\($0) \($1)" }.sorted().joined(separator: ", "))
      server's memory at most \((memory ?? 0) >> 20) MiB (limit \(memoryMax >> 20) MiB)
      commits of another workspace: p99 \(Self.shown(before * 1_000)) ms quiet (\(quiet.count)), \
      \(Self.shown(during * 1_000)) ms under attack (\(pressed.count)), \
      \(Self.shown(slowdown)) times; cut off or late \(writer.failureCount) times
      beside \(idle) idle sockets of one address a known device of another is welcomed in \
      \(welcome.map { Self.shown($0 * 1_000) + " ms" } ?? "no time")
      """
    outcome.problems = progress.successes
    if !endedWell { outcome.problems.append("the server did not end well") }
    if let memory, memory > memoryMax { outcome.problems.append("the server took too much memory") }
    if memory == nil { outcome.problems.append("the server was gone before its memory was read") }
    if pressed.isEmpty { outcome.problems.append("another workspace could write nothing") }
    if let slowdownMax, slowdown > slowdownMax {
      outcome.problems.append("commits of another workspace are held up")
    }
    if welcome.map({ $0 > 1 }) ?? true {
      outcome.problems.append("idle sockets keep a known device out")
    }
    return outcome
  }

  private func attack(_ server: HostileServer, _ members: [Member]) -> Progress {
    let shared = Shared()
    let done = DispatchSemaphore(value: 0)
    for member in members {
      Thread.detachNewThread {
        var member = member
        while let number = shared.take(before: clients), server.isRunning {
          // Each has its own random numbers, so that one can be run again.
          var generator = SeededGenerator(seed: seed &* 1_000_003 &+ UInt64(number))
          let attack = Attack.allCases.randomElement(using: &generator) ?? .noise
          // From all of the loopback network, because places are counted by address.
          let source = (
            UInt8.random(in: 1...200, using: &generator),
            UInt8.random(in: 0...255, using: &generator),
            UInt8.random(in: 1...254, using: &generator)
          )
          guard let peer = HostilePeer(port: server.port, from: source) else {
            shared.update { $0.notConnected += 1 }
            continue
          }
          do {
            try attack.run(
              on: peer, as: &member, others: UInt64(members.count), using: &generator)
          } catch {
            shared.update { $0.successes.append("client \(number), \(attack): \(error)") }
          }
          shared.update { $0.counts[attack, default: 0] += 1 }
        }
        done.signal()
      }
    }
    for _ in members { done.wait() }
    return shared.progress
  }

  private final class Shared: Sendable {
    private let state = Mutex(Progress())

    var progress: Progress { state.withLock { $0 } }

    func take(before end: Int) -> Int? {
      state.withLock { state in
        guard state.next < end else { return nil }
        state.next += 1
        return state.next
      }
    }

    func update(_ body: (inout Progress) -> Void) {
      state.withLock { body(&$0) }
    }
  }

  /// - Returns: seconds until a known device of another address is welcomed; nil if it is not.
  private func welcomeBesideIdleSockets(_ server: HostileServer, _ member: Member) -> Double? {
    let sockets = (0..<idle).map { _ in HostilePeer(port: server.port, from: (0, 0, 9)) }
    defer { withExtendedLifetime(sockets) {} }
    let start = ContinuousClock.now
    guard let peer = HostilePeer(port: server.port, from: (0, 0, 1)), peer.upgrade(),
      peer.send(raw: HostilePeer.frame(FrameCodec.encode(.hello(member.hello))))
    else { return nil }
    while let bytes = peer.message() {
      if case .welcome? = try? FrameCodec.decode(bytes) {
        return start.duration(to: .now) / .seconds(1)
      }
    }
    return nil
  }

  private static func p99(_ sorted: [Double]) -> Double {
    sorted.isEmpty ? 0 : sorted[min(sorted.count - 1, sorted.count * 99 / 100)]
  }

  private static func shown(_ number: Double) -> String { String(format: "%.1f", number) }
}
