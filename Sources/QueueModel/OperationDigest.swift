import SequenceCRDT

/// The rolling 64-bit digest of one replica's operations, unit by unit.
///
/// Two devices that know the same operations of a replica have the same digest, however the
/// operations were cut into runs; the same (replica, seq) with other content shows as a different
/// digest. It detects faults and forks; it is no protection against forgery.
/// Source: SPECIFICATION.md, section "Digest".
package struct OperationDigest: Hashable, Sendable {
  /// The digest; 0 before the first operation.
  package private(set) var value: UInt64

  package init(value: UInt64 = 0) {
    self.value = value
  }

  /// Takes in all units of an operation.
  package mutating func add(_ operation: Operation) {
    switch operation.body {
    case .insertText(let insertion):
      addInsertion(insertion, at: operation.id)
    case .deleteText(let deletion):
      for unit in 0..<deletion.count {
        begin(kind: 5, seq: seq(operation.id, unit))
        add(deletion.message)
        add(
          OperationID(
            replica: deletion.first.replica,
            seq: seq(deletion.first, deletion.backwards ? deletion.count - 1 - unit : unit)))
      }
    default:
      addSingle(operation)
    }
  }

  private func seq(_ id: OperationID, _ offset: Int) -> UInt32 {
    id.seq &+ UInt32(truncatingIfNeeded: offset)
  }

  private mutating func addInsertion(_ insertion: Operation.InsertText, at id: OperationID) {
    var left = insertion.origins.left
    for (unit, scalar) in insertion.text.unicodeScalars.enumerated() {
      let seq = seq(id, unit)
      begin(kind: 4, seq: seq)
      add(insertion.message)
      add(left)
      add(insertion.origins.right)
      add(UInt64(scalar.value))
      left = OperationID(replica: id.replica, seq: seq)
    }
  }

  private mutating func addSingle(_ operation: Operation) {
    let seq = operation.id.seq
    switch operation.body {
    case .announceDevice(let device, let name):
      begin(kind: 1, seq: seq)
      add(device)
      add(name)
    case .openSession(let session, let clears):
      begin(kind: 2, seq: seq)
      add(session.rawValue)
      add(clears)
    case .addMessage(let addition):
      begin(kind: 3, seq: seq)
      add(addition.message)
      add(addition.session)
      add(addition.origins)
      add(addition.stamp.rawValue)
      add(UInt64(addition.priority.rawValue))
      add(addition.clears)
    case .insertText, .deleteText:
      break
    case .placeMessage(let message, let session, let origins, let stamp):
      begin(kind: 6, seq: seq)
      add(message)
      add(session)
      add(origins)
      add(stamp.rawValue)
    case .placeThread(let session, let origins, let stamp):
      begin(kind: 7, seq: seq)
      add(session)
      add(origins)
      add(stamp.rawValue)
    case .enqueueThread(let enqueue):
      begin(kind: 8, seq: seq)
      add(enqueue.session)
      add(enqueue.origins)
      add(enqueue.stamp.rawValue)
      add(enqueue.clearsQueued)
      add(enqueue.locks ? 1 : 0)
      add(enqueue.clearsLocked)
    case .addTag(let element, let field, let clears, let note):
      begin(kind: 9, seq: seq)
      add(element)
      add(UInt64(field.rawValue))
      add(clears)
      add(note)
    case .clearTags(let element, let field, let clears):
      begin(kind: 10, seq: seq)
      add(element)
      add(UInt64(field.rawValue))
      add(clears)
    case .setRegister(let element, let field, let value, let stamp):
      begin(kind: 11, seq: seq)
      add(element)
      add(UInt64(field.rawValue))
      switch value {
      case .number(let number):
        add(0)
        add(number)
      case .text(let text):
        add(1)
        add(text)
      }
      add(stamp.rawValue)
    }
  }

  private mutating func begin(kind: UInt64, seq: UInt32) {
    add(kind << 32 | UInt64(seq))
  }

  /// One word: xor, multiply by an odd constant, fold the upper half down.
  private mutating func add(_ word: UInt64) {
    value = (value ^ word) &* 0x9E37_79B9_7F4A_7C15
    value ^= value >> 32
  }

  private mutating func add(_ id: OperationID) {
    add(id.replica.rawValue)
    add(UInt64(id.seq))
  }

  /// A missing origin counts as replica 0, seq 0, which no operation has.
  private mutating func add(_ id: OperationID?) {
    add(id?.replica.rawValue ?? 0)
    add(UInt64(id?.seq ?? 0))
  }

  private mutating func add(_ origins: Operation.Origins) {
    add(origins.left)
    add(origins.right)
  }

  private mutating func add(_ ids: [OperationID]) {
    add(UInt64(ids.count))
    for id in ids { add(id) }
  }

  private mutating func add(_ identifier: some UniqueIdentifier) {
    add(identifier.high)
    add(identifier.low)
  }

  /// The byte count, then the UTF-8 bytes, eight to a word, the first in the lowest bits.
  private mutating func add(_ text: String) {
    add(UInt64(text.utf8.count))
    var word: UInt64 = 0
    var filled: UInt64 = 0
    for byte in text.utf8 {
      word |= UInt64(byte) << (8 * filled)
      filled += 1
      if filled == 8 {
        add(word)
        word = 0
        filled = 0
      }
    }
    if filled > 0 { add(word) }
  }
}
