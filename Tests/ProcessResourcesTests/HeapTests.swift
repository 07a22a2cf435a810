import Foundation
import ProcessResources
import Testing

@Suite struct HeapTests {
  /// The bytes of this process that are in memory.
  private func resident() throws -> Int {
    let fields = try String(contentsOfFile: "/proc/self/statm", encoding: .utf8).split(
      separator: " ")
    return try #require(Int(fields[1])) * Int(getpagesize())
  }

  #if os(Linux)
    @Test func freedMemoryIsReturned() throws {
      var blocks = (0..<64_000).map {
        [UInt8](repeating: UInt8(truncatingIfNeeded: $0), count: 1_000)
      }
      // The last block stays, so that the heap does not end where the freed memory begins.
      let last = blocks.removeLast()
      let full = try resident()
      blocks = []
      Heap.giveBackFreed()
      let left = try resident()
      #expect(full - left > 32 << 20)
      #expect(last.count == 1_000)
    }
  #endif
}
