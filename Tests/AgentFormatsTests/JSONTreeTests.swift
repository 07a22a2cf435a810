import AgentFormats
import Testing

@Suite struct JSONTreeTests {
  private func tree(_ text: String) -> JSONTree? { JSONTree(Array(text.utf8)) }

  @Test func depthIsBounded() {
    func nested(_ depth: Int) -> String {
      String(repeating: "[", count: depth) + String(repeating: "]", count: depth)
    }
    #expect(tree(nested(JSONTree.depthMax)) != nil)
    #expect(tree(nested(JSONTree.depthMax + 1)) == nil)
    // Brackets inside a string do not nest.
    let text = String(repeating: "[{", count: 200) + #"\" [ \\"#
    #expect(tree("[\"" + text + "\"]")?.elements.count == 1)
  }

  /// Agents may write any text, and reading it must never take long.
  @Test func deepTextsTakeNoLongerThanFlatOnes() {
    func seconds(_ part: String) -> Double {
      let count = (64 << 10) / part.utf8.count
      let text = "[" + Array(repeating: part, count: count).joined(separator: ",") + "]"
      let time = ContinuousClock().measure { #expect(tree(text)?.elements.count == count) }
      return Double(time.components.seconds) + Double(time.components.attoseconds) / 1e18
    }
    let deep = String(repeating: "[", count: 90) + String(repeating: "]", count: 90)
    let flat = seconds("\"" + String(repeating: "a", count: (64 << 10) - 2) + "\"")
    #expect(seconds(deep) < 0.2 + 10 * flat, "a flat text takes \(flat) s")
  }

  @Test(arguments: [
    (#""a\"\\\/\b\f\n\r\t\u0041\ud83d\ude00é""#, "a\"\\/\u{8}\u{C}\n\r\tA😀é"), (#""""#, ""),
    (#""\u00e9x""#, "éx"), (#""\ud83d""#, nil), (#""\ud83dx""#, nil), (#""\ude00""#, nil),
    (#""\ud83d\ud83d""#, nil), (#""\x""#, nil), (#""\u12g4""#, nil), (#""a"#, nil),
    ("\"\u{1}\"", nil),
    (#""\"#, nil),
  ])
  func textsAreRead(text: String, value: String?) {
    #expect(tree(text)?.text == value, "\(text)")
  }

  @Test(arguments: [
    "", " ", "[1,]", "{\"a\":1,}", "[,]", "[1 2]", "{\"a\" 1}", "{1:2}", "{", "[", "[1}", "1 2",
    "tru",
    "nulls", "01", "1.", ".5", "+1", "-", "1e", "1e+", "NaN", "1e400", "\u{A0}1", "[\u{C}1]", "'a'",
  ])
  func invalidJSONIsNotAValue(text: String) {
    #expect(tree(text) == nil, "\(text)")
  }

  @Test func valuesAreRead() {
    let text = "\u{FEFF} {\"a\" : [ 1 , -2.5e1, true,false ,null,\"\"],\r\n\t\"b\":{}} "
    #expect(tree(text) == ["a": [1, .number(-25), true, false, .null, ""], "b": [:]])
    #expect(tree(#"{"a":1,"a":2}"#) == ["a": 1], "the first counts")
    #expect(tree("1e16") == .whole(10_000_000_000_000_000))
  }

  private static let twins: [(String, Bool)] = [
    (#"{"command":"ls","command":"rm -rf /"}"#, true), (#"[1,{"a":{"b":1,"c":[],"b":{}}}]"#, true),
    (#"{"a":1,"\u0061":2}"#, true), ("{\"caf\u{E9}\":1,\"cafe\u{301}\":2}", true),
    ("{\"api\u{212A}ey\":1,\"apiKey\":2}", true), (#"{"a\"b":1,"a\"b":2}"#, true),
    (#"{"a":{"a":["a","a",{"a":"a"}]},"b":{"a":1},"A":"b"}"#, false), (#"["a","a"]"#, false),
    (#"{"a":"{\"a\":1,\"a\":2}","b":"a\",\"a"}"#, false), ("{}", false), (#""a""#, false),
  ]

  /// If a name occurs twice, one program takes the first value, another the last: a person would
  /// read one, and the tool would get the other.
  @Test(arguments: twins)
  func duplicateNamesAreNotAValue(text: String, isRefused: Bool) {
    #expect((JSONTree(Array(text.utf8), isShown: true) == nil) == isRefused, "\(text)")
    #expect(tree(text) != nil, "\(text)")
  }

  /// A person would read a different number from the one that the tool gets.
  @Test(arguments: [
    ("9223372036854775807", true), ("-9223372036854775808", true), ("9223372036854775808", false),
    ("18446744073709551617", false), ("9007199254740993.0", false), ("100000000000000000.5", false),
    ("0.1000000000000000055", false), ("0.30000000000000004", true), ("0.1", true), ("1e20", true),
    ("-1.50e-7", true), ("1e-400", false), ("1e400", false), ("0", true),
    ("0.0", true), (#""18446744073709551617 \" 1e400""#, true),
  ])
  func ambiguousNumbersAreNotAValue(number: String, isTaken: Bool) {
    for text in [number, "[\(number)]", "{\"a\":\(number) }", "[true,\(number),null]"] {
      #expect((JSONTree(Array(text.utf8), isShown: true) != nil) == isTaken, "\(text)")
    }
  }

  @Test func bytesThatAreNotTextAreNotAValue() {
    let bytes = Array("\"ls ".utf8) + [0xFF] + Array("\"".utf8)
    #expect(JSONTree(bytes)?.text == "ls \u{FFFD}")
    #expect(JSONTree(bytes, isShown: true) == nil)
  }

  /// Ids of requests keep their exact form.
  @Test func wholeNumbersStayWhatTheyAre() {
    for text in ["0", "-7", "9007199254740993", "-9007199254740993", "9223372036854775807"] {
      #expect(tree(text)?.line == text)
      #expect(tree(text)?.integer == Int64(text))
    }
    #expect(tree("1") == 1)
    #expect(tree("1.5")?.line == "1.5")
  }

  @Test func questionsAreReadAndAnswered() throws {
    let one = try #require(
      tree(
        #"{"questions":[{"question":"Which?","options":[{"label":"A"},{"label":"B"}]}],"x":1}"#))
    let read = try #require(ClaudeQuestions(one))
    #expect(read.text == "Which?" && read.options == ["A", "B"])
    #expect(
      ClaudeQuestions.answered(one, with: "B")["answers"] == ["Which?": "B"])
    #expect(ClaudeQuestions.answered(one, with: "B")["x"] == 1)
    let two = try #require(
      tree(
        #"{"questions":[{"question":"a","options":[{"label":"A"}]},{"question":"b"}]}"#))
    #expect(ClaudeQuestions(two)?.text == "a\nb" && ClaudeQuestions(two)?.options == [])
    for odd in [#"{}"#, #"{"questions":[]}"#, #"{"questions":[{"header":"x"}]}"#, "[]"] {
      #expect(ClaudeQuestions(tree(odd)) == nil, "\(odd)")
    }
  }
}
