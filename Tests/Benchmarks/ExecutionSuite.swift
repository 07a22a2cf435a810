import Foundation

/// A server, the host of a session and another device, all real processes. It measures three
/// things: the time from sending a prompt on one device until its agent begins on the other, the
/// time of an approval in both directions, and the cost of an idle host.
struct ExecutionSuite {
  /// The messages to send, each after the previous one has ended.
  var messages = 300
  /// The first of them warm up and are not counted.
  var warmUp = 20
  /// The pause between two messages, because an idle queue is measured.
  static let restMicroseconds: useconds_t = 20_000
  /// How long the idle host is watched.
  var idleSeconds = 30.0

  /// What is missing for the measurement; nil if nothing is.
  static var obstacle: String? {
    ["cospool-server", "cospoold", "cospool"].first { DaemonProcess.executable($0) == nil }.map {
      "the suite execution needs \($0) beside cospool-bench: swift build -c release --product \($0)"
    }
  }

  func measure() throws -> [Result] {
    // Short, because a socket's path has room for about a hundred bytes.
    let directory = "/tmp/cse-\(UInt32.random(in: .min ... .max))"
    for name in ["server", "a", "b"] {
      try FileManager.default.createDirectory(
        atPath: "\(directory)/\(name)", withIntermediateDirectories: true)
    }
    // A leftover directory must not hide the benchmark's own failure.
    defer { try? FileManager.default.removeItem(atPath: directory) }
    let server = try SyncServerProcess(directory: "\(directory)/server")
    defer { server.stop() }
    let host = try DaemonProcess(directory: "\(directory)/a", isNamed: "host")
    defer { host.stop() }
    let phone = try DaemonProcess(directory: "\(directory)/b", isNamed: "phone")
    defer { phone.stop() }
    let agent = try BenchAgent(directory: directory)
    try pair([host, phone], with: server, directory: directory)
    try serve(agent, on: host)
    try Self.cospool(phone, "sync", "wait", "--timeout", "30")

    let alone = try (0..<50).map { _ in try agent.runAlone() }.sorted()
    let latencies = try send(from: phone, to: agent).sorted()
    let own = alone[alone.count / 2]
    let approvals = try approvals(from: host, to: phone)
    let idle = try idleCost(of: host)
    return [
      Result(
        name: "execution/send-to-start-p50", metric: "seconds",
        value: latencies[latencies.count / 2] - own),
      Result(
        name: "execution/send-to-start-p99", metric: "seconds",
        value: latencies[latencies.count * 99 / 100] - own),
      Result(name: "execution/agent-alone", metric: "seconds", value: own),
      Result(
        name: "execution/approval-to-other-device-p99", metric: "seconds",
        value: approvals.shown[approvals.shown.count * 99 / 100]),
      Result(
        name: "execution/answer-to-agent-p99", metric: "seconds",
        value: approvals.decided[approvals.decided.count * 99 / 100]),
      Result(name: "execution/idle/processor-share", metric: "ratio", value: idle.share),
      Result(name: "execution/idle/anonymous-memory", metric: "bytes", value: idle.memory),
    ]
  }

  // MARK: - The world

  private func pair(
    _ devices: [DaemonProcess], with server: SyncServerProcess, directory: String
  ) throws {
    struct Grant: Decodable { var code: String }
    for device in devices {
      let answer = try DaemonProcess.output(
        "cospool-server", ["pair", "--json", "--data", "\(directory)/server"])
      let grant = try JSONDecoder().decode(Grant.self, from: Data(answer.utf8))
      try Self.cospool(device, "pair", "ws://127.0.0.1:\(server.port)", grant.code)
    }
  }

  private func serve(_ agent: BenchAgent, on host: DaemonProcess) throws {
    try Self.cospool(host, "config", "set", "command", agent.command)
    try Self.cospool(host, "config", "set", "agent", "command")
    try Self.cospool(host, "session", "add", "s")
    try Self.cospool(host, "session", "host", "s", "this")
    try Self.cospool(host, "sync", "wait", "--timeout", "30")
  }

  private static func cospool(_ device: DaemonProcess, _ arguments: String...) throws {
    _ = try DaemonProcess.output("cospool", arguments + ["--data", device.directory])
  }

  // MARK: - Measurements

