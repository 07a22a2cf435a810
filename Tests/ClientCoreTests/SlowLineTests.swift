import ClientCore
import QueueModel
import SequenceCRDT
import SyncTestSupport
import Testing
import WireProtocol

/// Lines with a slow upload. The server's frames arrive at once.
struct SlowLineTests {
  /// A device, its line, and the model server behind it.
  private struct Scene {
    var fleet: Fleet
    let bytesPerSecond: Int
    let latency: Int64
    /// The frames on their way, in order, and when they arrive.
    var line: [(frame: Frame, at: Int64)] = []
    var freeAt: Int64 = 0
    /// How long the slowest request was on its way.
    var slowestRequest: Int64 = 0
    var stops = 0
    private var generator = SeededGenerator(seed: 3)

    /// - Parameter latency: milliseconds.
    init(bytesPerSecond: Int, latency: Int64 = 0) throws {
      self.bytesPerSecond = bytesPerSecond
      self.latency = latency
      fleet = try Fleet(devices: 1)
      fleet.follows = true
      try fleet.start()
    }

    var core: ClientCore { fleet.devices[0].core }

    /// The device hosts a session whose agent works on a message.
    mutating func beginRun() throws {
      let session = SessionID.named("s")
      try fleet.perform(.addSession(session, name: nil, project: nil), on: 0)
      try fleet.perform(.setHost(session, fleet.devices[0].id), on: 0)
      try fleet.perform(.send("work", as: 1, in: "s"), on: 0)
      fleet.note(0) { core, context, store in
        core.executionStarted(
          ExecutionSettings(), loaded: store.loaded.execution, deadAgents: [], at: context,
          store: store)
      }
      try fleet.settle()
      #expect(core.running[session] != nil)
    }

    /// Queues messages that do not compress.
    mutating func write(messages count: UInt64, of length: Int) throws {
      for number in 0..<count {
        let text = String(
          String.UnicodeScalarView(
            (0..<length).map { _ in Unicode.Scalar(UInt8(33 + generator.below(94))) }))
        try fleet.perform(.send(text, as: 100 + number, in: "t"), on: 0)
      }
    }

    /// Lets time pass, at most until everything is in sync.
    ///
    /// - Returns: the time that passed.
    mutating func passUntilSynced(within milliseconds: Int64) throws -> Int64 {
      let (start, end) = (fleet.now, fleet.now + milliseconds)
      while true {
        takeActions()
        let next = min(line.first?.at ?? .max, core.deadline ?? .max)
        guard next <= end, !core.isSynced || !line.isEmpty else { break }
        fleet.now = max(fleet.now, next)
        fleet.server.milliseconds = fleet.wall
        if let first = line.first, first.at <= fleet.now {
          line.removeFirst()
          let frame = try FrameCodec.decode(FrameCodec.encode(first.frame))
          for answer in try fleet.server.receive(frame, from: fleet.devices[0].id).answers {
            fleet.deliver(answer, to: 0)
          }
        } else {
          fleet.note(0) { $0.timePassed(at: $1, store: $2) }
          if core.deadline == next { fleet.now += 1 }
        }
      }
      return fleet.now - start
    }

    private mutating func takeActions() {
      for action in fleet.devices[0].actions {
        switch action {
        case .send(_, let frame):
          let bytes = FrameCodec.encode(frame).count
          freeAt = max(freeAt, fleet.now) + Int64(bytes) * 1_000 / Int64(bytesPerSecond)
          line.append((frame, freeAt + latency))
          if case .request = frame {
            slowestRequest = max(slowestRequest, freeAt + latency - fleet.now)
          }
        case .agent(.stop): stops += 1
        case .report(let problem): fleet.devices[0].reports.append(problem)
        default: break
        }
      }
      fleet.devices[0].actions = []
    }
  }

  /// The upload takes more than half a minute; a host renews its lease within ten seconds or stops
  /// its agent.
  @Test(arguments: [(16, 20_000), (32, 20_000), (32, 200_000), (64, 100_000)])
  func aLeaseIsRenewedWhileMuchGoesUp(kibibytesPerSecond: Int, length: Int) throws {
    var scene = try Scene(bytesPerSecond: kibibytesPerSecond << 10)
    try scene.beginRun()
    try scene.write(messages: UInt64(kibibytesPerSecond * 45_000 / length), of: length)
    let passed = try scene.passUntilSynced(within: 120_000)
    #expect(scene.core.isSynced && passed > 30_000)
    #expect(scene.stops == 0 && scene.core.running[.named("s")] != nil)
    #expect(scene.slowestRequest < 10_000)
    #expect(scene.fleet.devices[0].reports.isEmpty)
    try scene.fleet.settle()
    try scene.fleet.expectConvergence()
  }

  /// The amount of data on its way grows with the line, so that a line with a long delay is fully
  /// used.
  @Test func aFastLineWithALongWayIsFilled() throws {
    var scene = try Scene(bytesPerSecond: 4 << 20, latency: 100)
    try scene.write(messages: 40, of: 100_000)
    let passed = try scene.passUntilSynced(within: 60_000)
    #expect(scene.core.isSynced)
    #expect(passed < 2_500, "\(passed) milliseconds for what takes the line 800")
  }
}
