import Testing

/// The name of a type means one thing.
@Suite struct TypeTests {
  @Test func noTypeNameIsInTwoRooms() throws {
    var rooms: [String: Set<String>] = [:]
    for block in try TypeBlock.all() where !block.isPrivate {
      rooms[block.type, default: []].insert(block.room)
    }
    for (type, rooms) in rooms where rooms.count > 1 {
      Issue.record("\(type) stands in \(rooms.sorted())")
    }
  }
}

/// A type that is declared at the top level of a file.
private struct TypeBlock {
  var room: String
  var type: String
  var isPrivate: Bool

  private static let modifiers: Set<Substring> = [
    "public", "package", "internal", "private", "fileprivate", "final", "indirect", "nonisolated",
  ]
  private static let kinds: Set<Substring> = ["struct", "enum", "class", "actor", "protocol"]

  /// All of the product's files.
  static func all() throws -> [TypeBlock] {
    let rooms = try PackageManifest.rooms().filter { !$0.isTest }
    var blocks: [TypeBlock] = []
    for file in try Repository.swiftFiles() {
      guard let room = rooms.first(where: { file.path.hasPrefix($0.path + "/") }),
        !room.path.hasPrefix("Tests/")
      else { continue }
      blocks += read(file.code, room: room.name)
    }
    return blocks
  }

  /// The name that a line declares a type under, if it does.
  static func declaredName(in line: Substring) -> String? {
    let words = line.split { $0 == " " || $0 == ":" || $0 == "<" || $0 == "{" }
    guard let kind = words.firstIndex(where: kinds.contains), kind + 1 < words.count,
      words[..<kind].allSatisfy(modifiers.contains)
    else { return nil }
    return String(words[kind + 1])
  }

  private static func read(_ code: String, room: String) -> [TypeBlock] {
    code.split(separator: "\n").compactMap { line in
      guard line.first != " ", let name = declaredName(in: line) else { return nil }
      let words = line.split(separator: " ")
      return TypeBlock(
        room: room, type: name,
        isPrivate: words.contains("private") || words.contains("fileprivate"))
    }
  }
}
