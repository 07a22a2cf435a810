/// Cuts a stream of bytes into lines. Lines that are too long are dropped and counted.
package struct LineSplitter: Sendable {
  private let bytesMax: Int
  private var line: [UInt8] = []
  private var isDropping = false
  /// The number of dropped lines.
  package private(set) var droppedCount = 0

  package init(bytesMax: Int) {
    self.bytesMax = bytesMax
  }

  /// Reads bytes.
  ///
  /// - Returns: every line that they complete, without its end, including blank lines.
  package mutating func received(_ bytes: some Sequence<UInt8>) -> [[UInt8]] {
    var lines: [[UInt8]] = []
    for byte in bytes {
      if byte == UInt8(ascii: "\n") {
        if isDropping { droppedCount += 1 } else { lines.append(withoutReturn) }
        line.removeAll(keepingCapacity: line.capacity <= 1 << 16)
        isDropping = false
      } else if line.count == bytesMax {
        isDropping = true
        line = []
      } else if !isDropping {
        line.append(byte)
      }
    }
    return lines
  }

  /// The stream is complete; the last line may lack its end.
  package mutating func ended() -> [[UInt8]] {
    defer {
      line = []
      isDropping = false
    }
    if isDropping { droppedCount += 1 }
    return isDropping || line.isEmpty ? [] : [withoutReturn]
  }

  private var withoutReturn: [UInt8] {
    line.last == UInt8(ascii: "\r") ? Array(line.dropLast()) : line
  }
}
