package import QueueModel
import SequenceCRDT

/// What is merged, from scratch: the notes of the editions that hold, cut by hand.
extension SlowState {
  /// The texts that a merged message was merged of, the earliest first and each once, nil for one that is
  /// not kept whole; none of a message that is not merged.
  package func versions(of id: MessageID) -> [String?] {
    switch status(of: id) {
    case .running, .succeeded: return []
    default: break
    }
    let editions = (messages[id]?.tags[.edition]?.holding ?? []).map { tag in
      (time: SlowState.time(of: tag.note), id: tag.id, rest: SlowState.rest(of: tag.note))
    }
    let own = Array(content(of: id).utf8)
    func isOwn(_ rest: [UInt8]) -> Bool {
      rest.first == 0x20
        ? Array(rest.dropFirst()) == own
        : rest == Array("#\(own.count)#\(String(SlowState.digest(of: own), radix: 16))".utf8)
    }
    guard editions.count >= 2, editions.contains(where: { !isOwn($0.rest) }) else { return [] }
    var versions: [[UInt8]] = []
    for edition in editions.sorted(by: { ($0.time, $0.id) < ($1.time, $1.id) })
    where !versions.contains(edition.rest) {
      versions.append(edition.rest)
    }
    return versions.map {
      $0.first == 0x20 ? String(decoding: $0.dropFirst(), as: UTF8.self) : nil
    }
  }

  private static func digits(of note: String) -> Int {
    note.utf8.prefix { (0x30...0x39).contains($0) }.count
  }

  private static func time(of note: String) -> Int64 {
    // A time that no number holds is none.
    Int64(String(decoding: note.utf8.prefix(digits(of: note)), as: UTF8.self)) ?? 0
  }

  /// The note without its time: a blank and the text, or the length and the digest.
  private static func rest(of note: String) -> [UInt8] {
    Array(note.utf8.dropFirst(digits(of: note)))
  }

  private static func digest(of bytes: [UInt8]) -> UInt64 {
    var digest: UInt64 = 0xCBF2_9CE4_8422_2325
    for byte in bytes { digest = (digest ^ UInt64(byte)) &* 0x100_0000_01B3 }
    return digest
  }
}
