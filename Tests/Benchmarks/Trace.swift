import Foundation

/// One edit: at a scalar offset, `deleted` scalars are removed, then `inserted` is added.
struct Patch: Decodable, Equatable {
  var position: Int
  var deleted: Int
  var inserted: String

  init(position: Int, deleted: Int, inserted: String) {
    self.position = position
    self.deleted = deleted
    self.inserted = inserted
  }

  init(from decoder: any Decoder) throws {
    var fields = try decoder.unkeyedContainer()
    position = try fields.decode(Int.self)
    deleted = try fields.decode(Int.self)
    inserted = try fields.decode(String.self)
    guard position >= 0, deleted >= 0, fields.isAtEnd else {
      throw DecodingError.dataCorruptedError(
        in: fields, debugDescription: "a patch is [position, deleted, inserted]")
    }
  }
}

/// The edits of one author, each on the result of those before.
struct SequentialTrace: Equatable {
  var patches: [Patch]
  /// The final text.
  var endContent: String
}

/// The edits of several authors; each knows the merge of its parents.
struct ConcurrentTrace: Equatable {
  struct Transaction: Decodable, Equatable {
    /// Indices of earlier transactions.
    var parents: [Int]
    var agent: Int
    var patches: [Patch]
  }

  var transactions: [Transaction]
  var agentCount: Int
  var endContent: String
}

/// Reads files of the data set "editing-traces".
enum TraceFile {
  /// - Throws: `BenchFailure` that names the file.
  static func sequential(_ name: String, in folder: String) throws -> SequentialTrace {
    let path = path(name, in: folder)
    return try naming(path) { try sequential(gzipped: bytes(at: path)) }
  }

  /// - Throws: `BenchFailure` that names the file.
  static func concurrent(_ name: String, in folder: String) throws -> ConcurrentTrace {
    let path = path(name, in: folder)
    return try naming(path) { try concurrent(gzipped: bytes(at: path)) }
  }

  static func sequential(gzipped bytes: [UInt8]) throws -> SequentialTrace {
    let file = try decode(SequentialFile.self, gzipped: bytes)
    var patches = file.txns.flatMap(\.patches)
    if !file.startContent.isEmpty {
      patches.insert(Patch(position: 0, deleted: 0, inserted: file.startContent), at: 0)
    }
    return SequentialTrace(patches: patches, endContent: file.endContent)
  }

  static func concurrent(gzipped bytes: [UInt8]) throws -> ConcurrentTrace {
    let file = try decode(ConcurrentFile.self, gzipped: bytes)
    for (index, transaction) in file.txns.enumerated() {
      try BenchFailure.require(
        transaction.parents.allSatisfy { (0..<index).contains($0) },
        "transaction \(index) has a parent that does not come before it")
      try BenchFailure.require(
        (0..<file.numAgents).contains(transaction.agent),
        "transaction \(index) is by agent \(transaction.agent) of \(file.numAgents)")
    }
    return ConcurrentTrace(
      transactions: file.txns, agentCount: file.numAgents, endContent: file.endContent)
  }

  private struct SequentialFile: Decodable {
    struct Transaction: Decodable {
      var patches: [Patch]
    }

    var startContent: String
    var endContent: String
    var txns: [Transaction]
  }

  private struct ConcurrentFile: Decodable {
    var endContent: String
    var numAgents: Int
    var txns: [ConcurrentTrace.Transaction]
  }

  private static func path(_ name: String, in folder: String) -> String {
    "\(folder)/\(name).json.gz"
  }

  private static func bytes(at path: String) throws -> [UInt8] {
    guard let data = FileManager.default.contents(atPath: path) else {
      throw BenchFailure("it cannot be read")
    }
    return Array(data)
  }

  private static func decode<File: Decodable>(
    _ type: File.Type, gzipped bytes: [UInt8]
  ) throws -> File {
    try JSONDecoder().decode(type, from: Data(SystemZlib.gunzip(bytes)))
  }

  private static func naming<Value>(_ path: String, _ read: () throws -> Value) throws -> Value {
    do {
      return try read()
    } catch {
      throw BenchFailure("the trace \(path): \(error)")
    }
  }
}
