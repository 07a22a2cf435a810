import Foundation
import Subprocess
import Synchronization
import SystemPackage
import Testing

@testable import SyncDaemon

/// Processes that stand ready to become agents: real ones.
@Suite(.timeLimit(.minutes(2)))
struct StarterProcessTests {
  /// Tells a process what to become, and gives what it wrote and how it ended.
  private func process(
    as program: FilePath, _ words: [String] = [], folder: String? = nil, variables: [String] = [],
    input: String? = "the prompt", then body: (StarterProcess, AgentStart) async throws -> Void
  ) async throws -> (output: String, status: TerminationStatus) {
    let process = try await StarterProcess.start(#require(AgentStarter.executable))
    let output = Mutex<[UInt8]>([])
    let pipes = try OutputPipes { _, bytes in output.withLock { $0 += bytes } }
    let start = start(program, words, folder: folder, variables: variables, input: input)
    #expect(process.takes(start, pipes))
    try pipes.read()
    try await body(process, start)
    let status = try await process.ended(stopGrace: .zero)
    await pipes.finish(within: .seconds(60))
    return (String(decoding: output.withLock { $0 }, as: UTF8.self), status)
  }

  private func start(
    _ program: FilePath, _ words: [String] = [], folder: String? = nil, variables: [String] = [],
    input: String? = "the prompt"
  ) -> AgentStart {
    let variables = variables.map { Array("\($0)\0".utf8) }
    return AgentStart(
      program: program, words: words, folder: folder, variables: variables,
      environment: .custom(variables), input: input)
  }

  @Test func itBecomesWhatItWasTold() async throws {
    let script = #"echo "$0 $A $(pwd)"; env | grep -c ^B=; ls /proc/$$/fd; cat; exit 3"#
    let (output, status) = try await process(
      as: "/bin/sh", ["-c", script, "name"], folder: "/usr", variables: ["A=ü 1", "B="]
    ) { process, start in
      // While it is sure to be there.
      #expect(getsid(process.id) == process.id)
      process.begin()
      try await process.hasBegun(start)
    }
    // The three streams, and nothing of the socket.
    #expect(output == "name ü 1 /usr\n1\n0\n1\n2\nthe prompt")
    #expect(status == .exited(3))
  }

  /// A prompt is a file, which nobody has to read.
  @Test func muchArrivesWhole() async throws {
    let words = (0..<30).map { "\($0)" + String(repeating: "x", count: 1_000) }
    let prompt = String(repeating: "prompt", count: 5_000)
    let script = "cat; echo \"$@\""
    let ended = try await process(as: "/bin/sh", ["-c", script, "name"] + words, input: prompt) {
      process, _ in process.begin()
    }
    #expect(ended.output == prompt + words.joined(separator: " ") + "\n")
  }

  /// Also one that does not read gets the leave: nobody waits for it.
  @Test func oneThatIsStoppedBeginsWhenItGoesOn() async throws {
    let prompt = String(repeating: "x", count: 65_000)
    let process = try await StarterProcess.start(#require(AgentStarter.executable))
    kill(process.id, SIGSTOP)
    let pipes = try OutputPipes { _, _ in }
    let start = start("/bin/true", input: prompt)
    #expect(process.takes(start, pipes))
    process.begin()
    kill(process.id, SIGCONT)
    try await process.hasBegun(start)
    #expect(try await process.ended(stopGrace: .zero) == .exited(0))
    await pipes.finish(within: .zero)
  }

  @Test func whatDoesNotFitIsRefused() async throws {
    let process = try await StarterProcess.start(#require(AgentStarter.executable))
    let pipes = try OutputPipes { _, _ in }
    let long = String(repeating: "x", count: 65_536)
    #expect(!process.takes(start("/bin/echo", [long]), pipes))
    #expect(!process.takes(start("/bin/echo", input: long), pipes))
    #expect(pipes.writers != nil)
    await pipes.finish(within: .zero)
  }

  /// A zero would make two words of one, or bring a variable in.
  @Test func zerosAreRefused() async throws {
    let starts = [
      start("/bin/echo", ["a\0b"]), start("/bin/echo", folder: "/\0b"),
      start("/bin/echo", variables: ["COSPOOL_PROJECT=a\0LD_PRELOAD=b"]),
    ]
    let process = try await StarterProcess.start(#require(AgentStarter.executable))
    let pipes = try OutputPipes { _, _ in }
    for start in starts {
      #expect(!process.takes(start, pipes))
    }
    await pipes.finish(within: .zero)
  }

  @Test func withoutLeaveItBecomesNothing() async throws {
    let ended = try await process(as: "/bin/echo", ["begun"]) { process, _ in process.discard() }
    #expect(ended.output == "")
    // No success, whoever asks.
    #expect(ended.status == .exited(127))
  }

  @Test func itEndsWithWhoeverHoldsIt() async throws {
    var process: StarterProcess? = try await .start(#require(AgentStarter.executable))
    let id = try #require(process?.id)
    process = nil
    try await Processes.expectGone(id)
  }

  @Test(
    arguments: [
      (FilePath("/no/program"), nil, "No such file or directory"),
      ("/tmp", nil, "Permission denied"),
      ("/bin/echo", "/no/folder", "/no/folder: No such file or directory"),
    ] as [(FilePath, String?, String)])
  func itSaysWhatItCannotBecome(program: FilePath, folder: String?, text: String) async throws {
    let ended = try await process(as: program, folder: folder) { process, start in
      process.begin()
      let fault = await #expect(throws: StarterProcess.Fault.self) {
        try await process.hasBegun(start)
      }
      #expect(fault?.description == text)
    }
    #expect(ended.output == "")
  }

  /// Until it holds, with a process each time: between fork and exec, one of another test has copies of
  /// all descriptors, so that the socket of one that is gone may still seem to be open.
  private func eventually(_ body: (StarterProcess) async throws -> Bool) async throws {
    let deadline = ContinuousClock.now + .seconds(60)
    while true {
      let process = try await StarterProcess.start(#require(AgentStarter.executable))
      if try await body(process) { return }
      try #require(ContinuousClock.now < deadline)
    }
  }

  private func killed(_ process: StarterProcess) async throws {
    kill(process.id, SIGKILL)
    #expect(try await process.ended(stopGrace: .zero) == .signaled(SIGKILL))
  }

  @Test func oneThatWasKilledTakesNothing() async throws {
    try await eventually { process in
      try await killed(process)
      let pipes = try OutputPipes { _, _ in }
      let isTaken = process.takes(start("/bin/echo"), pipes)
      // They are still there for a process that is started.
      #expect(isTaken || pipes.writers != nil)
      // Does not end the daemon by SIGPIPE.
      process.begin()
      await pipes.finish(within: .zero)
      return !isTaken
    }
  }

  @Test func oneThatIsKilledBeforeItBeginsDidNotBegin() async throws {
    try await eventually { process in
      let output = Mutex<[UInt8]>([])
      let pipes = try OutputPipes { _, bytes in output.withLock { $0 += bytes } }
      let start = start("/bin/echo", ["begun"])
      #expect(process.takes(start, pipes))
      try pipes.read()
      try await killed(process)
      process.begin()
      let fault: StarterProcess.Fault?
      do {
        try await process.hasBegun(start)
        fault = nil
      } catch let error as StarterProcess.Fault {
        fault = error
      }
      await pipes.finish(within: .seconds(60))
      #expect(output.withLock { $0 } == [])
      return fault == StarterProcess.Fault(code: EPIPE)
    }
  }

  @Test func aStopTakesTheWholeGroupAlong() async throws {
    let (lines, line) = AsyncStream<Void>.makeStream()
    let process = try await StarterProcess.start(#require(AgentStarter.executable))
    let pipes = try OutputPipes { _, _ in line.yield() }
    let script = "trap '' TERM; echo ready; sleep 1000; sleep 1000"
    #expect(process.takes(start("/bin/sh", ["-c", script]), pipes))
    try pipes.read()
    process.begin()
    for await _ in lines { break }
    let task = Task { try await process.ended(stopGrace: .milliseconds(200)) }
    task.cancel()
    #expect(try await task.value == .signaled(SIGKILL))
    await pipes.finish(within: .seconds(60))
  }

  @Test func oneIsReadyUntilItIsTakenOrLetGo() async throws {
    let starter = AgentStarter(executable: try #require(AgentStarter.executable))
    #expect(starter.take()?.id == nil)
    await starter.makeReady()
    await starter.makeReady()
    let first = try #require(starter.take())
    #expect(starter.take()?.id == nil)
    await starter.makeReady()
    // Nobody holds it any more.
    let second = try #require(starter.take()?.id)
    #expect(second != first.id)
    try await Processes.expectGone(second)
    await starter.makeReady()
    starter.close()
    await starter.makeReady()
    #expect(starter.take()?.id == nil)
  }

  @Test func whereNoneCanBeMadeNoneIsReady() async throws {
    let starter = AgentStarter(executable: "/no/cospool-starter")
    await starter.makeReady()
    #expect(starter.take()?.id == nil)
  }

  @Test func byHandItSaysThatThereIsNothingToDo() async throws {
    let result = try await Subprocess.run(
      .path(#require(AgentStarter.executable)), output: .discarded, error: .string(limit: 1_000))
    #expect(result.terminationStatus == .exited(64))
    #expect(result.standardError == "cospool-starter: nothing to do by hand; cospoold runs it\n")
  }

  /// What comes garbled ends it with a word, and starts nothing.
  @Test(arguments: [[UInt8](repeating: 120, count: 16), [1, 2, 3]])
  func whatIsNoOrderStartsNothing(bytes: [UInt8]) async throws {
    var ends: [Int32] = [-1, -1]
    try #require(socketpair(AF_UNIX, Int32(SOCK_STREAM.rawValue), 0, &ends) == 0)
    defer { close(ends[0]) }
    for end in ends { _ = fcntl(end, F_SETFD, FD_CLOEXEC) }
    try FileDescriptor(rawValue: ends[0]).writeAll(bytes)
    shutdown(ends[0], Int32(SHUT_WR))
    let result = try await Subprocess.run(
      .path(#require(AgentStarter.executable)),
      input: .fileDescriptor(FileDescriptor(rawValue: ends[1]), closeAfterSpawningProcess: true),
      output: .discarded, error: .discarded)
    #expect(result.terminationStatus == .exited(127))
    var report = [UInt8](repeating: 0, count: 8)
    #expect(read(ends[0], &report, report.count) == 5)
    #expect(report.first == UInt8(ascii: "o"))
  }
}
