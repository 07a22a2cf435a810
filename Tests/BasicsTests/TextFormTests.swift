import Basics
import Testing

@Suite struct TextFormTests {
  @Test func bytesAreTwoDigitsEachAndComeBack() {
    #expect(Hex.text([0, 9, 0xAB]) == "0009ab")
    #expect(Hex.text(0x1F as UInt64) == "000000000000001f")
    #expect(Hex.bytes("0009aB") == [0, 9, 0xAB])
    for text in ["0", "0g", "+1", " 1", "é"] { #expect(Hex.bytes(text) == nil, "\(text)") }
  }

  @Test func reservedCharactersAreEncoded() {
    #expect(ASCII.percentEncoded("a-b._~/é") == "a-b._~%2F%C3%A9")
    #expect(ASCII.percentDecoded("a-b._~%2F%C3%A9") == "a-b._~/é")
    for text in ["%", "%2", "%+1", "%FF"] { #expect(ASCII.percentDecoded(text) == nil, "\(text)") }
  }

  @Test func shellWordsAreQuotedIfNecessary() {
    #expect(Shell.quoted("/data/me-1.x_y") == "/data/me-1.x_y")
    #expect(Shell.quoted("/my data") == "'/my data'")
    #expect(Shell.quoted("it's") == "'it'\\''s'")
    #expect(Shell.quoted("") == "''")
  }

  /// Pasted unchanged, these would be options: `--data=/tmp` addresses another daemon.
  @Test func namesThatLookLikeOptionsAreOperands() {
    #expect(Shell.quotedOperand("review") == "review")
    #expect(Shell.quotedOperand("a b") == "'a b'")
    #expect(Shell.quotedOperand("--data=/tmp") == "-- '--data=/tmp'")
    #expect(Shell.quotedOperand("-\u{301}x") == "-- -\u{301}x")
    #expect(Shell.quotedOption("-s", "review") == "-s review")
    #expect(Shell.quotedOption("-s", "-x y") == "-s='-x y'")
  }
}
