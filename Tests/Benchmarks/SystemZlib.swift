import CZlib

/// The system's zlib, for reading gzip files, and for sizes that can be compared with those of
/// other programs.
enum SystemZlib {
  /// Far more than the largest trace; a damaged file must not fill the memory.
  static let gunzippedBytesMax = 256 << 20
  private static let stepBytes = 1 << 20
  /// 15 bits of window, and 16 for a gzip head.
  private static let gzipWindowBits: Int32 = 15 + 16

  /// The length of `bytes` as one zlib stream (RFC 1950) at the best level.
  static func compressedCount(_ bytes: [UInt8]) throws -> Int {
    var count = compressBound(uLong(bytes.count))
    var output = [UInt8](repeating: 0, count: Int(count))
    let status = compress2(&output, &count, bytes, uLong(bytes.count), Z_BEST_COMPRESSION)
    try BenchFailure.require(status == Z_OK, "zlib cannot compress (\(status))")
    return Int(count)
  }

  /// The contents of a gzip file (RFC 1952) with one member.
  ///
  /// - Throws: `BenchFailure` if the bytes are damaged, cut, or too many.
  static func gunzip(_ bytes: [UInt8]) throws -> [UInt8] {
    var stream = z_stream()
    let size = Int32(MemoryLayout<z_stream>.size)
    guard let inputCount = UInt32(exactly: bytes.count),
      inflateInit2_(&stream, gzipWindowBits, ZLIB_VERSION, size) == Z_OK
    else { throw BenchFailure("zlib cannot read \(bytes.count) bytes") }
    defer { inflateEnd(&stream) }
    var input = bytes
    var output: [UInt8] = []
    var status = Z_OK
    try input.withUnsafeMutableBufferPointer { source in
      // The input outlives the loop; each step of output lives for its own call.
      stream.next_in = source.baseAddress
      stream.avail_in = inputCount
      while status == Z_OK {
        let step = [UInt8](unsafeUninitializedCapacity: stepBytes) { buffer, count in
          stream.next_out = buffer.baseAddress
          stream.avail_out = UInt32(stepBytes)
          status = inflate(&stream, Z_NO_FLUSH)
          count = stepBytes - Int(stream.avail_out)
        }
        output += step
        try BenchFailure.require(
          output.count <= gunzippedBytesMax, "it holds more than \(gunzippedBytesMax) bytes")
      }
    }
    try BenchFailure.require(
      status == Z_STREAM_END && stream.avail_in == 0,
      "it is not a whole gzip file (zlib says \(status))")
    return output
  }
}
