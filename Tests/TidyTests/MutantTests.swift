import Testing

/// The bugs that `Tests/Scripts/mutants.sh` plants (`Tests/Mutants`) have their places in the
/// sources.
@Suite struct MutantTests {
  @Test func everyMutantHasItsPlaceOnce() throws {
    let mutants = Repository.files(in: "Tests/Mutants").filter { $0.hasSuffix(".mutant") }
    #expect(mutants.count >= 12)
    for mutant in mutants {
      let lines = try Repository.text(mutant).split(separator: "\n")
      func field(_ name: String) -> Substring? {
        lines.first { $0.hasPrefix("\(name): ") }?.dropFirst(name.count + 2)
      }
      let file = try #require(field("file"), "\(mutant)")
      let place = try #require(field("find"), "\(mutant)")
      let found = try Repository.text(String(file)).split(separator: "\n").count { $0 == place }
      #expect(found == 1, "\(mutant): its place is \(found) times in \(file)")
    }
  }
}
