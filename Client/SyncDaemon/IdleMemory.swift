import Foundation
import ServiceLifecycle

/// Gives back, while the daemon idles, the pages of programs and libraries that only its start or
/// its last work needed.
///
/// Most of what an idle daemon holds is code that is mapped from files: the kernel maps sixteen
/// pages around each one that is touched, and takes none back while there is memory. What is used
/// again comes from the page cache, without a disk.
struct IdleMemory: Service {
  /// How often is looked whether the daemon idles.
  static let period = Duration.seconds(10)
  /// Processor time in a period up to which the daemon counts as idle.
  static let idleMilliseconds: Int64 = 20
  /// Processor time since the pages were given back last from which it is worth doing again.
  static let workMilliseconds: Int64 = 100

  func run() async throws {
    await cancelWhenGracefulShutdown {
      var seen = IdleMemory.processorMilliseconds
      var releasedAt: Int64 = 0
      // Cancellation ends the sleep and with it the service.
      while (try? await Task.sleep(for: IdleMemory.period)) != nil {
        let now = IdleMemory.processorMilliseconds
        let isIdle = now - seen <= IdleMemory.idleMilliseconds
        seen = now
        guard isIdle, now - releasedAt >= IdleMemory.workMilliseconds else { continue }
        releasedAt = now
        IdleMemory.release()
      }
    }
  }

  /// Processor time of the process so far.
  private static var processorMilliseconds: Int64 {
    // POSIX: in millionths of a second, whatever the machine counts in.
    Int64(clock()) / 1_000
  }

  /// Does it; nothing where the system does not list its mappings.
  static func release() {
    #if os(Linux)
      guard let list = FileManager.default.contents(atPath: "/proc/self/maps") else { return }
      for line in String(decoding: list, as: UTF8.self).split(separator: "\n") {
        guard let mapping = Mapping(line), mapping.isCode,
          let start = UnsafeMutableRawPointer(bitPattern: mapping.start)
        else { continue }
        // Nobody can have written to them, so that the file has all of it; what fails stays.
        _ = madvise(start, mapping.size, MADV_DONTNEED)
      }
    #endif
  }

  /// A line of `/proc/self/maps`, proc(5).
  struct Mapping: Equatable {
    var start: UInt
    var size: Int
    /// Readable and executable, never writable, private, from a file.
    var isCode: Bool

    /// nil where the line is none.
    init?(_ line: Substring) {
      // 55d0c0a00000-55d0c0a21000 r-xp 00000000 fe:00 1048602   /usr/bin/cospoold
      let fields = line.split(separator: " ", maxSplits: 5, omittingEmptySubsequences: true)
      guard fields.count >= 5 else { return nil }
      let ends = fields[0].split(separator: "-")
      guard ends.count == 2, let start = UInt(ends[0], radix: 16),
        let end = UInt(ends[1], radix: 16), end > start,
        let size = Int(exactly: end - start)
      else { return nil }
      self.start = start
      self.size = size
      // Inode 0 has no file: vdso and what was made at run time.
      isCode = fields[1] == "r-xp" && fields[4] != "0"
    }
  }
}
