/// Cuts a stream of bytes into lines. A line that is too long is dropped, and counted.
package struct LineSplitter: Sendable {
  private let bytesMax: Int
  private var line: [UInt8] = []
  private var isDropping = false
  /// Lines that were too long.
  package private(set) var droppedCount = 0

  package init(bytesMax: Int) {
    self.bytesMax = bytesMax
  }

  /// Takes bytes in and hands out every line that they complete, without its end. Blank lines are
  /// handed out too.
  package mutating func received(_ bytes: some Sequence<UInt8>, _ body: ([UInt8]) -> Void) {
    for byte in bytes {
      if byte == UInt8(ascii: "\n") {
        if isDropping { droppedCount += 1 } else { handOut(body) }
        line.removeAll(keepingCapacity: line.capacity <= 1 << 16)
        isDropping = false
      } else if line.count == bytesMax {
        isDropping = true
        line = []
      } else if !isDropping {
        line.append(byte)
      }
    }
  }

  /// The stream is complete; a last line may have no end.
  package mutating func ended(_ body: ([UInt8]) -> Void) {
    if isDropping { droppedCount += 1 } else if !line.isEmpty { handOut(body) }
    line = []
    isDropping = false
  }

  private func handOut(_ body: ([UInt8]) -> Void) {
    body(line.last == UInt8(ascii: "\r") ? Array(line.dropLast()) : line)
  }
}
