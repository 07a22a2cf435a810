import Testing

/// Each room imports only what the table allows.
@Suite struct ImportTests {
  @Test func roomsImportWhatTheTableAllows() throws {
    for file in try Repository.swiftFiles() {
      guard let rule = RoomTable.rules.first(where: { $0.folder == file.folder }) else { continue }
      let allowed = rule.rooms.union(rule.foreign).union(rule.system)
      for module in Imports.modules(in: file.code) {
        #expect(allowed.contains(module), "\(file.path) imports \(module)")
      }
    }
  }

  @Test func testsImportWhatTheirTargetNames() throws {
    let targets = try PackageManifest.rooms().filter { $0.path.hasPrefix("Tests/") }
    for file in try Repository.swiftFiles() {
      guard let target = targets.first(where: { $0.path == file.folder }) else { continue }
      let allowed = target.rooms.union(target.foreign).union(RoomTable.testSystem)
      for module in Imports.modules(in: file.code) {
        #expect(allowed.contains(module), "\(file.path) imports \(module)")
      }
    }
  }

  @Test func oneFileTouchesZlib() throws {
    let files = try Repository.swiftFiles().filter {
      !$0.path.hasPrefix("Tests/") && Imports.modules(in: $0.code).contains("CZlib")
    }
    #expect(files.count <= 1, "CZlib is imported by \(files.map(\.path))")
    #expect(files.allSatisfy { $0.folder == "Protocol/\(RoomTable.zlibRoom)" })
  }

  @Test func onlyStoresHoldSQL() throws {
    for file in try Repository.swiftFiles() where !file.path.hasPrefix("Tests/") {
      guard let rule = RoomTable.rules.first(where: { $0.folder == file.folder }), !rule.mayHoldSQL
      else { continue }
      for literal in SwiftText.literals(file.text) {
        #expect(!SQL.isStatement(literal), "\(file.path) holds SQL: \(literal.prefix(60))")
      }
    }
  }

  @Test func importsAreFoundInAllTheirForms() {
    let code = """
      import Plain
      package import Packaged
      @testable import Tested
      @preconcurrency public import Old
      import struct Foundation.URL
        internal import Inner
      let important = 1
      """
    #expect(
      Imports.modules(in: code) == ["Plain", "Packaged", "Tested", "Old", "Foundation", "Inner"])
  }

  @Test func statementsAreRecognised() {
    #expect(SQL.isStatement("SELECT a FROM b"))
    #expect(SQL.isStatement("\n  INSERT INTO b VALUES (?)"))
    #expect(SQL.isStatement("PRAGMA journal_mode = WAL"))
    #expect(!SQL.isStatement("Select a message from the list."))
  }
}

/// Reads import lines.
enum Imports {
  /// The modules imported by `code`, in order.
  static func modules(in code: String) -> [String] {
    code.split(separator: "\n").compactMap { line in
      let words = line.split(separator: " ")
      guard let index = words.firstIndex(of: "import"), index + 1 < words.count,
        words[..<index].allSatisfy({ $0.hasPrefix("@") || accessLevels.contains(String($0)) })
      else { return nil }
      var name = words[index + 1]
      if kinds.contains(String(name)), index + 2 < words.count { name = words[index + 2] }
      return name.split(separator: ".").first.map(String.init)
    }
  }

  private static let accessLevels: Set = [
    "public", "package", "internal", "fileprivate", "private",
  ]
  private static let kinds: Set = [
    "struct", "class", "enum", "protocol", "func", "var", "let", "typealias",
  ]
}

/// Recognises SQL by its first words, which the stores write in capitals.
enum SQL {
  static func isStatement(_ literal: String) -> Bool {
    let words = literal.split { $0 == " " || $0 == "\n" }.prefix(2)
    guard let first = words.first, words.count == 2 else { return false }
    return [
      "SELECT", "INSERT", "UPDATE", "DELETE", "CREATE", "DROP", "ALTER", "PRAGMA", "REPLACE",
    ].contains(first)
  }
}
