import Foundation
import LocalAPI
import Testing

extension EndToEnd {
  /// Queues drain: real daemons, a real server, and a script as the agent.
  @Suite struct ExecutionTests {
    // S0-1, S0-23 … S0-26, S1-22, S1-27, C-2, C-3: in order, one at a time; without a server, the
    // device decides by itself.
    @Test func queueDrainsInOrderWithoutAServer() async throws {
      try await TestBed.run { bed in
        let device = Device(bed, "a")
        try await device.start()
        let agent = try ScriptAgent(bed)
        try await agent.serve(["review"], on: device)
        var sent: [String] = []
        for number in 1...4 {
          sent.append(try await device.send("review", "slow prompt \(number)"))
        }
        try await bed.eventually("all have run", within: 90) { agent.ends().count == 4 }
        #expect(agent.ends() == sent)
        // None starts before the previous one has ended.
        #expect(agent.turns() == sent.flatMap { ["start \($0)", "end \($0)"] })
        #expect(agent.starts().map(\.attempt) == [1, 1, 1, 1])
        try await bed.eventually("the queue is empty", within: 90) {
          try await device.queue("review").messages.isEmpty
        }
        let log = try await device.cospool("log", sent[1])
        #expect(log.contains("working on slow prompt 2"), "\(log)")
        let status = try await device.message(sent[0]).status
        #expect(status == "succeeded")
      }
    }

    /// Files of an agent have the modes that its user wants; files of the daemon are private.
    @Test(arguments: ["022", "000"]) func agentsHaveTheDaemonsMask(mask: String) async throws {
      try await TestBed.run { bed in
        let device = Device(bed, "a")
        try await device.start(mask: mask)
        try await device.cospool(
          "config", "set", "command", "sh -c 'umask > \(bed.path("mask")); echo done'")
        try await device.cospool("config", "set", "agent", "command")
        try await device.cospool("session", "add", "s")
        try await device.cospool("session", "host", "s", "this")
        let file = bed.path("notes.txt")
        try Data("notes".utf8).write(to: URL(filePath: file))
        let id = UUID().uuidString.lowercased()
        try await device.cospool("send", "-s", "s", "--id", id, "--attach", file, "go")
        try await bed.eventually("it has run", within: 90) {
          try await device.message(id).status == "succeeded"
        }
        #expect(try String(contentsOfFile: bed.path("mask"), encoding: .utf8) == "0\(mask)\n")
        let files = try #require(FileManager.default.enumerator(atPath: device.data))
        var open: [String] = []
        for case let name as String in files {
          var status = stat()
          guard lstat("\(device.data)/\(name)", &status) == 0 else { continue }
          if status.st_mode & 0o077 != 0 { open.append(name) }
        }
        #expect(open == [])
      }
    }

    // S0-27, S0-62 … S0-66, C-3, C-17: ten over night, the fourth fails, and the queue stops; after
    // a retry from another device, it continues.
    @Test func failureStopsTheQueueUntilAnotherDeviceDecides() async throws {
      try await TestBed.run { bed in
        let server = try await bed.server()
        let host = try await bed.device("host", of: server)
        let phone = try await bed.device("phone", of: server)
        let agent = try ScriptAgent(bed)
        try await agent.serve(["night"], on: host)
        try await host.synchronise()
        var sent: [String] = []
        for number in 1...10 {
          let slow = number.isMultiple(of: 3) ? "slow " : ""
          let text = number == 4 ? "prompt 4 fails" : "\(slow)prompt \(number)"
          sent.append(try await phone.send("night", text))
        }
        let fourth = sent[3]
        try await bed.eventually("the failure is seen on the phone", within: 90) {
          try await phone.message(fourth).status == "failed"
        }
        let failed = try await phone.message(fourth)
        #expect(failed.lastError?.contains("no such branch") == true)
        #expect(failed.attempts == 1)
        #expect(failed.position == 1)
        #expect(agent.ends() == Array(sent[..<3]))
        #expect(agent.starts().count == 4)
        let list = try await phone.cospool("queue", "list", "-s", "night")
        #expect(list.contains("blocked: "))
        #expect(list.contains("cospool queue retry \(sent[3].prefix(8).lowercased())"))
        agent.mend()
        try await phone.cospool("queue", "retry", sent[3])
        try await bed.eventually("the rest has run", within: 90) { agent.ends().count == 10 }
        #expect(agent.ends() == sent)
        #expect(agent.starts()[4] == .init(message: sent[3], attempt: 2, prompt: "prompt 4 fails"))
        // A failed message has ended, too, before anything else starts.
        let turns = sent.flatMap { ["start \($0)", "end \($0)"] }
        #expect(agent.turns() == Array(turns[..<7]) + Array(turns[6...]))
        try await bed.agreement(host, phone)
      }
    }

