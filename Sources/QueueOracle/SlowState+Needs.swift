package import QueueModel
import SequenceCRDT

/// The messages that a message waits for, in the plainest form.
extension SlowState {
  /// The words of the register that are ids, at most 16.
  package func needs(of message: MessageID) -> [MessageID] {
    guard case .text(let text)? = messages[message]?.registers[RegisterField(rawValue: 17)]?.value
    else { return [] }
    let ids = text.split(separator: " ").compactMap { word in
      word.utf8.count == 36 ? MessageID(word) : nil
    }
    return Array(ids.prefix(16))
  }

  /// The needs of a message that are not met: the messages that have not succeeded, except those
  /// that were queued after it and in turn need it.
  package func unmetNeeds(of message: MessageID) -> [MessageID] {
    needs(of: message).filter { need in
      if status(of: need) == .succeeded { return false }
      guard messages[need] != nil else { return true }
      return !(wasQueued(message, beforeOrAs: need) && needed(by: need).contains(message))
    }
  }

  private func wasQueued(_ message: MessageID, beforeOrAs other: MessageID) -> Bool {
    func stamp(_ id: MessageID) -> Stamp {
      messages[id]?.additions.values.map(\.stamp).min() ?? .zero
    }
    return (stamp(message), message) <= (stamp(other), other)
  }

  /// A message with all that it needs, directly or indirectly.
  private func needed(by message: MessageID) -> Set<MessageID> {
    var all: Set<MessageID> = [message]
    while true {
      let more = all.union(all.flatMap(needs))
      if more == all { return all }
      all = more
    }
  }
}
