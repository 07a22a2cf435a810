import Foundation
import Testing

/// REQUIREMENTS.md has every number and names only tests that exist. Each requirement that asks for
/// a test by name has one with its number in a comment.
@Suite struct RequirementTests {
  static let document = "Tests/REQUIREMENTS.md"

  /// How many numbers each part has.
  static let parts: [(name: String, count: Int)] = [
    ("S0", 74), ("S1", 31), ("S2", 103), ("S3", 59), ("C", 17), ("S4", 53), ("N", 14),
  ]

  /// Those that must have a test by name.
  static let tested: Set<String> = Set(
    (70...74).map { "S0-\($0)" } + (26...30).map { "S1-\($0)" } + ["S2-31", "S2-33", "S2-103"]
      + (59...83).map { "S2-\($0)" } + (37...47).map { "S3-\($0)" }
      + (49...59).map { "S3-\($0)" } + ["S4-53"])

  /// One row of the table.
  struct Row {
    var number: String
    var isTested: Bool
    var asks: String
    var shown: String
    /// `Suite.test` words.
    var tests: [String]
    /// `cospool …` words.
    var commands: [String]

    /// nil if it is not a requirement's row.
    init?(_ cells: [String]) {
      guard cells.count == 4, cells[0].wholeMatch(of: #/(S[0-4]|C|N)-\d+/#) != nil else {
        return nil
      }
      number = cells[0]
      isTested = cells[1] == "T"
      asks = cells[2]
      shown = cells[3]
      let words = Markdown.codeWords(cells[3]).sorted()
      tests = words.filter { $0.wholeMatch(of: #/[A-Z]\w+\.[a-z]\w+/#) != nil }
      commands = words.filter { $0.hasPrefix("cospool") }
    }

    /// Whether it is open because nothing is built yet, or decided.
    var isOpen: Bool { shown.contains("later: ") }
    var isDecided: Bool { shown.hasPrefix("decided: ") }
  }

  static func rows() throws -> [Row] {
    Markdown.tableRows(in: try Repository.text(document)).compactMap(Row.init)
  }

  /// A test function with the comments right above it and in it.
  struct Function {
    var name: String
    var suite: String
    var numbers: Set<String>
  }

  /// Every test function of the project, by `Suite.test`; read once.
  static func functions() throws -> [String: Function] { try readFunctions.get() }

  private static let readFunctions = Result { () throws -> [String: Function] in
    var functions: [String: Function] = [:]
    for file in try Repository.swiftFiles() where file.path.hasPrefix("Tests/") {
      for function in RequirementTests.functions(in: file.text) {
        functions["\(function.suite).\(function.name)", default: function].numbers
          .formUnion(function.numbers)
      }
    }
    return functions
  }

  /// The test functions of a file. A comment belongs to the function after it or around it;
  /// comments above the first function also belong to that.
  static func functions(in text: String) -> [Function] {
    var functions: [Function] = []
    var suite = ""
    var comments: Set<String> = []
    var isAboveFunction = true
    for line in text.split(separator: "\n", omittingEmptySubsequences: false) {
      let bare = line.drop { $0 == " " }
      if bare.hasPrefix("//") {
        let numbers = self.numbers(in: String(bare))
        if isAboveFunction {
          comments.formUnion(numbers)
        } else if !functions.isEmpty {
          // Inside a body, or above the next function: it counts for both.
          functions[functions.count - 1].numbers.formUnion(numbers)
          comments.formUnion(numbers)
        }
      } else if bare.utf8.last == UInt8(ascii: "{"),
        let match = bare.firstMatch(of: #/(?:struct|class|extension|enum) ([A-Z]\w*)/#),
        !bare.hasPrefix("private"), match.1.hasSuffix("Tests")
      {
        suite = String(match.1)
        comments = []
        isAboveFunction = true
      } else if bare.hasPrefix("@Test") || bare.hasPrefix("func "),
        let match = bare.firstMatch(of: #/^(?:@Test.* )?func (\w+)/#)
      {
        functions.append(Function(name: String(match.1), suite: suite, numbers: comments))
        comments = []
        isAboveFunction = false
      } else if bare.hasPrefix("@Test") {
        isAboveFunction = true
      } else if bare.isEmpty {
        comments = []
        isAboveFunction = true
      }
    }
    return functions
  }

  /// The requirement numbers in a comment; `S2-63 to S2-65` names three.
  static func numbers(in comment: String) -> Set<String> {
    // Most comments have no number, and patterns take much longer than this check.
    guard comment.utf8.contains(UInt8(ascii: "-")) else { return [] }
    var numbers = Set(comment.matches(of: #/\b(?:S[0-4]|C|N)-\d+\b/#).map { String($0.output) })
    for range in comment.matches(of: #/\b(S[0-4]|C|N)-(\d+) to (S[0-4]|C|N)-(\d+)\b/#) {
      guard range.1 == range.3, let first = Int(range.2), let last = Int(range.4), first <= last
      else { continue }
      numbers.formUnion((first...last).map { "\(range.1)-\($0)" })
    }
    return numbers
  }

  @Test func everyNumberHasOneRow() throws {
    let expected = Self.parts.flatMap { part in (1...part.count).map { "\(part.name)-\($0)" } }
    #expect(try Self.rows().map(\.number) == expected)
  }

  @Test func everyRowIsShownDecidedOrLater() throws {
    for row in try Self.rows() {
      #expect(!row.asks.isEmpty, "\(row.number) asks nothing")
      #expect(
        !row.tests.isEmpty || !row.commands.isEmpty || row.isOpen || row.isDecided,
        "\(row.number) is shown by nothing: \(row.shown)")
    }
  }

  @Test func namedTestsExist() throws {
    let functions = try Self.functions()
    let text = try Repository.text(Self.document)
    let named = Markdown.tableRows(in: text).flatMap { $0.flatMap(Markdown.codeWords) }
      .filter { $0.wholeMatch(of: #/[A-Z]\w+Tests\.[a-z]\w+/#) != nil }
    #expect(named.count > 100)
    for test in Set(named) { #expect(functions[test] != nil, "there is no test \(test)") }
    // The check above must also find a misspelt suite.
    for row in try Self.rows() {
      for test in row.tests { #expect(test.contains("Tests."), "\(row.number): \(test)") }
    }
  }

  @Test func testedRowsHaveATestWithTheirNumber() throws {
    let functions = try Self.functions()
    for row in try Self.rows() {
      #expect(row.isTested == Self.tested.contains(row.number), "\(row.number): the T is wrong")
      guard row.isTested, !row.isOpen else { continue }
      #expect(!row.tests.isEmpty, "\(row.number) needs a test")
      for test in row.tests {
        #expect(
          functions[test]?.numbers.contains(row.number) == true, "\(test) has no // \(row.number)")
      }
    }
  }

  @Test func commentsNameNumbersThatExist() throws {
    let known = Set(try Self.rows().map(\.number))
    for file in try Repository.swiftFiles() where !file.path.hasPrefix("Tests/TidyTests/") {
      for comment in SwiftText.comments(file.text) {
        for number in Self.numbers(in: comment) {
          #expect(known.contains(number), "\(file.path) names \(number)")
        }
      }
    }
  }

  @Test func functionsCarryTheCommentsAboveAndInThem() {
    let text = """
      /// S0-1 is about something else.
      struct OneTests {
        // S2-1, S2-3 to S2-5.
        @Test func first() {
          // C-2
          run()
        }

        @Test(arguments: [1])
        func second() {}
      }
      """
    let functions = Self.functions(in: text)
    #expect(functions.map(\.name) == ["first", "second"])
    #expect(functions.map(\.suite) == ["OneTests", "OneTests"])
    #expect(functions.map(\.numbers) == [["S2-1", "S2-3", "S2-4", "S2-5", "C-2"], []])
  }
}