    /// Ignored signals survive exec; with this one, the ends of agents would be lost, and messages
    /// would run again.
    @Test func aDaemonThatInheritsIgnoredEndsOfChildrenStartsOnce() async throws {
      try await TestBed.run { bed in
        let device = Device(bed, "a")
        try await device.start()
        let agent = try ScriptAgent(bed)
        try await agent.serve(["s"], on: device)
        try await device.stop()
        let daemon = try Executables.path(of: "cospoold")
        let process = try bed.launch(
          "/bin/sh",
          ["-c", #"trap "" CHLD; exec "$0" "$@""#, daemon, "--data", device.data, "--name", "a"],
          name: "a")
        _ = try await process.line(holding: "ready on")
        let message = try await device.send("s", "one")
        try await bed.eventually("it is done", within: 120) {
          ["succeeded", "failed", "interrupted"].contains(try await device.message(message).status)
        }
        #expect(try await device.message(message).status == "succeeded")
        #expect(agent.starts().count == 1)
      }
    }

    // A daemon that has to stop lets its agent end, for a while; then it stops the agent and
    // reports that.
    @Test func stoppedDaemonLetsItsAgentEnd() async throws {
      try await TestBed.run { bed in
        let device = Device(bed, "a")
        try await device.start()
        let agent = try ScriptAgent(bed)
        try await agent.serve(["s"], on: device, settings: ["agentGrace": "600"])
        let first = try await device.send("s", "stuck one")
        try await bed.eventually("it runs", within: 90) { agent.starts().count == 1 }
        device.daemon?.send(SIGTERM)
        agent.letGo()
        try await device.daemon?.ended(within: 90)
        #expect(agent.ends() == [first])
        try await device.start()
        #expect(try await device.message(first).status == "succeeded")
      }
    }

    @Test func agentThatDoesNotEndInTimeIsStopped() async throws {
      try await TestBed.run { bed in
        let device = Device(bed, "a")
        try await device.start()
        let agent = try ScriptAgent(bed)
        try await agent.serve(["s"], on: device, settings: ["agentGrace": "0"])
        let first = try await device.send("s", "stuck one")
        try await bed.eventually("it runs", within: 90) { agent.starts().count == 1 }
        device.daemon?.send(SIGTERM)
        try await device.daemon?.ended(within: 90)
        try await device.start()
        #expect(try await device.message(first).status == "interrupted")
        #expect(agent.ends() == [])
        #expect(agent.starts().count == 1)
      }
    }

    /// The queue continues over night, whatever stops its daemon, but not forever with a prompt
    /// that ends its agent.
    @Test func interruptedMessagesAreRetriedIfSet() async throws {
      try await TestBed.run { bed in
        let device = Device(bed, "a")
        try await device.start()
        let agent = try ScriptAgent(bed)
        try await agent.serve(
          ["s"], on: device, settings: ["agentGrace": "0", "onUnknown": "retry"])
        let first = try await device.send("s", "stuck one")
        let second = try await device.send("s", "two dies")
        try await bed.eventually("it runs", within: 90) { agent.starts().count == 1 }
        device.daemon?.send(SIGTERM)
        try await device.daemon?.ended(within: 90)
        #expect(agent.starts().count == 1)
        agent.letGo()
        try await device.start()
        try await bed.eventually("the first is done, the second is not", within: 120) {
          try await device.message(second).status == "interrupted"
        }
        #expect(try await device.message(first).status == "succeeded")
        #expect(agent.starts().map(\.attempt) == [1, 2, 1, 2, 3])
        #expect(agent.ends() == [first])
      }
    }

    /// A daemon that has to stop, while it still ends the processes of a killed one, starts
    /// nothing.
    @Test func daemonThatIsStoppedAtItsStartBeginsNothing() async throws {
      try await TestBed.run { bed in
        let device = Device(bed, "a")
        try await device.start()
        let agent = try ScriptAgent(bed)
        try await agent.serve(["s"], on: device, settings: ["onUnknown": "skip"])
        let first = try await device.send("s", "deaf one")
        let second = try await device.send("s", "two")
        try await bed.eventually("it runs", within: 90) { agent.starts().count == 1 }
        device.daemon?.send(SIGKILL)
        try await device.daemon?.ended(within: 90)
        try await device.start()
        device.daemon?.send(SIGTERM)
        try await device.daemon?.ended(within: 90)
        #expect(agent.starts().count == 1)
        try await device.start()
        try await bed.eventually("the next one goes on", within: 120) {
          try await device.message(second).status == "succeeded"
        }
        #expect(try await device.message(first).status == "skipped")
        #expect(agent.starts().count == 2)
      }
    }

    // C-10: only the host starts anything; taking a session over moves its queue.
    @Test func takingOverASessionMovesItsAgent() async throws {
      try await TestBed.run { bed in
        let server = try await bed.server()
        let (a, b) = (
          try await bed.device("a", of: server), try await bed.device("b", of: server)
        )
        let (first, second) = (
          try ScriptAgent(bed, name: "first"), try ScriptAgent(bed, name: "second")
        )
        try await first.serve(["s"], on: a)
        try await second.serve([], on: b)
        try await a.synchronise()
        let one = try await a.send("s", "one")
        try await bed.eventually("a ran it", within: 90) { first.ends() == [one] }
        try await b.synchronise()
        let answer = try await b.cospool("session", "host", "s", "this")
        #expect(answer.contains("warning"), "\(answer)")
        let two = try await b.send("s", "two")
        try await bed.eventually("b ran it", within: 120) { second.ends() == [two] }
        #expect(first.starts().count == 1)
        #expect(second.starts().count == 1)
      }
    }

    // S1-2, S1-24: while it works, everything else works as usual.
    @Test func anAgentAtWorkBlocksNothingAndIsStopped() async throws {
      try await TestBed.run { bed in
        let device = Device(bed, "a")
        try await device.start()
        let agent = try ScriptAgent(bed)
        try await agent.serve(["s"], on: device)
        let first = try await device.send("s", "stuck one")
        try await bed.eventually("it runs", within: 90) { agent.starts().count == 1 }
        let second = try await device.send("s", "two")
        let third = try await device.send("s", "three")
        try await device.cospool("queue", "edit", second, "two, in other words")
        try await device.cospool("queue", "move", third, "--to", "2")
        let queue = try await device.queue("s").messages
        #expect(queue.map(\.id) == [first, third, second] && queue[0].status == "running")
        #expect(queue[2].content == "two, in other words")
        try await device.cospool("queue", "cancel", second, third)
        #expect(agent.starts().count == 1 && agent.turns() == ["start \(first)"])
        let refused = try await device.attempt("queue", "cancel", first)
        #expect(!refused.isSuccess)
        #expect(try await device.cospool("queue", "stop", "-s", "s").contains("stopping"))
        try await bed.eventually("it is cancelled", within: 90) {
          try await device.message(first).status == "cancelled"
        }
        #expect(agent.ends() == [])
      }
    }
  }
}

extension Device {
  /// `cospool queue show --json`.
  struct Message: Decodable {
    var id: String
    var content: String
    var status: String
    var position: Int
    var attempts: Int?
    var lastError: String?
  }

  func message(_ id: String) async throws -> Message {
    try await attempt("queue", "show", id, "--json").succeeded().decoded()
  }
}
