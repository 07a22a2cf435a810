package import QueueModel

/// Operations as bytes and back; SPECIFICATION.md, section "Delta".
///
/// Operations that continue each other become one row. Decoding gives text as long runs and every
/// placement as an operation of its own: the same units with the same ids in the same order.
/// Encoding what was decoded gives the same bytes.
package enum DeltaCodec {
  /// - Precondition: every operation has at least one unit, and no id or reference is 0.
  package static func encode(_ operations: [Operation]) -> [UInt8] {
    encodeParts(operations).bytes
  }

  /// The same, with the ends of the parts that are alike inside.
  package static func encodeParts(_ operations: [Operation]) -> EncodedBody {
    DeltaEncoder.encode(DeltaRow.rows(of: operations))
  }

  package static func decode(
    _ bytes: [UInt8], budget: DecodingBudget = .standard
  ) throws(DecodingFault) -> [Operation] {
    try DeltaDecoder.decode(bytes, budget: budget)
  }
}

/// Encoded bytes, and where a compressor does well to start anew.
package struct EncodedBody: Hashable, Sendable {
  package var bytes: [UInt8]
  /// Offsets behind columns or streams, ascending.
  package var partEnds: [Int]

  package init(bytes: [UInt8], partEnds: [Int]) {
    self.bytes = bytes
    self.partEnds = partEnds
  }
}
