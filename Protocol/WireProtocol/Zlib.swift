import CZlib

/// The only file that calls zlib: raw deflate (RFC 1951) with a preset dictionary, and CRC-32.
enum Zlib {
  /// Why inflation failed.
  struct Failure: Error {
    var message: String
  }

  /// Level 9: deltas are compressed once and read by every device.
  private static let level = Z_BEST_COMPRESSION
  /// The largest window and the largest hash tables.
  private static let windowBitsMax: Int32 = 15
  private static let memoryLevelMax: Int32 = 9
  /// Bytes of its window that zlib does not search (MIN_LOOKAHEAD).
  private static let lookahead = 262

  /// The smallest window and tables that compress this many bytes after a dictionary as well as the
  /// largest ones. Everything stays within reach, and no block is full before its end. zlib clears
  /// the memory that it uses, and clearing 400 KiB for a prompt of one line would take longer than
  /// the compression.
  private static func size(_ count: Int, behind dictionary: Int) -> (bits: Int32, memory: Int32) {
    var (bits, memory): (Int32, Int32) = (9, 4)
    while bits < windowBitsMax, 1 << bits < count + dictionary + lookahead { bits += 1 }
    // A block has room for 2^(memory level + 6) literals and matches.
    while memory < memoryLevelMax, 1 << (memory + 6) <= count { memory += 1 }
    return (bits, memory)
  }

  /// An upper bound for the cost of one block's end.
  private static let blockBytes = 64
  /// The smallest step by which the output of an inflation grows; it doubles with the existing
  /// output.
  private static let stepBytes = 64 << 10
  /// The usual maximum ratio of inflated to stored length.
  private static let usualRatio = 5

  /// zlib's state points back to its stream, which therefore keeps one address.
  private struct Stream: ~Copyable {
    let pointer: UnsafeMutablePointer<z_stream>

    init() {
      pointer = .allocate(capacity: 1)
      pointer.initialize(to: z_stream())
    }

    deinit {
      pointer.deinitialize(count: 1)
      pointer.deallocate()
    }
  }

  static func crc32(_ bytes: UnsafeBufferPointer<UInt8>, from start: UInt32) -> UInt32 {
    // For a null pointer, zlib returns the start of a new sum.
    guard let address = bytes.baseAddress else { return start }
    return UInt32(truncatingIfNeeded: crc32_z(uLong(start), address, z_size_t(bytes.count)))
  }

  /// - Parameter blockEnds: offsets in `bytes`, ascending, at which a new block starts.
  /// - Returns: nil if zlib cannot allocate memory.
  static func deflate(
    _ bytes: [UInt8], blockEnds: [Int] = [], dictionary: [UInt8]
  ) -> [UInt8]? {
    let stream = Stream()
    let pointer = stream.pointer
    let (windowBits, memoryLevel) = size(bytes.count, behind: dictionary.count)
    // Negative: no zlib header and no checksum of its own.
    guard
      deflateInit2_(
        pointer, level, Z_DEFLATED, -windowBits, memoryLevel, Z_DEFAULT_STRATEGY, ZLIB_VERSION,
        Int32(MemoryLayout<z_stream>.size)) == Z_OK
    else { return nil }
    defer { deflateEnd(pointer) }
    guard
      deflateSetDictionary(pointer, dictionary, UInt32(dictionary.count)) == Z_OK,
      UInt32(exactly: bytes.count) != nil,
      let outputMax = UInt32(
        exactly: deflateBound(pointer, uLong(bytes.count)) + uLong(blockBytes * blockEnds.count))
    else { return nil }
    var input = bytes
    var isDone = false
    let output = [UInt8](unsafeUninitializedCapacity: Int(outputMax)) { buffer, count in
      input.withUnsafeMutableBufferPointer { source in
        // Both pointers are used only within this call, and zlib stays within the counts.
        pointer.pointee.next_in = source.baseAddress
        pointer.pointee.next_out = buffer.baseAddress
        pointer.pointee.avail_out = outputMax
        var start = 0
        for end in blockEnds {
          pointer.pointee.avail_in = UInt32(end - start)
          guard CZlib.deflate(pointer, Z_BLOCK) == Z_OK else { return }
          start = end
        }
        pointer.pointee.avail_in = UInt32(source.count - start)
        isDone = CZlib.deflate(pointer, Z_FINISH) == Z_STREAM_END
        count = Int(outputMax) - Int(pointer.pointee.avail_out)
      }
    }
    return isDone ? output : nil
  }

  /// Inflates to exactly `length` bytes; memory grows with the actual output.
  static func inflate(
    _ bytes: ArraySlice<UInt8>, length: Int, dictionary: [UInt8]
  ) throws(Failure) -> [UInt8] {
    let stream = Stream()
    let pointer = stream.pointer
    guard
      inflateInit2_(pointer, -windowBitsMax, ZLIB_VERSION, Int32(MemoryLayout<z_stream>.size))
        == Z_OK
    else { throw Failure(message: "zlib has no memory") }
    defer { inflateEnd(pointer) }
    guard
      inflateSetDictionary(pointer, dictionary, UInt32(dictionary.count)) == Z_OK,
      let inputCount = UInt32(exactly: bytes.count)
    else { throw Failure(message: "zlib takes neither dictionary nor input") }
    var output: [UInt8] = []
    var status = Z_OK
    bytes.withUnsafeBufferPointer { source in
      // zlib only reads from `source`, which outlives the loop; each step of output exists for its
      // own call only.
      pointer.pointee.next_in = UnsafeMutablePointer(mutating: source.baseAddress)
      pointer.pointee.avail_in = inputCount
      var stepMax = max(stepBytes, bytes.count * usualRatio)
      while status == Z_OK, output.count <= length {
        // One byte more than announced detects a stream that is too long.
        let room = min(stepMax, length + 1 - output.count)
        let step = [UInt8](unsafeUninitializedCapacity: room) { buffer, count in
          pointer.pointee.next_out = buffer.baseAddress
          pointer.pointee.avail_out = UInt32(room)
          status = CZlib.inflate(pointer, Z_NO_FLUSH)
          count = room - Int(pointer.pointee.avail_out)
        }
        if output.isEmpty { output = step } else { output.append(contentsOf: step) }
        stepMax = output.count
      }
    }
    guard output.count <= length else {
      throw Failure(message: "the stream holds more than the \(length) bytes it promises")
    }
    guard status == Z_STREAM_END else {
      throw Failure(message: "the compressed stream is broken (zlib says \(status))")
    }
    guard output.count == length else {
      throw Failure(message: "the stream holds \(output.count) bytes, not \(length)")
    }
    guard pointer.pointee.avail_in == 0 else {
      throw Failure(message: "\(pointer.pointee.avail_in) bytes follow the compressed stream")
    }
    return output
  }
}
