import Foundation
import Testing

/// Commands in the documents exist. EndToEndTests, which have the executables, check the
/// subcommands and options.
@Suite struct ReadmeTests {
  static let documents = ["README.md", "ARCHITECTURE.md", "CHANGELOG.md"]

  static func makeTargets() throws -> Set<String> {
    Set(
      try Repository.text("Makefile").split(separator: "\n").compactMap { line in
        guard let colon = line.firstIndex(of: ":"), line.first?.isLowercase == true else {
          return nil
        }
        return String(line[..<colon])
      })
  }

  /// The targets named as `make x` in code blocks or in backticks.
  static func namedTargets(in text: String) -> Set<String> {
    let spans = Markdown.codeLines(in: text) + Markdown.codeWords(text)
    return Set(
      spans.flatMap { span -> [String] in
        let words = span.split { $0 == " " || $0 == ";" || $0 == "&" }.map(String.init)
        return zip(words, words.dropFirst()).compactMap { command, target in
          command == "make" && target.first?.isLowercase == true ? target : nil
        }
      })
  }

  @Test(arguments: documents) func makeTargetsExist(document: String) throws {
    let targets = try Self.makeTargets()
    for name in Self.namedTargets(in: try Repository.text(document)) {
      #expect(targets.contains(name), "\(document) names make \(name)")
    }
  }

  @Test func readmeNamesTheStableTargets() throws {
    let named = Self.namedTargets(in: try Repository.text("README.md"))
    #expect(named.isSuperset(of: ["setup", "run", "demo", "test"]))
  }

  @Test(arguments: documents) func executablesExist(document: String) throws {
    let products = Set(try PackageManifest.rooms().compactMap(\.product))
    #expect(products.isSuperset(of: ["cospool", "cospoold", "cospool-server"]))
    for line in Markdown.codeLines(in: try Repository.text(document)) {
      var words = line.split(separator: " ").map(String.init)
      if words.first == "$" { words.removeFirst() }
      guard let first = words.first?.split(separator: "/").last, first.hasPrefix("cospool"),
        // A program's name before a colon is output, and runs nothing.
        !first.hasSuffix(":")
      else { continue }
      #expect(products.contains(String(first)), "\(document) runs \(first)")
    }
  }

  @Test(
    arguments: documents + [
      "Server/OPERATIONS.md", "Protocol/MERGING.md", "Protocol/THREAT-MODEL.md", "Client/FAQ.md",
      "Client/TOUR.md", "Client/INSTALLING.md", "Client/COMMANDS.md", "Client/PAGE.md",
      "Client/SyncClient/README.md", "Tests/README.md",
    ])
  func linkedFilesExist(document: String) throws {
    let text = try Repository.text(document)
    let folder = document.split(separator: "/").dropLast().map { $0 + "/" }.joined()
    for part in text.components(separatedBy: "](").dropFirst() {
      let link = part.prefix { $0 != ")" && $0 != "#" }
      guard !link.isEmpty, !link.contains("://") else { continue }
      #expect(Repository.exists(folder + link), "\(document) links to \(link)")
    }
  }

  @Test func buildMachineRunsEverything() throws {
    let script = try Repository.text(".ci/run")
    #expect(script.contains("make setup") && script.contains("make test"))
    #expect(script.contains("set -euo pipefail"))
  }

  @Test func readmeIsShort() throws {
    let lines = try Repository.text("README.md").split(
      separator: "\n", omittingEmptySubsequences: false)
    #expect(lines.count <= 131, "README.md convinces in a minute: 130 lines; pages have the rest")
  }

  @Test func changelogIsShort() throws {
    let lines = try Repository.text("CHANGELOG.md").split(
      separator: "\n", omittingEmptySubsequences: false)
    #expect(lines.count <= 103, "CHANGELOG.md tells users what a version is, in 102 lines")
  }

  @Test func namedTargetsAreFound() {
    let text = """
      Run `make setup && make test` once.
      ```
      make demo
      $ cospool status
      ```
      Do not make trouble.
      """
    #expect(Self.namedTargets(in: text) == ["setup", "test", "demo"])
  }
}
