import Foundation
import Testing

@testable import SyncDaemon

/// Code that is not in use is given back, and nothing else.
@Suite struct IdleMemoryTests {
  @Test func onlyCodeOfFilesIsGivenBack() throws {
    typealias Mapping = IdleMemory.Mapping
    let code = try #require(
      Mapping("55d0c0a00000-55d0c0a21000 r-xp 00000000 fe:00 1048602      /usr/bin/a b"))
    #expect(code.start == 0x55d0_c0a0_0000)
    #expect(code.size == 0x2_1000)
    #expect(code.isCode)
    for line: Substring in [
      // Relocated data, written once and then protected.
      "55d0c0a21000-55d0c0a22000 r--p 00021000 fe:00 1048602 /usr/bin/a",
      "55d0c0a22000-55d0c0a23000 rw-p 00022000 fe:00 1048602 /usr/bin/a",
      "7f00c0a22000-7f00c0a23000 rwxp 00000000 00:00 0",
      "7f00c0a23000-7f00c0a24000 r-xp 00000000 00:00 0",
      "7ffd3a5f2000-7ffd3a5f4000 r-xp 00000000 00:00 0                  [vdso]",
      "7f00c0a24000-7f00c0a25000 r-xs 00000000 fe:00 77 /dev/shm/x",
    ] {
      #expect(try #require(Mapping(line)).isCode == false)
    }
    for line: Substring in [
      "", "a", "1-2", "2-1 r-xp 0 0 7 /x", "x-y r-xp 0 0 7 /x", "1-2-3 r-xp 0 0 7 /x",
    ] {
      #expect(Mapping(line) == nil)
    }
  }

  /// Whatever runs goes on as before.
  @Test func codeComesBackWhenItIsUsed() throws {
    let before = Array((0..<1_000).map { "number \($0)" })
    IdleMemory.release()
    #expect(Array((0..<1_000).map { "number \($0)" }) == before)
    #expect(try JSONDecoder().decode([String].self, from: JSONEncoder().encode(before)) == before)
  }
}
