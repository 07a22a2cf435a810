import SyncTestSupport

/// The bytes are the decisions of a program of edits; the engine must follow the explicit tree.
enum SequenceTarget {
  static func run(_ bytes: [UInt8]) throws(FuzzFinding) {
    var program = SequenceProgram(Choices(bytes: bytes))
    try require("seen beside the tree") { try program.run() }
  }
}
