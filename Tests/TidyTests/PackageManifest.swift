import Foundation

/// The rooms as Package.swift declares them, read from its text.
enum PackageManifest {
  struct Room: Equatable {
    var name: String
    var path: String
    var rooms: Set<String>
    var foreign: Set<String>
    /// The executable's product name.
    var product: String?
    var isTest: Bool { path.hasPrefix("Tests/") && product == nil }
  }

  static func rooms() throws -> [Room] {
    rooms(in: try Repository.text("Package.swift"))
  }

  static func rooms(in text: String) -> [Room] {
    guard let start = text.range(of: "let rooms: [Room] = ["),
      let end = text.range(of: "\n]", range: start.upperBound..<text.endIndex)
    else { return [] }
    let list = String(text[start.upperBound..<end.lowerBound])
    return entries(of: list, opening: "Room(").compactMap(library)
      + entries(of: list, opening: "test(").compactMap(test)
  }

  /// The argument lists of every call of `opening` in `text`.
  private static func entries(of text: String, opening: String) -> [String] {
    var found: [String] = []
    var rest = text[...]
    while let call = rest.range(of: opening) {
      var depth = 1
      var index = call.upperBound
      while index < rest.endIndex, depth > 0 {
        if rest[index] == "(" { depth += 1 }
        if rest[index] == ")" { depth -= 1 }
        index = rest.index(after: index)
      }
      found.append(String(rest[call.upperBound..<index].dropLast()))
      rest = rest[index...]
    }
    return found
  }

  private static func library(_ arguments: String) -> Room? {
    guard let name = strings(after: "name:", in: arguments).first,
      let path = strings(after: "path:", in: arguments).first
    else { return nil }
    return Room(
      name: name, path: path, rooms: list(after: "rooms:", in: arguments),
      foreign: list(after: "foreign:", in: arguments),
      product: strings(after: "product:", in: arguments).first)
  }

  private static func test(_ arguments: String) -> Room? {
    guard let name = strings(after: "", in: arguments).first else { return nil }
    let parts = arguments.components(separatedBy: "foreign:")
    return Room(
      name: name, path: "Tests/\(name)", rooms: list(after: ",", in: parts[0]),
      foreign: parts.count > 1 ? list(after: "", in: parts[1]) : [], product: nil)
  }

  private static func strings(after label: String, in text: String) -> [String] {
    let start = label.isEmpty ? text.startIndex : text.range(of: label)?.upperBound
    guard let start else { return [] }
    let parts = text[start...].split(separator: "\"", omittingEmptySubsequences: false)
    return stride(from: 1, to: parts.count, by: 2).map { String(parts[$0]) }
  }

  private static func list(after label: String, in text: String) -> Set<String> {
    let start = label.isEmpty ? text.startIndex : text.range(of: label)?.upperBound
    guard let start, let open = text[start...].firstIndex(of: "["),
      let close = text[open...].firstIndex(of: "]")
    else { return [] }
    return Set(strings(after: "", in: String(text[open...close])))
  }
}
