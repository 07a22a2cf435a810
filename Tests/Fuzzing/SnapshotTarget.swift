import DeltaCodec
import QueueModel
import QueueOracle
import SequenceCRDT
import SyncTestSupport

/// A snapshot that decodes must encode, and decode to the same image. A workspace that accepts it
/// must be sound, survive another snapshot, join another state with the same result from either
/// side, and accept any further command.
enum SnapshotTarget {
  private static let budget = DecodingBudget(rowsMax: 5_000, itemsMax: 20_000, replicasMax: 200)

  static func run(_ bytes: [UInt8]) throws(FuzzFinding) {
    guard let image = try? SnapshotCodec.decode(bytes, budget: budget) else { return }
    let encoded = SnapshotCodec.encode(image)
    let again = try require("the encoded snapshot does not decode") {
      try SnapshotCodec.decode(encoded)
    }
    try require("another image comes back", again.isExactlyEqual(to: image))
    try require("encoding again gives other bytes", SnapshotCodec.encode(again) == encoded)
    let joined = try? image.joined(with: FuzzFixture.diverged)
    guard let workspace = try? Workspace(image: image) else { return }
    try checkJoined(joined, of: image)
    try DeltaTarget.checkSound(workspace)
    try work(in: workspace, seed: hash(of: bytes))
  }

  /// Whether a workspace accepts the joined state of two that it accepts.
  private static func checkJoined(
    _ joined: WorkspaceImage?, of image: WorkspaceImage
  ) throws(FuzzFinding) {
    let turned = try? FuzzFixture.diverged.joined(with: image)
    try require("joined from one side alone", (joined == nil) == (turned == nil))
    guard let joined, let turned else { return }
    try require("another state from the other side", joined.isExactlyEqual(to: turned))
    _ = try require("the joined state is refused") { try Workspace(image: joined) }
  }

  /// A few commands and a merge, drawn from the bytes; refusals are fine.
  private static func work(in workspace: Workspace, seed: UInt64) throws(FuzzFinding) {
    var generator = SeededGenerator(seed: seed)
    var commands = CommandGenerator()
    var editors: CommandGenerator.OpenEditors = [:]
    var device = TestDevice(0x77)
    let announcement = device.made
    device.workspace = workspace
    guard device.workspace.vector[device.replica] == 0 else { return }
    _ = try require("an announcement is refused") { try device.merge(announcement) }
    for _ in 0..<6 {
      let command = commands.command(
        for: device.workspace, editors: &editors, using: &generator)
      _ = try? device.perform(command)
    }
    _ = try? device.merge(FuzzFixture.operations)
    try DeltaTarget.checkSound(device.workspace)
  }

  /// FNV-1a: any number that depends on all bytes.
  private static func hash(of bytes: [UInt8]) -> UInt64 {
    bytes.reduce(0xCBF2_9CE4_8422_2325) { ($0 ^ UInt64($1)) &* 0x100_0000_01B3 }
  }
}
