/// A growable stretch of memory for plain values, with 32-bit indexes.
///
/// This is the only file of the room that uses pointers. Every access is checked against the count,
/// in release builds too. Unlike an array, it has no check for unique ownership at each write. A
/// slab does not own its memory: its holder copies it with `clone` and releases it with `free`.
@safe
struct Slab<Element: BitwiseCopyable>: BitwiseCopyable {
  private var base: UnsafeMutablePointer<Element>?
  /// The number of values.
  private(set) var count: UInt32 = 0
  private var capacity: UInt32 = 0

  init() {
    unsafe base = nil
  }

  /// - Precondition: `index` is below `count`.
  subscript(index: UInt32) -> Element {
    @inline(__always) get {
      precondition(index < count, "an index is within its slab")
      return unsafe base.unsafelyUnwrapped[Int(index)]
    }
    @inline(__always) _modify {
      precondition(index < count, "an index is within its slab")
      yield unsafe &base.unsafelyUnwrapped[Int(index)]
    }
  }

  var last: Element? { count > 0 ? self[count - 1] : nil }

  @inline(__always)
  mutating func append(_ value: Element) {
    if count == capacity { grow(to: count + 1) }
    unsafe base.unsafelyUnwrapped[Int(count)] = value
    count += 1
  }

  /// Appends a value several times.
  mutating func append(repeating value: Element, count added: UInt32) {
    guard added > 0 else { return }
    if added > capacity - count { grow(to: count + added) }
    unsafe (base.unsafelyUnwrapped + Int(count)).update(repeating: value, count: Int(added))
    count += added
  }

  mutating func removeLast() {
    precondition(count > 0, "an empty slab has no last value")
    count -= 1
  }

  /// Removes all values; the memory stays.
  mutating func removeAll() {
    count = 0
  }

  /// Writes a value several times.
  mutating func fill(_ range: Range<UInt32>, with value: Element) {
    precondition(range.upperBound <= count, "a range is within its slab")
    unsafe (base.unsafelyUnwrapped + Int(range.lowerBound))
      .update(repeating: value, count: range.count)
  }

  /// Copies values to another place of the slab; the two ranges may overlap.
  @inline(__always)
  mutating func move(_ range: Range<UInt32>, to start: UInt32) {
    let length = range.upperBound - range.lowerBound
    precondition(
      range.upperBound <= count && start <= count && length <= count - start,
      "a range is within its slab")
    guard length > 0 else { return }
    unsafe (base.unsafelyUnwrapped + Int(start))
      .update(from: base.unsafelyUnwrapped + Int(range.lowerBound), count: Int(length))
  }

  @inline(never)
  private mutating func grow(to needed: UInt32) {
    let larger = max(needed, capacity + capacity / 2, 4)
    let memory = UnsafeMutablePointer<Element>.allocate(capacity: Int(larger))
    if let old = unsafe base {
      unsafe memory.update(from: old, count: Int(count))
      unsafe old.deallocate()
    }
    unsafe base = memory
    capacity = larger
  }

  /// A slab with the same values in its own memory, without spare room.
  func clone() -> Slab {
    var copy = Slab()
    guard let base = unsafe base, count > 0 else { return copy }
    copy.grow(to: count)
    unsafe copy.base.unsafelyUnwrapped.update(from: base, count: Int(count))
    copy.count = count
    return copy
  }

  /// Reserves room for `total` values.
  mutating func reserve(_ total: UInt32) {
    if total > capacity { grow(to: total) }
  }

  /// Releases the memory; the slab is empty then.
  mutating func free() {
    unsafe base?.deallocate()
    unsafe base = nil
    count = 0
    capacity = 0
  }
}
