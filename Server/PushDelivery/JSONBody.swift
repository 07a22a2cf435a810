import Foundation

/// A JSON object that somebody else's server sent. What is missing or of another type reads as nil.
struct JSONBody {
  private let fields: [String: Any]

  init(_ bytes: [UInt8]) {
    // A body that is no JSON says nothing; the status still does.
    let read = try? JSONSerialization.jsonObject(with: Data(bytes))
    fields = read as? [String: Any] ?? [:]
  }

  func text(_ name: String) -> String? { fields[name] as? String }

  func integer(_ name: String) -> Int64? {
    guard let number = fields[name] as? NSNumber else { return nil }
    return Int64(exactly: number)
  }
}

/// JSON that is sent: sorted, so that the same notice is the same bytes.
enum JSONText {
  static func bytes(_ value: some Encodable) throws -> [UInt8] {
    let encoder = JSONEncoder()
    encoder.outputFormatting = [.sortedKeys, .withoutEscapingSlashes]
    return Array(try encoder.encode(value))
  }
}
