import Foundation
import QueueModel
import SequenceCRDT
import ServerCore
import ServerStore
import SyncServer
import WireProtocol

/// A paired device with the batches that it will send.
struct FleetSeed {
  var device: DeviceID
  var name: String
  var workspaceID: WorkspaceID
  var token: [UInt8]
  var replica: ReplicaID
  /// Packed deltas, in order. The first announces the device and queues a prompt; each later one
  /// types one character at that prompt's end.
  var deltas: [[UInt8]] = []
  /// The device's state after the first delta.
  var workspace = Workspace()

  /// Its prompt after this number of batches was sent.
  func text(sent: Int) -> String {
    "a prompt of \(name)" + String(repeating: ".", count: max(0, sent - 1))
  }
}

/// Makes devices known to a server's store while no server runs with it.
enum FleetSeeds {
  /// - Parameter characters: the number of one-character edits that each device will send.
  static func pair(
    devices: Int, perWorkspace: Int, characters: Int, directory: String
  ) throws -> [FleetSeed] {
    let database = try ServerDatabase.open(directory: directory, for: .administration)
    let now = Int64(Date().timeIntervalSince1970 * 1_000)
    let seeds = try (0..<devices).map { number in
      try pair(number, inWorkspace: number / perWorkspace, database, at: now)
    }
    try database.close()
    return try seeds.enumerated().map { number, seed in
      try working(seed, number: UInt64(number), characters: characters, at: now)
    }
  }

  private static func pair(
    _ number: Int, inWorkspace workspace: Int, _ database: ServerDatabase, at now: Int64
  ) throws -> FleetSeed {
    var generator = SystemRandomNumberGenerator()
    let code = secretHash(Array("code \(number)".utf8))
    let token = (0..<32).map { _ in UInt8.random(in: .min ... .max, using: &generator) }
    let id = try database.addPairingCode(
      hash: code,
      for: WorkspaceProposal(
        name: "workspace \(workspace)", id: WorkspaceID(randomUsing: &generator),
        firstChain: generator.next(), createdAt: now),
      expiresAt: now + 600_000)
    let device = DeviceID(randomUsing: &generator)
    let name = "device \(number)"
    let outcome = try database.redeem(
      CodeRedemption(
        codeHash: code, device: device, deviceName: name, tokenHash: secretHash(token),
        wallMilliseconds: now, failuresMax: 5, devicesMax: Limits.devicesMax))
    guard case .granted = outcome else { throw BenchFailure("\(name) was not paired: \(outcome)") }
    return FleetSeed(
      device: device, name: name, workspaceID: id, token: token,
      replica: ReplicaID(rawValue: UInt64.random(in: 1...UInt64.max, using: &generator)))
  }

  private static func working(
    _ seed: FleetSeed, number: UInt64, characters: Int, at now: Int64
  ) throws -> FleetSeed {
    var seed = seed
    var clock = HybridClock()
    var workspace = Workspace()
    var operations = workspace.announce(
      device: seed.device, name: seed.name, replica: seed.replica)
    func perform(_ command: Command) throws -> [QueueModel.Operation] {
      let context = CommandContext(
        replica: seed.replica, stamp: clock.tick(milliseconds: now),
        queueSizeMax: Limits.queueSizeRange.upperBound)
      return try workspace.perform(command, in: context).operations
    }
    let message = MessageID(high: 0x4000, low: number)
    operations += try perform(
      .send(
        Command.Send(session: SessionID("session-\(number)"), id: message, text: seed.text(sent: 1))
      ))
    seed.deltas = [PackedDelta.pack(operations)]
    seed.workspace = workspace
    for number in 0..<characters {
      let text = seed.text(sent: number + 2)
      let edit = try perform(.edit(message, content: text, base: nil))
      seed.deltas.append(PackedDelta.pack(edit))
    }
    return seed
  }

  /// Gives a device batches of one command, sends and moves, until it has this number of
  /// operations.
  static func occupy(_ seed: inout FleetSeed, operations: Int) throws {
    var clock = HybridClock(latest: seed.workspace.latestStamp)
    var made = 0
    var number: UInt64 = 0
    while made < operations {
      number += 1
      let id = MessageID(high: 0x4001, low: number)
      let send = Command.Send(
        session: try SessionID("session-\(number % 10)"), id: id, text: "prompt number \(number)")
      for command in [Command.send(send), .move([id], to: .position(1))] {
        let context = CommandContext(
          replica: seed.replica,
          stamp: clock.tick(milliseconds: seed.workspace.latestStamp.milliseconds),
          queueSizeMax: Limits.queueSizeRange.upperBound)
        let work = try seed.workspace.perform(command, in: context).operations
        guard !work.isEmpty else { continue }
        seed.deltas.append(PackedDelta.pack(work))
        made += work.reduce(0) { $0 + $1.length }
      }
    }
  }
}
