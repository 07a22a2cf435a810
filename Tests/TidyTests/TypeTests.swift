import Testing

/// A type is small enough to be read, its name means one thing, and says it in the field's words.
@Suite struct TypeTests {
  /// Lines of a type over all its extensions in a room.
  private static let linesMax = 1_000
  private static let storedPropertiesMax = 15

  /// Types that are larger. A number here only goes down; new ones are not added.
  private static let largeTypes: [String: Int] = [:]
  /// Types that store more. A number here only goes down; new ones are not added.
  private static let wideTypes: [String: Int] = [:]
  /// Commands of two programs, each named as what it does there.
  private static let namesInTwoRooms: Set<String> = [
    "LogCommand", "PairCommand", "StatusCommand",
  ]

  /// Furniture, and words that stand for everything and nothing.
  private static let replacedWords = [
    "Book", "Desk", "Shelf", "Keeper", "Gear", "Census", "Seat", "Trouble", "Hindrance", "Defect",
    "Occasion", "Moment", "Sought", "Standing", "Objection", "Matter",
  ]

  @Test func typesAreSmall() throws {
    var lines: [String: Int] = [:]
    for block in try TypeBlock.all() { lines["\(block.room).\(block.type)", default: 0] += block.lines }
    for (type, count) in lines.sorted(by: { $0.key < $1.key }) {
      let limit = TypeTests.largeTypes[type] ?? TypeTests.linesMax
      #expect(count <= limit, "\(type) has \(count) lines, and may have \(limit)")
    }
    for type in TypeTests.largeTypes.keys {
      #expect(lines[type, default: 0] > TypeTests.linesMax, "\(type) is small now: no exception")
    }
  }

  @Test func typesStoreLittle() throws {
    var stored: [String: Int] = [:]
    for block in try TypeBlock.all() {
      stored["\(block.room).\(block.type)", default: 0] += block.storedProperties
    }
    for (type, count) in stored.sorted(by: { $0.key < $1.key }) {
      let limit = TypeTests.wideTypes[type] ?? TypeTests.storedPropertiesMax
      #expect(count <= limit, "\(type) has \(count) stored properties, and may have \(limit)")
    }
    for type in TypeTests.wideTypes.keys {
      #expect(
        stored[type, default: 0] > TypeTests.storedPropertiesMax, "\(type) is narrow now: no exception")
    }
  }

  @Test func noTypeNameStandsInTwoRooms() throws {
    var rooms: [String: Set<String>] = [:]
    for block in try TypeBlock.all() where block.isDeclaration && !block.isPrivate {
      rooms[block.type, default: []].insert(block.room)
    }
    for (type, rooms) in rooms where rooms.count > 1 {
      #expect(
        TypeTests.namesInTwoRooms.contains(type), "\(type) stands in \(rooms.sorted())")
    }
  }

  @Test func typesAreNamedInTheFieldsWords() throws {
    for file in try Repository.swiftFiles() where !file.path.hasPrefix("Tests/") {
      for line in file.code.split(separator: "\n") {
        guard let name = TypeBlock.declaredName(in: line) else { continue }
        for word in TypeTests.replacedWords {
          #expect(!name.hasSuffix(word) && !name.hasPrefix(word), "\(file.path) declares \(name)")
        }
      }
    }
  }
}

/// A declaration at the top level of a file: a type, or an extension of one.
private struct TypeBlock {
  var room: String
  var type: String
  var isDeclaration: Bool
  var isPrivate: Bool
  var lines: Int
  var storedProperties: Int

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
    var blocks: [TypeBlock] = []
    var open: TypeBlock?
    for line in code.split(separator: "\n", omittingEmptySubsequences: false) {
      if open == nil, let first = line.first, first != " ", first != "}" {
        let words = line.split { $0 == " " || $0 == ":" || $0 == "<" || $0 == "{" || $0 == "." }
        if let name = declaredName(in: line) {
          open = TypeBlock(
            room: room, type: name, isDeclaration: true,
            isPrivate: words.contains("private") || words.contains("fileprivate"), lines: 0,
            storedProperties: 0)
        } else if let index = words.firstIndex(of: "extension"), index + 1 < words.count,
          words[..<index].allSatisfy(modifiers.contains)
        {
          open = TypeBlock(
            room: room, type: String(words[index + 1]), isDeclaration: false, isPrivate: false,
            lines: 0, storedProperties: 0)
        }
      }
      open?.lines += 1
      if isStoredProperty(line) { open?.storedProperties += 1 }
      if let block = open, line.hasPrefix("}") || block.lines == 1 && line.hasSuffix("}") {
        blocks.append(block)
        open = nil
      }
    }
    return blocks
  }

  /// Whether a line declares a stored property of the type at the top level.
  private static func isStoredProperty(_ line: Substring) -> Bool {
    guard line.hasPrefix("  "), !line.hasPrefix("   ") else { return false }
    let words = line.split(separator: " ")
    guard let keyword = words.firstIndex(where: { $0 == "let" || $0 == "var" }),
      !words[..<keyword].contains("static")
    else { return false }
    return !line.hasSuffix("{") && !(line.contains("{ ") && !line.contains("="))
  }
}
