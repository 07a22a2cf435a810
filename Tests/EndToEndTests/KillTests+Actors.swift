import Foundation
import LocalAPI
import Synchronization

/// Counts commands as they start, and notifies code that waits for a count.
final class CommandCounter: Sendable {
  private let state = Mutex<(count: Int, isDone: Bool)>((0, false))
  private let stream: AsyncStream<Int>
  private let continuation: AsyncStream<Int>.Continuation

  init() {
    (stream, continuation) = AsyncStream.makeStream()
  }

  var count: Int { state.withLock { $0.count } }

  /// Every count from 1, in order, ending at `total`.
  func counts(to total: Int) -> AsyncPrefixWhileSequence<AsyncStream<Int>> {
    stream.prefix { $0 < total }
  }

  func started() {
    continuation.yield(
      state.withLock { state in
        state.count += 1
        return state.count
      })
  }
}

/// Issues commands on one device, and records which were completed.
struct Author: Sendable {
  var device: Device
  var bed: TestBed
  var counter: CommandCounter
  var seed: UInt64

  func run(commands: Int) async throws -> [Expected] {
    var random = SeededGenerator(seed: seed)
    var ledger: [Expected] = []
    for number in 0..<commands {
      let usable = ledger.indices.filter {
        ledger[$0].isAnswered && ledger[$0].cancellation == .none
      }
      let target = usable.randomElement(using: &random)
      switch (Int.random(in: 0..<10, using: &random), target) {
      case (6, let target?), (7, let target?):
        let text = "edited \(number) on \(device.name)"
        let answered = try await issue("queue", "edit", ledger[target].id, text)
        ledger[target].contents = answered ? [text] : ledger[target].contents.union([text])
      case (8, let target?):
        let answered = try await issue("queue", "cancel", ledger[target].id)
        ledger[target].cancellation = answered ? .answered : .unanswered
      case (9, let target?):
        _ = try await issue("queue", "move", ledger[target].id, "--to", "1")
      default:
        ledger.append(try await send(number, repeats: Bool.random(using: &random)))
      }
    }
    return ledger
  }

  /// Sends a prompt; half of those without an answer are sent again under the same id.
  private func send(_ number: Int, repeats: Bool) async throws -> Expected {
    let text = "prompt \(number) of \(device.name)"
    // Both devices use the same sessions, each with few enough prompts for the queue's limit.
    let session = "session-\(number / 5)"
    let id = UUID().uuidString.lowercased()
    var expected = Expected(id: id, session: session, contents: [text])
    expected.isAnswered = try await issue("send", "-s", session, "--id", id, text)
    if !expected.isAnswered, repeats {
      let output = try await device.attempt("send", "-s", session, "--id", id, text)
      expected.isAnswered = output.isSuccess
    }
    return expected
  }

  /// Whether the command was completed; if not, waits until the daemon is back.
  private func issue(_ arguments: String...) async throws -> Bool {
    counter.started()
    let output = try await device.attempt(arguments)
    if output.isSuccess { return true }
    guard output.code == 4 else {
      throw ProcessFailure("neither answered nor unreachable: \(output)")
    }
    try await bed.eventually("\(device.name) is back") {
      try await device.attempt("status").isSuccess
    }
    return false
  }
}

/// Kills the server or a daemon every few commands, and starts it again.
final class Killer: Sendable {
  let server: Server
  let devices: [Device]
  let seed: UInt64
  private let killed = Mutex(0)

  init(server: Server, devices: [Device], seed: UInt64) {
    self.server = server
    self.devices = devices
    self.seed = seed
  }

  var kills: Int { killed.withLock { $0 } }

  func run(after counter: CommandCounter) async throws {
    var random = SeededGenerator(seed: seed)
    var next = 5
    for await count in counter.counts(to: 200) where count >= next {
      next = count + Int.random(in: 6...14, using: &random)
      // In the middle of a command: this delay is part of the fault, and does not replace a wait
      // for something.
      try await Task.sleep(for: .milliseconds(Int.random(in: 0...60, using: &random)))
      switch Int.random(in: 0..<3, using: &random) {
      case 0:
        try await server.kill()
        try await server.start()
      case let index:
        let device = devices[index - 1]
        try await device.kill()
        try await device.start()
      }
      killed.withLock { $0 += 1 }
    }
  }
}
