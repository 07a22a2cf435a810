import DeltaCodec
import Testing

struct VarintTests {
  @Test(arguments: [0, 1, 127, 128, 16_383, 16_384, 1 << 32, UInt64.max - 1, UInt64.max])
  func everyNumberComesBack(number: UInt64) throws {
    var writer = ByteWriter()
    writer.number(number)
    var reader = ByteReader(writer.bytes)
    #expect(try reader.number() == number)
    #expect(reader.isAtEnd)
  }

  @Test(arguments: [0, -1, 1, -64, 64, Int.min, Int.max])
  func everySignedNumberComesBack(number: Int) throws {
    var writer = ByteWriter()
    writer.signed(number)
    var reader = ByteReader(writer.bytes)
    #expect(try reader.signed() == number)
  }

  @Test(
    arguments: [
      [0x80, 0x00], [0xFF, 0x80, 0x00],
      [0x81, 0x80, 0x80, 0x80, 0x80, 0x80, 0x80, 0x80, 0x80, 0x00],
    ] as [[UInt8]])
  func longerThanShortestFormIsRefused(bytes: [UInt8]) {
    var reader = ByteReader(bytes)
    #expect(
      throws: DecodingFault(
        .overlongNumber, at: 0, "a number is not in its shortest form")
    ) { try reader.number() }
  }

  @Test(
    arguments: [
      Array(repeating: 0xFF, count: 9) + [0x02], Array(repeating: 0xFF, count: 11),
    ] as [[UInt8]])
  func numberBeyond64BitsIsRefused(bytes: [UInt8]) {
    var reader = ByteReader(bytes)
    #expect(throws: DecodingFault(.overlongNumber, at: 0, "a number does not fit 64 bits")) {
      try reader.number()
    }
  }

  @Test(arguments: [[], [0x80], [0xFF, 0xFF]] as [[UInt8]])
  func cutNumberIsRefused(bytes: [UInt8]) throws {
    var reader = ByteReader(bytes)
    let fault = #expect(throws: DecodingFault.self) { try reader.number() }
    #expect(fault?.code == .truncated)
  }
}
