package import LocalAPI

/// Bodies of requests to the local API, as agents, pages and programs send them: the first line is
/// the id of a route, the rest is its body.
package enum RequestTarget {
  private static let types: [String: any APIValue.Type] = Dictionary(
    uniqueKeysWithValues: Route.all.compactMap { route in
      switch route.body {
      case .fields(let type, _, _), .document(let type, _): (route.id, type)
      case .bytes, nil: nil
      }
    })

  /// The request of an input; nil if it names no route with a body.
  ///
  /// - Throws: as the daemon refuses it.
  package static func decoded(_ bytes: [UInt8]) throws -> (any APIValue)? {
    let name = bytes.prefix { $0 != UInt8(ascii: "\n") }
    guard let type = types[String(decoding: name, as: UTF8.self)] else { return nil }
    return try StrictDecoder.decode(type, from: Array(bytes.dropFirst(name.count)))
  }

  static func run(_ bytes: [UInt8]) throws(FuzzFinding) {
    do {
      _ = try decoded(bytes)
    } catch StrictDecoder.Fault.unknownField(let field, _) {
      try require("an unknown field without its place", field.contains("line"))
    } catch {
      // Refused with its place, or because of a rule of its type.
      try require("a refusal that says nothing", !"\(error)".isEmpty)
    }
  }
}
