import Foundation
import QueueOracle

/// Memory after a long day in three minutes: a server and two daemons, five sessions, 47,600
/// commands that send, edit and cancel prompts of some 300 characters. In the end nearly all
/// messages are finished, so nearly no memory may be left.
struct SoakSuite {
  private static let commandCount = 47_600
  private static let seconds = 180.0
  private static let sessionCount = 5
  private static let textCharacters = 300
  /// The maximum number of prompts that a device has waiting in one session.
  private static let waitingMax = 4
  private static let restSeconds = 60.0
  private static let name = "workspace/soak"

  /// What is missing for the measurement; nil if nothing is.
  static var obstacle: String? {
    for name in ["cospool-server", "cospoold", "cospool"]
    where DaemonProcess.executable(name) == nil {
      return "the suite soak needs \(name) beside cospool-bench: swift build -c release "
        + "--product \(name)"
    }
    return nil
  }

  private let directory: String
  private let server: SyncServerProcess
  private let devices: [DaemonProcess]

  static func measure() throws -> [Result] {
    // Short, because a socket's path has room for about a hundred bytes.
    let directory = "/tmp/csb-\(UInt32.random(in: .min ... .max))"
    try FileManager.default.createDirectory(
      atPath: directory, withIntermediateDirectories: true)
    // A leftover directory must not hide the benchmark's own failure.
    defer { try? FileManager.default.removeItem(atPath: directory) }
    let suite = try SoakSuite(in: directory)
    defer { suite.stop() }
    let idle = try suite.memory("idle")
    try suite.load()
    let end = try suite.memory("end")
    try suite.synchronise()
    Thread.sleep(forTimeInterval: restSeconds)
    return idle + end + (try suite.memory("a-minute-later"))
  }

  private init(in directory: String) throws {
    self.directory = directory
    server = try SyncServerProcess(directory: directory + "/server")
    devices = try ["a", "b"].map { (name: String) in
      try DaemonProcess(directory: "\(directory)/\(name)", isNamed: name)
    }
    struct Grant: Decodable { var code: String }
    for device in devices {
      let pairing = try DaemonProcess.output(
        "cospool-server", ["pair", "--json", "--data", directory + "/server"])
      let code = try JSONDecoder().decode(Grant.self, from: Data(pairing.utf8)).code
      _ = try DaemonProcess.output(
        "cospool",
        ["pair", "ws://127.0.0.1:\(server.port)", code, "--data", device.directory])
    }
    for session in 0..<Self.sessionCount {
      _ = try DaemonProcess.output(
        "cospool", ["session", "add", "s\(session)", "--data", devices[0].directory])
    }
    try synchronise()
  }

  /// Waits until the server and both devices have the same.
  private func synchronise() throws {
    for device in devices {
      _ = try DaemonProcess.output(
        "cospool", ["sync", "wait", "--timeout", "60", "--data", device.directory])
    }
  }

  private func stop() {
    for device in devices { device.stop() }
    server.stop()
  }

  private func memory(_ moment: String) throws -> [Result] {
    let values =
      [("server", try server.anonymousMemory)]
      + (try zip(["device-a", "device-b"], devices.map { try $0.anonymousMemory }))
    return values.map {
      Result(name: "\(Self.name)/\(moment)/\($0.0)", metric: "bytes", value: $0.1)
    }
  }

  /// The devices take turns, at an even pace.
  private func load() throws {
    var generator = SeededGenerator(seed: 21)
    var waiting = devices.map { _ in [[String]](repeating: [], count: Self.sessionCount) }
    var refused = 0
    let start = Date()
    for number in 0..<Self.commandCount {
      let due = start.addingTimeInterval(
        Self.seconds * Double(number) / Double(Self.commandCount))
      Thread.sleep(until: due)
      let device = number % devices.count
      let session = generator.below(Self.sessionCount)
      let own = waiting[device][session]
      let choice = generator.below(10)
      let answer: String
      if own.isEmpty || choice < 4 && own.count < Self.waitingMax {
        let id = String(format: "00000000-0000-4000-8000-%012x", number)
        answer = try devices[device].request(
          "POST", "/v1/sessions/s\(session)/queue",
          #"{"id":"\#(id)","text":"\#(text(&generator))"}"#)
        if Self.isDone(answer) { waiting[device][session].append(id) }
      } else if choice < 7 {
        answer = try devices[device].request(
          "PUT", "/v1/messages/\(own[generator.below(own.count)])/content",
          #"{"content":"\#(text(&generator))"}"#)
      } else {
        let id = waiting[device][session].remove(at: generator.below(own.count))
        answer = try devices[device].request(
          "POST", "/v1/messages/cancel", #"{"ids":["\#(id)"]}"#)
      }
      if !Self.isDone(answer) { refused += 1 }
    }
    try BenchFailure.require(
      refused < Self.commandCount / 100, "\(Self.name): \(refused) commands were refused")
  }

  private static func isDone(_ answer: String) -> Bool { answer.hasPrefix("HTTP/1.1 2") }

  private func text(_ generator: inout SeededGenerator) -> String {
    let writer = PromptWriter()
    var text = ""
    while text.count < Self.textCharacters { text += writer.prompt(using: &generator) + " " }
    return String(text.prefix(Self.textCharacters))
  }
}
