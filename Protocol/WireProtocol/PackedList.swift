import DeltaCodec
package import SequenceCRDT

/// Operations and states of a movable list as they are stored and sent: in envelopes, compressed
/// where that makes them shorter.
package enum PackedList {
  /// The operations of a log as one delta.
  package static func pack(_ log: ListLog) -> [UInt8] {
    Envelope.list.wrap(ListCodec.encodeParts(log))
  }

  package static func unpack(_ bytes: [UInt8]) throws(WireError) -> ListLog {
    let body = try Envelope.list.unwrap(bytes)
    do {
      return try ListCodec.decode(body, budget: .standard)
    } catch {
      throw WireError(error)
    }
  }

  /// A snapshot: the values first, so that a list can be shown before it can be changed.
  package static func packSnapshot(_ list: MovableList) -> [UInt8] {
    let image = list.image
    let values = Envelope.listSnapshot.wrap(
      ListCodec.encodeParts(image.elements.map(\.value)))
    var writer = ByteWriter()
    writer.blob(values)
    writer.raw(Envelope.listSnapshot.wrap(ListCodec.encodeParts(image)))
    return writer.bytes
  }

  /// The values of a snapshot in their order, without the rest of it.
  package static func values(ofSnapshot bytes: [UInt8]) throws(WireError) -> [ListValue] {
    let parts = try parts(of: bytes)
    let body = try Envelope.listSnapshot.unwrap(Array(parts.values))
    do {
      return try ListCodec.decodeValues(body)
    } catch {
      throw WireError(error)
    }
  }

  /// The whole state of a snapshot.
  package static func image(ofSnapshot bytes: [UInt8]) throws(WireError) -> ListImage {
    let values = try values(ofSnapshot: bytes)
    let body = try Envelope.listSnapshot.unwrap(Array(try parts(of: bytes).state))
    do {
      return try ListCodec.decodeState(body, values: values)
    } catch {
      throw WireError(error)
    }
  }

  private static func parts(
    of bytes: [UInt8]
  ) throws(WireError) -> (values: ArraySlice<UInt8>, state: ArraySlice<UInt8>) {
    var reader = ByteReader(bytes)
    do {
      let length = try reader.count(ofAtLeast: 1, max: Int.max, "bytes of values")
      let values = try reader.raw(length)
      return (values, try reader.raw(reader.remaining))
    } catch {
      throw WireError(error)
    }
  }
}
