import Testing

/// Files and functions stay short enough to be read in one go.
@Suite struct LengthTests {
  static let fileLinesMax = 500
  static let functionLinesMax = 70

  @Test func filesAreShort() throws {
    for file in try Repository.swiftFiles() {
      let lines = file.text.split(separator: "\n", omittingEmptySubsequences: false).count - 1
      #expect(lines <= Self.fileLinesMax, "\(file.path) has \(lines) lines")
    }
  }

  @Test func functionsAreShort() throws {
    for file in try Repository.swiftFiles() {
      for function in FunctionLengths.functions(in: file.code) {
        #expect(
          function.length <= Self.functionLinesMax,
          "\(file.path):\(function.line) \(function.name) has \(function.length) lines")
      }
    }
  }
}
