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

  /// The values of a list in order: the part of a snapshot that shows it.
  package static func encodeParts(_ values: [ListValue]) -> EncodedBody {
    ListSnapshotEncoder.values(values)
  }

  package static func decodeValues(
    _ bytes: [UInt8], budget: DecodingBudget = .snapshot
  ) throws(DecodingFault) -> [ListValue] {
    try ListSnapshotDecoder.values(bytes, budget: budget)
  }

  /// The rest of a list's state: the part of a snapshot that changing and merging needs. Equal
  /// states give equal bytes.
  package static func encodeParts(_ image: ListImage) -> EncodedBody {
    ListSnapshotEncoder.state(image)
  }

  /// - Parameter values: those of the same snapshot.
  package static func decodeState(
    _ bytes: [UInt8], values: [ListValue], budget: DecodingBudget = .snapshot
  ) throws(DecodingFault) -> ListImage {
    try ListSnapshotDecoder.state(bytes, values: values, budget: budget)
  }
}
