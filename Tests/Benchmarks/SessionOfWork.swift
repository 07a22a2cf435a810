import DeltaCodec
import Foundation
import QueueModel
import QueueOracle
import SequenceCRDT
import SyncTestSupport
import WireProtocol

/// A thousand commands of three devices, drawn from a seed: their size as deltas, and the size of
/// the same commands as compressed JSON.
struct SessionOfWork {
  static let commandCount = 1_000
  private static let seed: UInt64 = 0x5E55_1011
  private static let sessionNames = ["api", "ios-app", "website", "docs", "release"]

  /// Bytes of all deltas as they are sent, envelopes included.
  private(set) var deltaBytes = 0
  /// Bytes of the same deltas if each author's connection deflated them as one stream, with a
  /// window of this number of bits; with 0 bits, without deflating.
  private(set) var windowBytes: [Int32: Int] = [0: 0, 12: 0, 15: 0]
  /// Bytes of the commands as JSON, each compressed with zlib on its own.
  private(set) var jsonBytes = 0
  /// Every operation of the session, in the order it was made.
  private(set) var operations: [QueueModel.Operation] = []

  private let commandsPerDelta: Int
  private var windows: [Int32: [DeflateWindow]] = [:]
  private var devices: [TestDevice]
  private var unsent: [[QueueModel.Operation]] = [[], [], []]
  private var unsentCommands = [0, 0, 0]
  private var generator = SeededGenerator(seed: seed)
  private var cancelled: [MessageID] = []
  private let prompts = PromptWriter()

  /// Works until all commands are done.
  ///
  /// - Parameter commandsPerDelta: 1 if the devices stay connected; more if each is offline for
  ///   this number of its own commands, and then sends them together.
  /// - Throws: the errors of the engine, and `BenchFailure` if the devices end up different.
  init(commandsPerDelta: Int = 1) throws {
    self.commandsPerDelta = commandsPerDelta
    devices = (1...3).map { number in
      TestDevice(
        0x9E37_79B9_7F4A_7C15 &* number, queueSizeMax: Limits.queueSizeRange.upperBound)
    }
    for bits in windowBytes.keys where bits > 0 {
      windows[bits] = try devices.map { _ in try DeflateWindow(bits: bits) }
    }
    let announcements = devices.flatMap(\.made)
    for index in devices.indices { try devices[index].merge(announcements) }
    var done = 0
    while done < SessionOfWork.commandCount {
      if try step() { done += 1 }
    }
    for author in devices.indices { try send(from: author) }
    let dumps = devices.map { PackedSnapshot.pack($0.workspace.image()) }
    try BenchFailure.require(
      dumps.allSatisfy { $0 == dumps[0] }, "the devices of the session do not agree")
  }

  /// One command on one device.
  ///
  /// - Returns: whether it had an effect.
  private mutating func step() throws -> Bool {
    let author = generator.below(devices.count)
    devices[author].now += Int64(1_000 + generator.below(30_000))
    guard let command = drawCommand(for: devices[author].workspace) else { return false }
    // A device refuses what it does not know yet, as with users; another command is drawn.
    guard let outcome = try? devices[author].perform(command),
      let first = outcome.operations.first
    else { return false }
    let json = CommandJSON(command, operation: first.id, milliseconds: devices[author].now)
    jsonBytes += try SystemZlib.compressedCount(json.bytes)
    operations += outcome.operations
    unsent[author] += outcome.operations
    unsentCommands[author] += 1
    if unsentCommands[author] >= commandsPerDelta { try send(from: author) }
    return true
  }

  /// Sends everything that a device has made to the others, in one delta.
  private mutating func send(from author: Int) throws {
    guard !unsent[author].isEmpty else { return }
    let delta = PackedDelta.pack(unsent[author])
    deltaBytes += delta.count
    let body = DeltaCodec.encode(unsent[author])
    windowBytes[0, default: 0] += body.count + 4
    for (bits, streams) in windows {
      windowBytes[bits, default: 0] += try streams[author].bytes(of: body)
    }
    unsent[author] = []
    unsentCommands[author] = 0
    for index in devices.indices where index != author {
      try devices[index].merge(PackedDelta.unpack(delta))
    }
  }

  private enum Kind {
    case send, edit, move, cancel, restore, setPriority, pause, resume, moveThread, removeThread
  }

  private static let weights: [(weight: Int, value: Kind)] = [
    (40, .send), (18, .edit), (16, .move), (8, .cancel), (2, .restore), (5, .setPriority),
    (2, .pause), (2, .resume), (5, .moveThread), (2, .removeThread),
  ]

  /// nil if the drawn kind has nothing to act on.
  private mutating func drawCommand(for workspace: Workspace) -> Command? {
    let kind = generator.pick(weighted: SessionOfWork.weights)
    let session = SessionID.named(
      SessionOfWork.sessionNames[generator.below(SessionOfWork.sessionNames.count)])
    let waiting = (try? workspace.messageQueue(session))?.messages ?? []
    let threads = workspace.threadQueue().threads
    switch kind {
    case .send:
      return .send(
        Command.Send(
          session: session, id: MessageID(randomUsing: &generator),
          text: prompts.prompt(using: &generator),
          priority: generator.chance(10) ? .urgent : .normal))
    case .edit:
      guard let message = generator.pick(waiting) else { return nil }
      return .edit(
        message.id, content: prompts.correction(of: message.content, using: &generator),
        base: try? workspace.editBase(message.id))
    case .move:
      guard waiting.count > 1, let message = generator.pick(waiting) else { return nil }
      return .move([message.id], to: .position(1 + generator.below(waiting.count)))
    case .cancel:
      guard let message = generator.pick(waiting) else { return nil }
      cancelled.append(message.id)
      return .cancel([message.id])
    case .restore: return generator.pick(cancelled).map { .restore($0) }
    case .setPriority:
      return generator.pick(waiting).map {
        .setPriority($0.id, $0.priority == .urgent ? .normal : .urgent)
      }
    case .pause:
      return waiting.isEmpty ? nil : .pause(session, reason: "waiting for the review")
    case .resume: return waiting.isEmpty ? nil : .resume(session)
    case .moveThread:
      return generator.pick(threads).map {
        .moveThread($0.session, to: 1 + generator.below(threads.count))
      }
    case .removeThread: return generator.pick(threads).map { .removeThreads([$0.session]) }
    }
  }
}
