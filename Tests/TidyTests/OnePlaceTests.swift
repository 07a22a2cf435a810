import Testing

/// Facts that are in only one place of the product.
@Suite struct OnePlaceTests {
  /// The daemon has a route of the same path.
  @Test(arguments: ["/v1/sync", "cospool.v1"])
  func whereDevicesReachAServer(word: String) throws {
    let files = try Repository.swiftFiles().filter { file in
      !file.path.hasPrefix("Tests/") && !file.path.hasPrefix("Protocol/LocalAPI/")
        && SwiftText.literals(file.text).contains(word)
    }
    #expect(files.map(\.path) == ["Sources/Basics/SyncEndpoint.swift"])
  }

  /// `ExitStatus` has a name for each code.
  @Test func exitCodesHaveNames() throws {
    for file in try Repository.swiftFiles() where !file.path.hasPrefix("Tests/") {
      for match in file.code.matches(of: /\b(?:exitCode: |exit\()[1-9][0-9]*/) {
        Issue.record("\(file.path): \(match.output)")
      }
    }
  }
}
