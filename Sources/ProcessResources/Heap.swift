#if canImport(Glibc)
  import Glibc
#endif

/// What glibc's allocator keeps of memory that was freed. Other allocators have no such calls.
package enum Heap {
  /// Makes one heap for all threads: each further one keeps what it once held, and nothing here is made
  /// by many threads at once. For the start of a process.
  package static func limitArenas() {
    #if canImport(Glibc)
      typealias Set = @convention(c) (Int32, Int32) -> Int32
      guard let symbol = unsafe dlsym(nil, "mallopt") else { return }
      // The type, and the number of M_ARENA_MAX, are those of mallopt(3) and malloc.h.
      _ = unsafe unsafeBitCast(symbol, to: Set.self)(-8, 1)
    #endif
  }

  /// Gives back to the system what was freed.
  package static func giveBackFreed() {
    #if canImport(Glibc)
      typealias Trim = @convention(c) (Int) -> Int32
      guard let symbol = unsafe dlsym(nil, "malloc_trim") else { return }
      // The type is the one of malloc_trim(3).
      _ = unsafe unsafeBitCast(symbol, to: Trim.self)(0)
    #endif
  }
}
