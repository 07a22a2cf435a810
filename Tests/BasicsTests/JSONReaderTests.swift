import Foundation
import Testing

@testable import Basics

@Suite struct JSONReaderTests {
  private func read(_ text: String) throws -> PositionedJSON {
    try JSONReader.read(Array(text.utf8))
  }

  private func expectError(
    _ text: String, at line: Int, _ column: Int, _ part: String,
    _ location: SourceLocation = #_sourceLocation
  ) {
    expectError(Array(text.utf8), at: line, column, part, location)
  }

  private func expectError(
    _ bytes: [UInt8], at line: Int, _ column: Int, _ part: String,
    _ location: SourceLocation = #_sourceLocation
  ) {
    do {
      let json = try JSONReader.read(bytes)
      Issue.record("it was read as \(json)", sourceLocation: location)
    } catch {
      #expect(
        error.position == TextPosition(line: line, column: column), "\(error)",
        sourceLocation: location)
      #expect(error.message.contains(part), "\(error)", sourceLocation: location)
    }
  }

  @Test func everyKindOfValueIsRead() throws {
    #expect(try read("null").value == .null)
    #expect(try read(" true ").value == .boolean(true))
    #expect(try read("\n\tfalse\r\n").value == .boolean(false))
    #expect(try read("\"a\"").value == .string("a"))
    #expect(try read("[]").value == .array([]))
    #expect(try read("{ }").value == .object([]))
    for number in ["0", "-0", "12", "-12.50", "1e9", "2E-3", "0.1e+2"] {
      #expect(try read(number).value == .number(number))
    }
  }

  @Test func valuesKnowTheirPlaces() throws {
    let json = try read("{\n  \"a\": [1,\n 22, \"ü👩‍👩‍👧‍👦\", true]}")
    guard case .object(let members) = json.value, case .array(let elements) = members[0].value.value
    else { return #expect(Bool(false), "\(json)") }
    #expect(json.position == TextPosition(line: 1, column: 1))
    #expect(members[0].position == TextPosition(line: 2, column: 3))
    #expect(members[0].value.position == TextPosition(line: 2, column: 8))
    #expect(
      elements.map(\.position) == [
        TextPosition(line: 2, column: 9), TextPosition(line: 3, column: 2),
        // The family emoji is seven scalars.
        TextPosition(line: 3, column: 6), TextPosition(line: 3, column: 18),
      ])
  }

  @Test func escapesAreRead() throws {
    #expect(
      try read(#""\"\\\/\b\f\n\r\t\u0041\u00e9\uD83D\uDE00\u0000""#).value
        == .string("\"\\/\u{8}\u{C}\n\r\tA\u{E9}😀\u{0}"))
  }

  @Test func keysKeepTheirOrderAndOccurOnce() throws {
    guard case .object(let members) = try read(#"{"b":1,"a":2,"\u00e9":3,"e\u0301":4}"#).value
    else { return #expect(Bool(false)) }
    #expect(members.map(\.key.unicodeScalars.count) == [1, 1, 1, 2])
    expectError("{\"a\": 1,\n \"b\": 2, \"a\": 3}", at: 2, 10, "second time")
    expectError(#"{"a":1,"\u0061":2}"#, at: 1, 8, "second time")
  }

  @Test func faultsAreFoundAtTheirPlaces() {
    expectError("", at: 1, 1, "end of the text")
    expectError("  \n ", at: 2, 2, "end of the text")
    expectError("{} {}", at: 1, 4, "after the value")
    expectError("[1, 2,]", at: 1, 7, "expected a value, not ']'")
    expectError("[1 2]", at: 1, 4, "',' or ']'")
    expectError("{\"a\" 1}", at: 1, 6, "':'")
    expectError("{\"a\":1,}", at: 1, 8, "a key in quotes")
    expectError("{a:1}", at: 1, 2, "a key in quotes")
    expectError("{\"a\":1 \"b\":2}", at: 1, 8, "',' or '}'")
    expectError("[1", at: 1, 3, "the end of the text")
    expectError("[\"ab", at: 1, 2, "not closed")
    expectError("tru", at: 1, 1, "neither true")
    expectError("nul", at: 1, 1, "neither true")
    expectError("'a'", at: 1, 1, "expected a value")
    expectError("// no\n1", at: 1, 1, "expected a value")
    expectError("\u{FEFF}1", at: 1, 1, "not ASCII")
    expectError("NaN", at: 1, 1, "expected a value")
  }

  @Test func numbersAreWrittenAsTheRFCSays() {
    expectError("01", at: 1, 2, "not written as JSON")
    expectError("-", at: 1, 2, "expected a digit after '-'")
    expectError("-a", at: 1, 2, "expected a digit after '-'")
    expectError("1.", at: 1, 3, "the decimal point")
    expectError("1.e1", at: 1, 3, "the decimal point")
    expectError("1e", at: 1, 3, "exponent")
    expectError("+1", at: 1, 1, "expected a value")
    expectError(".5", at: 1, 1, "expected a value")
    expectError("1.2.3", at: 1, 4, "not written as JSON")
    expectError(String(repeating: "9", count: 65), at: 1, 66, "too long")
  }

  @Test func stringsAreWrittenAsTheRFCSays() {
    expectError("\"a\nb\"", at: 1, 3, "control character")
    expectError("\"\u{0}\"", at: 1, 2, "control character")
    expectError(#""\x""#, at: 1, 2, "unknown escape")
    expectError(#""\u12G4""#, at: 1, 2, "four hexadecimal digits")
    expectError(#""\u12"#, at: 1, 2, "four hexadecimal digits")
    expectError(#""ab\uD800""#, at: 1, 4, "surrogate")
    expectError(#""\uD800\u0041""#, at: 1, 2, "surrogate")
    expectError(#""\uDC00""#, at: 1, 2, "surrogate")
    expectError(#""\"#, at: 1, 3, "cut off")
  }

  @Test func bytesThatAreNotUTF8AreRefused() {
    for bytes: [UInt8] in [
      [0x80], [0xC0, 0x80], [0xC3], [0xE2, 0x82], [0xED, 0xA0, 0x80], [0xF5, 0x80, 0x80, 0x80],
      [0xF0, 0x9F, 0x98], [0xFF],
    ] {
      expectError([0x22, 0x61] + bytes + [0x22], at: 1, 3, "not UTF-8")
    }
  }

  @Test func depthIsBounded() throws {
    let deepest = JSONReader.depthMax
    _ = try read(String(repeating: "[", count: deepest) + String(repeating: "]", count: deepest))
    expectError(
      String(repeating: "[", count: deepest + 1), at: 1, deepest + 1, "levels deep")
    expectError(String(repeating: "{\"a\":", count: 100_000), at: 1, 501, "levels deep")
  }

  /// A real file that is cut anywhere or has any byte changed is read or refused; nothing traps.
  @Test func noCutAndNoChangeTraps() throws {
    let text = """
      {"name": "näme 👩‍👩‍👧", "devices": ["a"], "n": -1.5e3, "x": "\\uD83D\\uDE00",
       "steps": [{"do": "sync", "t": true, "f": false, "z": null}]}
      """
    let bytes = Array(text.utf8)
    for end in bytes.indices {
      #expect(throws: JSONFault.self) { try JSONReader.read(Array(bytes[..<end])) }
    }
    var refused = 0
    for index in bytes.indices {
      for value in [0x00, 0x22, 0x2C, 0x5B, 0x5C, 0x7B, 0x7D, 0x80, 0xC3, 0xFF] as [UInt8] {
        var changed = bytes
        changed[index] = value
        do { _ = try JSONReader.read(changed) } catch { refused += 1 }
      }
    }
    #expect(refused > bytes.count * 6)
  }

  /// Foundation reads whatever it reads, with the same result.
  @Test func foundationAgrees() throws {
    let texts = [
      #"{"a":[1,2,{"b":"c"}],"d":"\u00e9\n\ud83d\ude00"}"#, "[true,false,null]", "[[],{},\"\"]",
      "[0,-1,123456789]", "[01]", "[1 2]", "{\"a\"}", "[\"\\x\"]", "[tru]", "[1]]", "[\"\\ud800\"]",
      "[-]", "[1.]", "[\"\t\"]", "",
    ]
    for text in texts {
      let theirs = try? JSONSerialization.jsonObject(
        with: Data(text.utf8), options: .fragmentsAllowed)
      let ours = try? read(text)
      #expect((theirs == nil) == (ours == nil), "\(text)")
      if let theirs, let ours {
        #expect((theirs as? NSObject) == (ours.foundation as? NSObject), "\(text)")
      }
    }
  }

  @Test func quotedTextIsReadBack() throws {
    for text in ["", "a\"b\\c/", "\u{0}\u{1F}\u{7F}\n\t\r", "é👩‍👩‍👧‍👦\u{202E}", "\u{2028}"] {
      #expect(try read(PositionedJSON.quoted(text)).value == .string(text))
    }
  }
}

extension PositionedJSON {
  fileprivate var foundation: Any {
    switch value {
    case .null: NSNull()
    case .boolean(let flag): NSNumber(value: flag)
    case .number(let digits): NSNumber(value: Double(digits) ?? .nan)
    case .string(let text): text as NSString
    case .array(let elements): elements.map(\.foundation) as NSArray
    case .object(let members):
      Dictionary(uniqueKeysWithValues: members.map { ($0.key, $0.value.foundation) })
        as NSDictionary
    }
  }
}

@Suite struct PositionedJSONTests {
  @Test func everyValueKnowsItsBytes() throws {
    let text = "{ \"ä\" : [1, \"ü\\n\"],\n \"b\":{} }"
    let bytes = Array(text.utf8)
    let value = try JSONReader.read(bytes)
    func written(_ range: Range<Int>) -> String { String(decoding: bytes[range], as: UTF8.self) }
    #expect(written(value.range) == text)
    #expect(value.members?.map { written($0.range) } == ["\"ä\" : [1, \"ü\\n\"]", "\"b\":{}"])
    #expect(value["ä"]?.elements?.map { written($0.range) } == ["1", "\"ü\\n\""])
    #expect(value["ä"]?.elements?.last?.text == "ü\n")
    #expect(value["b"]?.members == [] && value["c"] == nil && value["b"]?.elements == nil)
  }
}
