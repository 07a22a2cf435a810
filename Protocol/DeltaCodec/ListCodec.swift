package import SequenceCRDT

/// Operations and states of movable lists as bytes and back; SPECIFICATION.md, section "Lists".
package enum ListCodec {
  /// The operations of a log in their order, with the ends of the parts that are alike inside.
  package static func encodeParts(_ log: ListLog) -> EncodedBody {
    ListEncoder.encode(log)
  }

  package static func encode(_ log: ListLog) -> [UInt8] {
    encodeParts(log).bytes
  }

  package static func decode(
    _ bytes: [UInt8], budget: DecodingBudget = .standard
  ) throws(DecodingFault) -> ListLog {
    try ListDecoder.decode(bytes, budget: budget)
  }
}
