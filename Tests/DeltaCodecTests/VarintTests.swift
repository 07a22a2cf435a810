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

  @Test(arguments: [0, -1, 1, -64, 64, Int64.min, Int64.max])
  func everySignedNumberComesBack(number: Int64) throws {
    var writer = ByteWriter()
    writer.signed(number)
    var reader = ByteReader(writer.bytes)
    #expect(try reader.signed() == number)
  }

  @Test func aNumberIsHeldAgainstWhatItsTypeHolds() throws {
    var writer = ByteWriter()
    for _ in 0..<2 { writer.number(1 << 16) }
    var reader = ByteReader(writer.bytes)
    #expect(try reader.number(max: UInt32(1 << 16), "a number") == 1 << 16)
    #expect(throws: DecodingFault(.limitExceeded, at: 3, "a number: 65536, at most 65535")) {
      try reader.number(max: UInt16.max, "a number")
    }
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
