/// Shares one core among copies of a sequence.
///
/// The core is behind a pointer, so that changes are not checked for overlapping accesses at run
/// time: `RunSequence` changes it only through `inout self`, which the compiler checks.
///
/// Safe to send: a core with more than one owner is read only.
@safe
final class SequenceStorage: @unchecked Sendable {
  let core: UnsafeMutablePointer<SequenceCore>

  init(_ core: consuming SequenceCore) {
    unsafe self.core = .allocate(capacity: 1)
    unsafe self.core.initialize(to: core)
  }

  deinit {
    unsafe core.deinitialize(count: 1)
    unsafe core.deallocate()
  }

  func copy() -> SequenceStorage {
    unsafe SequenceStorage(core.pointee.clone())
  }
}
