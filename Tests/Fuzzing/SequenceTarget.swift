import SyncTestSupport

/// The bytes are the decisions of a program of edits; the engine must equal the explicit tree.
enum SequenceTarget {
  static func run(_ bytes: [UInt8]) throws(FuzzFinding) {
    let bounds = SequenceProgram.Bounds(unitsMax: 120, interval: 4)
    var program = SequenceProgram(Choices(bytes: bytes), bounds: bounds)
    try require("seen beside the tree") { try program.run() }
  }
}