  /// Seconds from the request on one device to the first action of the agent on the other.
  private func send(from phone: DaemonProcess, to agent: BenchAgent) throws -> [Double] {
    var latencies: [Double] = []
    for number in 0..<warmUp + messages {
      let clock = ContinuousClock()
      let begin = clock.now
      let answer = try phone.request(
        "POST", "/v1/sessions/s/queue", #"{"text":"prompt number \#(number)"}"#)
      try BenchFailure.require(answer.hasPrefix("HTTP/1.1 201"), String(answer.prefix(300)))
      try agent.waitForStart()
      if number >= warmUp { latencies.append((clock.now - begin) / .seconds(1)) }
      try waitUntilEmpty(at: phone)
      // The other device is not notified when the host has finished with it.
      usleep(Self.restMicroseconds)
    }
    return latencies
  }

  /// Waits until the queue is idle again, as the sending device sees it.
  private func waitUntilEmpty(at phone: DaemonProcess) throws {
    let deadline = ContinuousClock.now + .seconds(30)
    while ContinuousClock.now < deadline {
      let answer = try phone.request("GET", "/v1/sessions/s/queue")
      if answer.contains(#""messages":[]"#) { return }
      usleep(1_000)
    }
    throw BenchFailure("a message did not end within 30 seconds")
  }

  /// Seconds from an agent's permission request to the event on the other device, and from the
  /// answer there to the decision for the agent; both sorted.
  private func approvals(
    from host: DaemonProcess, to phone: DaemonProcess
  ) throws -> (shown: [Double], decided: [Double]) {
    let events = try phone.send("GET", "/v1/events")
    defer { close(events) }
    _ = try DaemonProcess.receive(events) { $0.contains("event: present") }
    let clock = ContinuousClock()
    var (shown, decided): ([Double], [Double]) = ([], [])
    for number in 0..<warmUp + messages {
      let ask = #"{"kind":"approval","toolName":"Bash","summary":"request \#(number) of all"}"#
      let begin = clock.now
      let asking = try host.send("POST", "/v1/sessions/s/asks", ask)
      defer { close(asking) }
      let event = try DaemonProcess.receive(events) { $0.contains("request \(number) of all") }
      let seen = clock.now
      let digest = event.matches(of: /"digest":"([0-9a-f]{64})"/).last.map { String($0.1) } ?? ""
      let answer = try phone.send(
        "POST", "/v1/asks/answer", #"{"verdict":"allowed","digest":"\#(digest)"}"#)
      let decision = try DaemonProcess.receive(asking) { $0.contains("\"allowed\"") }
      let end = clock.now
      try BenchFailure.require(decision.contains("\"allowed\""), String(decision.prefix(300)))
      _ = try DaemonProcess.receive(answer) { _ in false }
      close(answer)
      guard number >= warmUp else { continue }
      shown.append((seen - begin) / .seconds(1))
      decided.append((end - seen) / .seconds(1))
    }
    return (shown.sorted(), decided.sorted())
  }

  private func idleCost(of host: DaemonProcess) throws -> (share: Double, memory: Double) {
    // Remaining work of the last message is not idling.
    usleep(2_000_000)
    let before = try host.processorSeconds
    usleep(useconds_t(idleSeconds * 1e6))
    return ((try host.processorSeconds - before) / idleSeconds, try host.anonymousMemory)
  }
}

/// An agent that reports through a named pipe that it has begun, and ends.
private final class BenchAgent {
  private let pipePath: String
  private let reading: Int32
  private let script: String

  var command: String { "\(script) {}" }

  init(directory: String) throws {
    pipePath = "\(directory)/started"
    script = "\(directory)/agent.sh"
    guard mkfifo(pipePath, 0o600) == 0 else { throw BenchFailure("no pipe: errno \(errno)") }
    // Also for writing, so that reading waits if no agent has it open.
    reading = open(pipePath, O_RDWR | O_CLOEXEC)
    guard reading >= 0 else { throw BenchFailure("\(pipePath): errno \(errno)") }
    try Data("#!/bin/sh\necho > \(pipePath)\n".utf8).write(to: URL(filePath: script))
    try FileManager.default.setAttributes([.posixPermissions: 0o755], ofItemAtPath: script)
  }

  deinit { close(reading) }

  /// Waits for the next start.
  func waitForStart() throws {
    var waiting = pollfd(fd: reading, events: Int16(POLLIN), revents: 0)
    guard poll(&waiting, 1, 30_000) == 1 else {
      throw BenchFailure("no agent began within 30 seconds")
    }
    var byte: UInt8 = 0
    guard read(reading, &byte, 1) == 1 else { throw BenchFailure("\(pipePath): errno \(errno)") }
  }

  /// Seconds until the agent reports that it has begun, started by this process.
  func runAlone() throws -> Double {
    let clock = ContinuousClock()
    let begin = clock.now
    let pid = try DaemonProcess.spawn(script, ["prompt"], output: STDERR_FILENO)
    try waitForStart()
    let duration = clock.now - begin
    var status: Int32 = 0
    guard waitpid(pid, &status, 0) == pid, status == 0 else {
      throw BenchFailure("the agent failed: \(status)")
    }
    return duration / .seconds(1)
  }
}
