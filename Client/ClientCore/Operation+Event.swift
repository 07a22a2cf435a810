import QueueModel
import SequenceCRDT

/// An operation id belongs to one event: that somebody typed a text, queued a message, and so on.
/// The same event can have several forms, since places are found anew for another epoch and stamps
/// are moved down; SPECIFICATION.md, section "Forms".
extension Operation {
  /// Whether both, which have the same id and as many units, are forms of one event.
  func isSameEvent(as other: Operation) -> Bool {
    switch (body, other.body) {
    case (.announceDevice(let mine, _), .announceDevice(let theirs, _)):
      mine == theirs
    case (.openSession(let mine, _), .openSession(let theirs, _)):
      mine == theirs
    case (.addMessage(let mine), .addMessage(let theirs)):
      mine.message == theirs.message && mine.session == theirs.session
    case (.insertText(let mine), .insertText(let theirs)):
      mine.message == theirs.message && mine.text.utf8.elementsEqual(theirs.text.utf8)
    case (.deleteText(let mine), .deleteText(let theirs)):
      mine.message == theirs.message && mine.targets == theirs.targets
    case (.deleteText(let deletion), .clearTags(let element, .live, let clears)),
      (.clearTags(let element, .live, let clears), .deleteText(let deletion)):
      // What is left of a deletion whose scalar a base dropped.
      element == deletion.message && clears.isEmpty
    case (.placeMessage(let mine, let here, _, _), .placeMessage(let theirs, let there, _, _)):
      mine == theirs && here == there
    case (.placeThread(let mine, _, _), .placeThread(let theirs, _, _)):
      mine == theirs
    case (.enqueueThread(let mine), .enqueueThread(let theirs)):
      mine.session == theirs.session && mine.locks == theirs.locks
    case (.addTag(let mine, let field, _, let note), .addTag(let theirs, let other, _, let words)):
      mine == theirs && field == other && note == words
    case (.clearTags(let mine, let field, _), .clearTags(let theirs, let other, _)):
      mine == theirs && field == other
    case (
      .setRegister(let mine, let field, let value, _),
      .setRegister(let theirs, let other, let written, _)
    ):
      mine == theirs && field == other && value == written
    default:
      false
    }
  }

  /// How many units at the start are the same event in both, which are not the same in all.
  func unitsAlike(with other: Operation) -> UInt32 {
    guard case .insertText(let mine) = body, case .insertText(let theirs) = other.body,
      mine.message == theirs.message
    else { return 0 }
    let pairs = zip(mine.text.unicodeScalars, theirs.text.unicodeScalars)
    return UInt32(clamping: pairs.prefix { $0 == $1 }.count)
  }

  /// The replica under which its own one is authored anew from this operation on: all who do it
  /// choose the same one, and what they have alike stays one.
  var successorReplica: ReplicaID {
    id.successorReplica(beginning: beginning(text.first))
  }

  /// The same for forks that begin with the units of this operation, in their order.
  var successorReplicas: [ReplicaID] {
    var scalars = text.makeIterator()
    return (0..<length).map { offset in
      OperationID(replica: id.replica, seq: id.seq &+ UInt32(offset))
        .successorReplica(beginning: beginning(scalars.next()))
    }
  }

  private var text: String.UnicodeScalarView {
    if case .insertText(let insertion) = body { insertion.text.unicodeScalars } else { .init() }
  }

  private func beginning(_ scalar: Unicode.Scalar?) -> SuccessorBeginning {
    switch body {
    case .addMessage(let addition): .message(addition.message)
    case .insertText(let insertion): .text(insertion.message, scalar)
    default: .other
    }
  }
}

/// What the first operation that is authored anew does, as far as its new replica id follows from it.
enum SuccessorBeginning {
  case message(MessageID)
  case text(OperationID, Unicode.Scalar?)
  case other
}

extension OperationID {
  /// The replica under which what begins with this operation is authored anew.
  func successorReplica(beginning: SuccessorBeginning) -> ReplicaID {
    var digest = replica.rawValue
    func add(_ word: UInt64) {
      digest = (digest ^ word) &* 0x9E37_79B9_7F4A_7C15
      digest ^= digest >> 32
    }
    add(UInt64(seq))
    switch beginning {
    case .message(let message):
      add(1)
      add(message.high)
      add(message.low)
    case .text(let message, let scalar):
      add(2)
      add(message.replica.rawValue)
      add(UInt64(message.seq))
      add(UInt64(scalar?.value ?? 0))
    case .other:
      add(3)
    }
    return ReplicaID(rawValue: digest == 0 ? 1 : digest)
  }
}

extension Operation.DeleteText {
  /// What the units delete, in their order.
  fileprivate var targets: [OperationID] {
    (0..<max(count, 0)).compactMap { unit in
      first.advanced(by: backwards ? count - 1 - unit : unit)
    }
  }
}

extension [Operation] {
  /// Cuts the operations of one replica and those of another source, both in the order of their
  /// ids, at the same places.
  ///
  /// - Returns: pieces with the same ids that both have.
  func aligned(with others: [Operation]) -> [(mine: Operation, theirs: Operation)] {
    var pairs: [(mine: Operation, theirs: Operation)] = []
    var (index, place) = (0, 0)
    var mine = first
    var theirs = others.first
    while let left = mine, let right = theirs {
      let start = Swift.max(left.id.seq, right.id.seq)
      guard let one = left.droppingFirst(Int(start - left.id.seq)) else {
        index += 1
        mine = index < count ? self[index] : nil
        continue
      }
      guard let other = right.droppingFirst(Int(start - right.id.seq)) else {
        place += 1
        theirs = place < others.count ? others[place] : nil
        continue
      }
      let length = Swift.min(one.length, other.length)
      if let here = one.keepingFirst(length), let there = other.keepingFirst(length) {
        pairs.append((here, there))
      }
      mine = one.droppingFirst(length)
      theirs = other.droppingFirst(length)
      if mine == nil {
        index += 1
        mine = index < count ? self[index] : nil
      }
      if theirs == nil {
        place += 1
        theirs = place < others.count ? others[place] : nil
      }
    }
    return pairs
  }
}
