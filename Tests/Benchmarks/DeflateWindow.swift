import CZlib
import WireProtocol

/// The size of deltas if a connection deflated all of them as one stream, like permessage-deflate
/// (RFC 7692): each may refer to earlier ones. The protocol does not do this; RESULTS.md has the
/// reason.
final class DeflateWindow {
  /// Head and checksum, as in an envelope, without the four bytes that end each flush.
  private static let overhead = 4
  private static let flushTail = 4

  private let stream: UnsafeMutablePointer<z_stream>

  /// - Parameter bits: the window holds 2^`bits` bytes; 9 to 15.
  init(bits: Int32) throws {
    stream = .allocate(capacity: 1)
    stream.initialize(to: z_stream())
    let status = deflateInit2_(
      stream, Z_BEST_COMPRESSION, Z_DEFLATED, -bits, 9, Z_DEFAULT_STRATEGY, ZLIB_VERSION,
      Int32(MemoryLayout<z_stream>.size))
    let dictionary = PresetDictionary.standard.bytes
    try BenchFailure.require(
      status == Z_OK
        && deflateSetDictionary(stream, dictionary, UInt32(dictionary.count)) == Z_OK,
      "zlib takes no window of \(bits) bits")
  }

  deinit {
    deflateEnd(stream)
    stream.deallocate()
  }

  /// The number of bytes of the next delta's body.
  func bytes(of body: [UInt8]) throws -> Int {
    var input = body
    var output = [UInt8](repeating: 0, count: body.count + 128)
    let room = output.count
    var status = Z_OK
    input.withUnsafeMutableBufferPointer { source in
      output.withUnsafeMutableBufferPointer { target in
        // Both live for this call, in which zlib takes all input.
        stream.pointee.next_in = source.baseAddress
        stream.pointee.avail_in = UInt32(source.count)
        stream.pointee.next_out = target.baseAddress
        stream.pointee.avail_out = UInt32(target.count)
        status = deflate(stream, Z_SYNC_FLUSH)
      }
    }
    let written = room - Int(stream.pointee.avail_out)
    try BenchFailure.require(
      status == Z_OK && stream.pointee.avail_in == 0 && stream.pointee.avail_out > 0,
      "zlib cannot go on with its stream (\(status))")
    return written - Self.flushTail + Self.overhead
  }
}
