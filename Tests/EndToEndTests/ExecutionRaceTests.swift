import Foundation
import LocalAPI
import Testing

extension EndToEnd {
  /// A user changes or withdraws a message at the moment of its start. `COSPOOL_RACES` is the
  /// number of repetitions (1,000 in a long run).
  @Suite struct ExecutionRaceTests {
    private static let trials =
      ProcessInfo.processInfo.environment["COSPOOL_RACES"].flatMap { Int($0) } ?? 12

    private struct Scene {
      var host: Device
      var phone: Device
      var agent: ScriptAgent

      init(_ bed: TestBed) async throws {
        let server = try await bed.server()
        host = try await bed.device("host", of: server)
        phone = try await bed.device("phone", of: server)
        agent = try ScriptAgent(bed)
        try await agent.serve(["s"], on: host)
        try await host.synchronise()
        try await phone.synchronise()
      }

      /// A message that waits on both devices, in a paused queue.
      func waiting(_ text: String) async throws -> String {
        try await host.cospool("queue", "pause", "-s", "s")
        let id = try await host.send("s", text)
        try await host.synchronise()
        try await phone.synchronise()
        return id
      }

      /// Resumes it on the host while something happens on the phone.
      func race(
        _ random: inout SeededGenerator, _ arguments: [String]
      ) async throws -> Output {
        let (early, late) = (
          Int.random(in: 0...40, using: &random), Int.random(in: 0...40, using: &random)
        )
        async let go: Void = {
          // The delays are part of the race; they do not replace a wait for something.
          try await Task.sleep(for: .milliseconds(early))
          try await host.cospool("queue", "resume", "-s", "s")
        }()
        try await Task.sleep(for: .milliseconds(late))
        let output = try await phone.attempt(arguments)
        try await go
        return output
      }
    }

    @Test func noMessageStartsThatWasCancelledInTime() async throws {
      try await TestBed.run { bed in
        let seed = SeededGenerator.seed(for: "noMessageStartsThatWasCancelledInTime", standard: 1)
        var random = SeededGenerator(seed: seed)
        let scene = try await Scene(bed)
        var outcomes: [String: String] = [:]
        for number in 1...Self.trials {
          let id = try await scene.waiting("prompt \(number)")
          let output = try await scene.race(&random, ["queue", "cancel", id, "--json"])
          if output.isSuccess {
            let answer: CancelledAnswer = try output.decoded()
            outcomes[id] = answer.outcomes?.first?.outcome ?? "none"
          } else {
            // The device knew before it asked, or learned it.
            let isTooLate = ["alreadyStarted", #""outcome":"invoked""#].contains {
              "\(output)".contains($0)
            }
            #expect(isTooLate, "\(output); seed \(seed)")
            outcomes[id] = "invoked"
          }
          try await bed.eventually("the queue is empty", within: 120) {
            try await scene.host.queue("s").messages.isEmpty
          }
        }
        let started = Set(scene.agent.starts().map(\.message))
        for (id, outcome) in outcomes {
          switch outcome {
          case "cancelled": #expect(!started.contains(id), "\(id); seed \(seed)")
          case "invoked": #expect(started.contains(id), "\(id); seed \(seed)")
          default: Issue.record("\(id): \(outcome); seed \(seed)")
          }
        }
        print("\(outcomes.count) races, \(started.count) started, seed \(seed)")
      }
    }

    /// Like a cancel: messages that an agent works on stay, and each of the others has an outcome.
    @Test func clearingSaysOfEachMessageWhetherThatWasInTime() async throws {
      try await TestBed.run { bed in
        let device = Device(bed, "a")
        try await device.start()
        let agent = try ScriptAgent(bed)
        try await agent.serve(["s"], on: device)
        let stuck = try await device.send("s", "stuck")
        try await bed.eventually("it runs", within: 120) { agent.starts().count == 1 }
        for text in ["one", "two"] { try await device.send("s", text) }
        let answer: CancelledAnswer = try await device.attempt(
          "queue", "clear", "-s", "s", "--json"
        ).succeeded().decoded()
        #expect(answer.outcomes?.map(\.outcome) == ["cancelled", "cancelled"])
        agent.letGo()
        try await bed.eventually("it is done", within: 120) { agent.ends() == [stuck] }
        try await bed.eventually("the queue is empty", within: 120) {
          try await device.queue("s").messages.isEmpty
        }
        #expect(agent.starts().count == 1)
      }
    }

    private struct CancelledAnswer: Decodable {
      struct Outcome: Decodable {
        var outcome: String
      }

      var outcomes: [Outcome]?
    }

    @Test func editThatCameTooLateIsKept() async throws {
      try await TestBed.run { bed in
        let seed = SeededGenerator.seed(for: "editThatCameTooLateIsKept", standard: 1)
        var random = SeededGenerator(seed: seed)
        let scene = try await Scene(bed)
        var late = 0
        for number in 1...Self.trials {
          let (old, new) = ("old \(number)", "new \(number)")
          let id = try await scene.waiting(old)
          let output = try await scene.race(&random, ["queue", "edit", id, new])
          try await bed.eventually("it ran", within: 120) { scene.agent.ends().contains(id) }
          let prompt = scene.agent.starts().first { $0.message == id }?.prompt
          if output.isSuccess {
            #expect(prompt == new, "seed \(seed)")
          } else {
            late += 1
            #expect(prompt == old, "\(output); seed \(seed)")
            let draft = try await scene.phone.cospool("draft", "show", "-s", "s")
            #expect(draft.contains(new), "\(draft); seed \(seed)")
          }
          try await bed.eventually("the queue is empty", within: 120) {
            try await scene.host.queue("s").messages.isEmpty
          }
        }
        print("\(Self.trials) races, \(late) edits too late, seed \(seed)")
      }
    }
  }
}
