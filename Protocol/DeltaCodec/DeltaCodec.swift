package import QueueModel

/// Operations as bytes and back; SPECIFICATION.md, section "Delta".
///
/// Operations that continue each other become one row. Decoding gives text as long runs and every
/// placement as an operation of its own: the same units with the same ids in the same order.
/// Encoding what was decoded gives the same bytes.
package enum DeltaCodec {
  /// - Precondition: every operation has at least one unit, and no id or reference is 0.
  package static func encode(_ operations: [Operation]) -> [UInt8] {
    DeltaEncoder.encode(DeltaRow.rows(of: operations))
  }

  package static func decode(
    _ bytes: [UInt8], budget: DecodingBudget = .standard
  ) throws(DecodingFault) -> [Operation] {
    try DeltaDecoder.decode(bytes, budget: budget)
  }
}
