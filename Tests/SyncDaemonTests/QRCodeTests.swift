import Testing

@testable import SyncDaemon

/// Compares with the examples of ISO/IEC 18004; in `make page-test`, an independent reader reads
/// codes.
@Suite struct QRCodeTests {
  /// Annex I: "01234567" in version 1-M.
  @Test func correctionIsTheStandardsExample() {
    let data: [UInt8] = [
      0x10, 0x20, 0x0C, 0x56, 0x61, 0x80, 0xEC, 0x11, 0xEC, 0x11, 0xEC, 0x11, 0xEC, 0x11, 0xEC,
      0x11,
    ]
    #expect(
      QRCode.Galois.correction(of: data[...], count: 10)
        == [0xA5, 0x24, 0xD4, 0xC1, 0xED, 0x36, 0xC7, 0x87, 0x2C, 0x55])
  }

  /// Annex C and D.
  @Test func formatAndVersionAreTheStandardsExamples() {
    #expect(QRCode.Drawing.format(0b101) == 0b100_0000_1100_1110)
    #expect(QRCode.Drawing.versionBits(7) == 0b00_0111_1100_1001_0100)
  }

  /// Annex E and table 1.
  @Test func layoutsAreTheStandards() {
    #expect(QRCode.Layout(version: 1).alignments == [])
    #expect(QRCode.Layout(version: 2).alignments == [6, 18])
    #expect(QRCode.Layout(version: 7).alignments == [6, 22, 38])
    #expect(QRCode.Layout(version: 16).alignments == [6, 26, 50, 74])
    #expect(QRCode.Layout(version: 20).alignments == [6, 34, 62, 90])
    let counts = [1, 2, 6, 7, 13, 14, 20].map { QRCode.Layout(version: $0).codewordCount }
    #expect(counts == [26, 44, 172, 196, 532, 581, 1085])
    #expect(QRCode.Layout(version: 20).dataCount == 669)
  }

  @Test func versionIsTheSmallestThatHolds() {
    for (count, size) in [(0, 21), (14, 21), (15, 25), (62, 33), (63, 37), (QRCode.bytesMax, 97)] {
      #expect(QRCode(String(repeating: "a", count: count))?.rows.count == size)
    }
    #expect(QRCode.bytesMax == 666)
    #expect(QRCode(String(repeating: "a", count: QRCode.bytesMax + 1)) == nil)
  }

  @Test func findersAreInThreeCorners() throws {
    let rows = try #require(QRCode("https://desk.example.org/#t=x")).rows
    let size = rows.count
    for (column, row) in [(0, 0), (size - 7, 0), (0, size - 7)] {
      let lines = (0..<7).map { down in
        (0..<7).map { rows[row + down][column + $0] ? "1" : "0" }.joined()
      }
      #expect(
        lines == ["1111111", "1000001", "1011101", "1011101", "1011101", "1000001", "1111111"])
    }
  }
}
