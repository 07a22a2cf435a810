import Testing

/// Keeps the rooms that will run in a browser suitable for it. There, `Int` has 32 bits, and types
/// cannot be examined while the program runs.
@Suite struct PureRoomTests {
  private static let rooms: Set<String> = [
    "Sources/SequenceCRDT", "Sources/QueueModel", "Protocol/DeltaCodec", "Protocol/WireProtocol",
    "Sources/DispatchAuthority", "Client/ClientCore",
  ]

  private func occurrences(of pattern: Regex<Substring>) throws -> [String] {
    try Repository.swiftFiles().filter { Self.rooms.contains($0.folder) }.flatMap { file in
      file.code.matches(of: pattern).map { "\(file.path): \($0.output)" }
    }
  }

  @Test func noSequenceHidesItsType() throws {
    #expect(try occurrences(of: /\bAny(?:Sequence|Collection|Iterator|Hashable)\b/) == [])
  }

  /// A sequence number may be 2^31, which does not fit 32 bits with a sign.
  @Test func sequenceNumbersAreNotIndexes() throws {
    #expect(try occurrences(of: /\bInt\(Limits\.sequenceMax/) == [])
    #expect(try occurrences(of: /\bInt\([a-z.]*\b(?:seq|milliseconds)\)/) == [])
  }

  @Test func codingIsInSeparateExtensions() throws {
    let declared = try occurrences(
      of: /\b(?:struct|enum|class|protocol) [A-Za-z]+: [^{]*\b(?:Codable|Decodable|Encodable)\b/)
    #expect(declared.allSatisfy { $0.contains("enum Kind") }, "\(declared)")
  }
}
