import Foundation

/// One file of test vectors under `Protocol/TestVectors`.
///
/// To write the files again from the values in the tests, run `COSPOOL_WRITE_VECTORS=1 swift test
/// --filter VectorTests`, and then once more without the variable; the second run must pass.
struct VectorFile: Codable {
  struct Vector: Codable {
    var name: String
    var description: String
    /// The value in words, one line for each operation.
    var value: [String]
    /// The uncompressed body, if there is an envelope.
    var body: String?
    /// The bytes as sent.
    var bytes: String
  }

  var about: String
  var vectors: [Vector]

  static var isWriting: Bool {
    ProcessInfo.processInfo.environment["COSPOOL_WRITE_VECTORS"] == "1"
  }

  static func url(_ name: String) -> URL {
    URL(filePath: #filePath).deletingLastPathComponent().deletingLastPathComponent()
      .deletingLastPathComponent().appending(path: "Protocol/TestVectors/" + name)
  }

  static func read(_ name: String) throws -> VectorFile {
    try JSONDecoder().decode(VectorFile.self, from: Data(contentsOf: url(name)))
  }

  func write(_ name: String) throws {
    let encoder = JSONEncoder()
    encoder.outputFormatting = [.prettyPrinted, .sortedKeys, .withoutEscapingSlashes]
    try (encoder.encode(self) + Data("\n".utf8)).write(to: VectorFile.url(name))
  }

  /// The bytes of every vector of the files, by name.
  static func allBytes(_ names: [String]) throws -> [(name: String, bytes: [UInt8])] {
    try names.flatMap { try read($0).vectors }.map { ($0.name, Hex.decode($0.bytes) ?? []) }
  }
}
