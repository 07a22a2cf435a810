import Foundation

/// A JSON object from a third-party server. Missing fields and other types read as nil.
struct JSONBody {
  private let fields: [String: Any]

  init(_ bytes: [UInt8]) {
    // A body that is not JSON has no fields; the status still counts.
    let read = try? JSONSerialization.jsonObject(with: Data(bytes))
    fields = read as? [String: Any] ?? [:]
  }

  func text(_ name: String) -> String? { fields[name] as? String }

  func integer(_ name: String) -> Int64? {
    guard let number = fields[name] as? NSNumber else { return nil }
    return Int64(exactly: number)
  }
}

/// JSON to send: with sorted keys, so that the same notice gives the same bytes.
enum JSONText {
  static func bytes(_ value: some Encodable) throws -> [UInt8] {
    let encoder = JSONEncoder()
    encoder.outputFormatting = [.sortedKeys, .withoutEscapingSlashes]
    return Array(try encoder.encode(value))
  }
}
