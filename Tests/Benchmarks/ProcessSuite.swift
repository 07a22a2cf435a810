import Foundation

/// The waits of users, with the real processes: the daemon with a typical workspace, and the
/// command line. Measured in wall time, because processes start and wait for the disk.
enum ProcessSuite {
  private static let enqueuesEach = 40
  private static let startsMax = 20

  /// What is missing for the measurement; nil if nothing is.
  static var obstacle: String? {
    for name in ["cospoold", "cospool"] where DaemonProcess.executable(name) == nil {
      return "workspace/process needs \(name) beside cospool-bench: swift build -c release "
        + "--product \(name)"
    }
    return nil
  }

  static func measure(runs: Int) throws -> [Result] {
    // Short, because a socket's path has room for about a hundred bytes.
    let directory = "/tmp/csb-\(UInt32.random(in: .min ... .max))"
    try FileManager.default.createDirectory(
      atPath: directory, withIntermediateDirectories: true)
    // A leftover directory must not hide the benchmark's own failure.
    defer { try? FileManager.default.removeItem(atPath: directory) }
    try TypicalWorkspace.fill(directory)
    let starts = try (0..<min(runs * 2, startsMax)).map { _ in try start(in: directory) }
    let daemon = try DaemonProcess(directory: directory)
    defer { daemon.stop() }
    return [
      .median("workspace/process/start-to-first-view", starts),
      .median("workspace/process/enqueue-to-durable", try enqueues(at: daemon, runs: runs)),
      .median(
        "workspace/process/cospool-queue-list", try lists(in: directory, runs: runs)),
    ]
  }

  /// Seconds from the start of the process to the answer that shows a queue.
  private static func start(in directory: String) throws -> Double {
    var daemon: DaemonProcess?
    var answer = ""
    let duration = try ContinuousClock().measure {
      let started = try DaemonProcess(directory: directory)
      daemon = started
      answer = try started.request("GET", "/v1/sessions/session-0/queue")
    }
    daemon?.stop()
    try BenchFailure.require(
      answer.hasPrefix("HTTP/1.1 200") && answer.contains("\"position\":10"),
      "the daemon shows another queue than was stored: \(answer.prefix(200))")
    return duration / .seconds(1)
  }

  /// Seconds from a request to the answer that it is on disk.
  private static func enqueues(at daemon: DaemonProcess, runs: Int) throws -> [Double] {
    try (0..<runs * enqueuesEach).map { number in
      // A session has room for ten, so every ten messages get another session.
      let target = "/v1/sessions/enqueue-\(number / 10)/queue"
      var answer = ""
      let duration = try ContinuousClock().measure {
        answer = try daemon.request(
          "POST", target, #"{"text":"prompt number \#(number): review what came in"}"#)
      }
      try BenchFailure.require(answer.hasPrefix("HTTP/1.1 201"), String(answer.prefix(300)))
      return duration / .seconds(1)
    }
  }

  /// Seconds of `cospool queue list`, from its start to its end.
  private static func lists(in directory: String, runs: Int) throws -> [Double] {
    guard let path = DaemonProcess.executable("cospool") else { return [] }
    return try (0..<runs * 4).map { _ in
      try ContinuousClock().measure {
        try DaemonProcess.run(path, ["queue", "list", "-s", "session-0", "--data", directory])
      } / .seconds(1)
    }
  }
}
