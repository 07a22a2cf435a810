import Testing

/// The folders, Package.swift, the table of rooms and ARCHITECTURE.md agree.
@Suite struct RoomTests {
  @Test func everyFolderHasItsRoom() throws {
    let known = Set(try PackageManifest.rooms().map(\.path) + Repository.foldersWithoutRoom)
    for top in Repository.codeFolders {
      for entry in try Repository.entries(of: top) where Repository.isDirectory("\(top)/\(entry)") {
        #expect(known.contains("\(top)/\(entry)"), "\(top)/\(entry) belongs to no room")
      }
    }
  }

  @Test func everyRoomHasItsFolder() throws {
    for room in try PackageManifest.rooms() {
      #expect(!Repository.files(in: room.path).isEmpty, "\(room.path) is empty")
    }
  }

  /// Targets have unique names in a whole graph of packages, and `make consumer` has two packages
  /// in one.
  @Test func theAppOutsideHasATargetOfItsOwn() throws {
    let text = try Repository.text("Tests/Consumer/Package.swift")
    let name = try #require(text.firstMatch(of: #/Target\(\s+name: "([^"]+)"/#)?.1)
    let rooms = try PackageManifest.rooms().map(\.name)
    #expect(rooms.contains("Consumer") && !rooms.contains(String(name)), "\(name)")
  }

  @Test func nothingElseIsAtTheTop() throws {
    for entry in try Repository.entries(of: ".") {
      #expect(Repository.topLevel.contains(entry), "\(entry) has no place at the top")
    }
  }

  @Test func packageAndTableAgree() throws {
    let declared = try PackageManifest.rooms().filter { !$0.path.hasPrefix("Tests/") }
    #expect(declared.map(\.name).sorted() == RoomTable.rules.map(\.name).sorted())
    for room in declared {
      let rule = try #require(RoomTable.rules.first { $0.name == room.name })
      #expect(rule.folder == room.path)
      #expect(rule.rooms == room.rooms, "rooms of \(room.name)")
      #expect(rule.foreign == room.foreign, "foreign products of \(room.name)")
    }
  }

  @Test func theArrowsHaveNoCycle() throws {
    var placed: Set<String> = []
    for rule in RoomTable.rules {
      #expect(
        rule.rooms.isSubset(of: placed),
        "\(rule.name) imports a room that stands below it in the table")
      placed.insert(rule.name)
    }
  }

  @Test func everyRoomHasItsTests() throws {
    let tests = Set(try PackageManifest.rooms().filter(\.isTest).map(\.name))
    // Tests of other rooms compare with the oracle; `Platform` only has imports.
    let testedByOthers: Set = ["SyncServerCommand", "CZlib", "QueueOracle", "Platform"]
    for rule in RoomTable.rules where !testedByOthers.contains(rule.name) {
      #expect(tests.contains(rule.name + "Tests"), "\(rule.name) has no tests")
    }
  }

  @Test func architectureShowsTheTable() throws {
    let rows = Markdown.tableRows(in: try Repository.text("ARCHITECTURE.md"))
    for rule in RoomTable.rules {
      let row = try #require(
        rows.first { $0.first == "`\(rule.name)`" }, "ARCHITECTURE.md has no row \(rule.name)")
      try #require(row.count >= 3)
      #expect(Markdown.codeWords(row[1]) == rule.rooms, "rooms of \(rule.name)")
      #expect(Markdown.codeWords(row[2]) == rule.foreign, "foreign modules of \(rule.name)")
    }
  }
}
