package import QueueModel

/// Encodes operations as bytes, and decodes them; SPECIFICATION.md, section "Delta".
///
/// Operations that continue each other become one row. Decoding returns text as long runs and every
/// placement as its own operation: the same units with the same ids in the same order. Encoding the
/// decoded operations gives the same bytes.
package enum DeltaCodec {
  /// - Precondition: every operation has at least one unit, and no id or reference is 0.
  package static func encode(_ operations: [Operation]) -> [UInt8] {
    encodeParts(operations).bytes
  }

  /// The same, with the ends of parts that have similar content.
  package static func encodeParts(_ operations: [Operation]) -> EncodedBody {
    DeltaEncoder.encode(DeltaRow.rows(of: operations))
  }

  package static func decode(
    _ bytes: [UInt8], budget: DecodingBudget = .standard
  ) throws(DecodingFault) -> [Operation] {
    try DeltaDecoder.decode(bytes, budget: budget)
  }
}

/// Encoded bytes, and the offsets at which a compressor should start a new block.
package struct EncodedBody: Hashable, Sendable {
  package var bytes: [UInt8]
  /// Offsets after columns or streams, ascending.
  package var partEnds: [Int]

  package init(bytes: [UInt8], partEnds: [Int]) {
    self.bytes = bytes
    self.partEnds = partEnds
  }
}
