/// A value that copies share until one of them changes, behind one reference.
///
/// Copying a large value retains each array in it, and touches the memory of each. A command reads
/// the states of a message and its session many times, and a copied shard copies all of its states.
struct Shared<Value: Sendable>: Sendable {
  /// Safe to send: a box with more than one owner is read only.
  private final class Box: @unchecked Sendable {
    /// Changed only through `inout self` of its single owner, which the compiler checks.
    @exclusivity(unchecked) var value: Value

    init(_ value: Value) {
      self.value = value
    }
  }

  private var box: Box

  init(_ value: Value) {
    box = Box(value)
  }

  var value: Value {
    @inline(__always) _read { yield box.value }
    @inline(__always) _modify {
      if !isKnownUniquelyReferenced(&box) { box = Box(box.value) }
      yield &box.value
    }
  }
}
