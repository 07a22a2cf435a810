import DeltaCodec
import QueueModel
import QueueOracle
import SequenceCRDT
import SyncTestSupport

/// A delta that decodes must encode, and decode to the same units. A delta that merges must leave a
/// sound workspace that equals the oracle's, in any order.
enum DeltaTarget {
  /// Small, so that one input stays quick; other tests check the limits.
  private static let budget = DecodingBudget(rowsMax: 2_000, itemsMax: 6_000, replicasMax: 200)
  /// Larger deltas are not compared with the oracle, which is slow.
  private static let oracleUnitsMax = 400

  static func run(_ bytes: [UInt8]) throws(FuzzFinding) {
    guard let operations = try? DeltaCodec.decode(bytes, budget: budget) else { return }
    try checkRoundTrip(operations)
    guard operations.reduce(0, { $0 + $1.length }) <= oracleUnitsMax else { return }
    try checkMerge(operations)
  }

  static func checkRoundTrip(_ operations: [Operation]) throws(FuzzFinding) {
    let encoded = DeltaCodec.encode(operations)
    let again = try require("the encoded delta does not decode") {
      try DeltaCodec.decode(encoded)
    }
    try require("another delta comes back", units(of: again) == units(of: operations))
    try require("encoding again gives other bytes", DeltaCodec.encode(again) == encoded)
  }

  /// The operations unit by unit, wherever they are cut.
  private static func units(of operations: [Operation]) -> [Operation] {
    operations.flatMap(\.units)
  }

  private static func checkMerge(_ operations: [Operation]) throws(FuzzFinding) {
    let base = FuzzFixture.workspace
    var workspace = base
    let outcome: Workspace.MergeOutcome
    do {
      outcome = try workspace.merge(operations)
    } catch {
      try require(
        "a refused delta changed something",
        workspace.image().isExactlyEqual(to: base.image()) && workspace.pendingOperations.isEmpty)
      return
    }
    try checkSound(workspace)
    guard outcome.waiting == 0, outcome.duplicates == 0, haveOwnIDs(operations) else { return }
    let state = SlowWorkspace(FuzzFixture.operations + operations).state()
    let details = state.differences(from: workspace) + state.imageDifferences(from: workspace)
    try require("not what the oracle says: \(details.prefix(3))", details.isEmpty)
    var reversed = base
    for operation in operations.reversed() {
      _ = try require("refused in reverse order") { try reversed.merge([operation]) }
    }
    try require(
      "another state in reverse order", reversed.image().isExactlyEqual(to: workspace.image()))
  }

  static func checkSound(_ workspace: Workspace) throws(FuzzFinding) {
    try require("unsound after a merge") { try workspace.checkInvariants() }
    let image = workspace.image()
    let restored = try require("its image is refused") { try Workspace(image: image) }
    try require("another image comes back", restored.image().isExactlyEqual(to: image))
    let bytes = SnapshotCodec.encode(image)
    let decoded = try require("its snapshot does not decode") { try SnapshotCodec.decode(bytes) }
    try require("another snapshot comes back", decoded.isExactlyEqual(to: image))
  }

  /// Whether no id is used twice: otherwise the first one wins, and the order matters.
  private static func haveOwnIDs(_ operations: [Operation]) -> Bool {
    var seen: Set<OperationID> = []
    for operation in operations {
      for distance in 0..<operation.length {
        guard let id = operation.id.advanced(by: distance), seen.insert(id).inserted else {
          return false
        }
      }
    }
    return true
  }
}
