import DeltaCodec
package import SequenceCRDT

/// The history of a single text in the form of `PackedDelta`.
extension PackedDelta {
  /// The operations of a text that `known` lacks, as one delta.
  ///
  /// - Parameters:
  ///   - message: the `addMessage` that introduced the text.
  ///   - known: what the reader has.
  package static func pack(
    _ text: TextReplica, message: OperationID, since known: VersionVector = VersionVector()
  ) -> [UInt8] {
    Envelope.delta.wrap(DeltaCodec.encodeParts(text, message: message, since: known))
  }

  /// Takes a delta into a text, all of it or nothing; what the text knows already is left out.
  ///
  /// - Throws: `WireError` where the bytes are no delta of this message's text; `SequenceFault`
  ///   where the text lacks what they name.
  package static func merge(
    _ bytes: [UInt8], message: OperationID, into text: inout TextReplica
  ) throws {
    let body = try Envelope.delta.unwrap(bytes)
    do {
      try DeltaCodec.merge(body, message: message, into: &text, budget: .wire)
    } catch let fault as DecodingFault {
      throw WireError(fault)
    }
  }
}
