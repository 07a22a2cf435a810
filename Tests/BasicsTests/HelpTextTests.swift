import Basics
import Testing

/// Help is wrapped once, at the width of the terminal.
@Suite struct HelpTextTests {
  private static let help = """
    OVERVIEW: What it is for.

    EXAMPLES
      tool add one                    adds it
      tool add two --and --more       adds the other one, and says what was there before it
                                      and what is there now

    Whoever reads this on a narrow terminal, and on a
    wide one, is shown one paragraph.

    USAGE: tool add <what> [--and] [--more] [--very-long-option <value>] [--another <value>]

    OPTIONS:
      --and                   Adds it and something else that has a long description.
    """

  @Test func proseIsJoinedAndWrappedOnce() {
    let lines = HelpText.wrapped(Self.help, width: 60).split(separator: "\n").map(String.init)
    #expect(
      lines.contains("Whoever reads this on a narrow terminal, and on a wide one,"))
    #expect(lines.contains("is shown one paragraph."))
    #expect(lines.contains("EXAMPLES") && lines.contains("OPTIONS:"))
  }

  @Test func longLinesContinueBelowTheirBeginning() {
    let lines = HelpText.wrapped(Self.help, width: 60).split(separator: "\n").map(String.init)
    let column = String(repeating: " ", count: 34)
    #expect(lines.contains("  tool add two --and --more       adds the other one, and"))
    #expect(lines.contains(column + "says what was there before"))
    #expect(lines.contains(column + "it"))
    #expect(lines.contains(column + "and what is there now"))
    #expect(lines.contains("  --and                   Adds it and something else that"))
    #expect(lines.contains(String(repeating: " ", count: 26) + "has a long description."))
  }

  @Test func linesThatFitAreNotWrapped() {
    let wide = HelpText.wrapped(Self.help, width: 200)
    #expect(wide.contains("on a narrow terminal, and on a wide one, is shown one paragraph.\n"))
    #expect(wide.contains("  tool add one                    adds it\n"))
  }

  @Test(arguments: [1, 30, 41, 80, .max])
  func noLineIsWiderAndNoWordIsLost(width: Int) {
    let wrapped = HelpText.wrapped(Self.help, width: width)
    for line in wrapped.split(separator: "\n") where !line.hasPrefix("USAGE:") {
      #expect(line.count <= max(width, 30), "\(line)")
    }
    #expect(wrapped.split { $0.isWhitespace } == Self.help.split { $0.isWhitespace })
  }

  @Test func longWordsStayWhole() {
    let word = String(repeating: "x", count: 90)
    #expect(
      HelpText.wrapped("OVERVIEW: \(word) b\n\n  \(word)", width: 40)
        == "OVERVIEW:\n\(word)\nb\n\n  \(word)")
  }

  /// Scripts for shells and errors are not wrapped.
  @Test(arguments: ["", "{\n  \"a\": 1\n}", "#!/bin/sh\na\nb", "Error: no\nUsage: tool"])
  func textsOtherThanHelpAreNotWrapped(text: String) {
    #expect(HelpText.wrapped(text, width: 10) == text)
  }
}
