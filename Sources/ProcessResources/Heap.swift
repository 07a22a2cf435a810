#if canImport(Glibc)
  import Glibc
#endif

/// The freed memory that glibc's allocator keeps. Other allocators have no such calls.
package enum Heap {
  /// Uses one heap for all threads. Each further heap keeps the memory that it once held, and here,
  /// many threads never allocate at once. Call it at the start of a process.
  package static func limitArenas() {
    #if canImport(Glibc)
      typealias Set = @convention(c) (Int32, Int32) -> Int32
      guard let symbol = unsafe dlsym(nil, "mallopt") else { return }
      // The type and the value of M_ARENA_MAX are those of mallopt(3) and malloc.h.
      _ = unsafe unsafeBitCast(symbol, to: Set.self)(-8, 1)
    #endif
  }

  /// Returns freed memory to the system.
  package static func giveBackFreed() {
    #if canImport(Glibc)
      typealias Trim = @convention(c) (Int) -> Int32
      guard let symbol = unsafe dlsym(nil, "malloc_trim") else { return }
      // The type is that of malloc_trim(3).
      _ = unsafe unsafeBitCast(symbol, to: Trim.self)(0)
    #endif
  }
}
