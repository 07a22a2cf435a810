package import QueueModel
import SequenceCRDT

/// The saved texts, computed from scratch: the notes of the present editions, parsed by hand.
extension SlowState {
  /// A text that a user can choose, or that was too late.
  package struct Version: Equatable {
    /// nil if the whole text is not kept.
    package var text: String?
    package var device: String?
    package var time: Int64
  }

  /// The texts that were merged into a message: the earliest first, without repetitions and blank
  /// ones; none if the message is not merged.
  package func versions(of id: MessageID) -> [Version] {
    isMerged(id) ? versions(of: notes(of: id)) : []
  }

  /// The texts that were saved for a message and that its agent did not get.
  package func lateVersions(of id: MessageID) -> [Version] {
    guard hasStarted(id) else { return [] }
    let own = Array(content(of: id).utf8)
    return versions(of: notes(of: id).filter { $0.attempt == nil && !$0.says(own) })
  }

  /// Whether a message waits until a user checks it.
  package func isMerged(_ id: MessageID) -> Bool {
    let notes = notes(of: id)
    guard !hasStarted(id), notes.count >= 2, textOfAll(notes) == nil else { return false }
    let own = Array(letters(of: id).utf8)
    return notes.contains { !$0.says(own) }
  }

  /// The text that users see and agents get: the letters, unless two editions agree on a text, or
  /// an agent got a different one.
  package func content(of id: MessageID) -> String {
    let notes = notes(of: id)
    let letters = letters(of: id)
    if hasStarted(id) {
      let attempt = attempt(of: id)
      guard let ran = notes.first(where: { $0.attempt == attempt }), let text = ran.text else {
        return letters
      }
      return String(decoding: text, as: UTF8.self)
    }
    return textOfAll(notes) ?? letters
  }

  private func hasStarted(_ id: MessageID) -> Bool {
    status(of: id) == .running || status(of: id) == .succeeded
  }

  /// The text, if two editions or more all have the same.
  private func textOfAll(_ notes: [Note]) -> String? {
    guard notes.count >= 2, let text = notes[0].text, notes.allSatisfy({ $0.says(text) }) else {
      return nil
    }
    let all = String(decoding: text, as: UTF8.self)
    return all.unicodeScalars.allSatisfy(\.properties.isWhitespace) ? nil : all
  }

  private func versions(of notes: [Note]) -> [Version] {
    var shown: [(version: Version, rest: [UInt8])] = []
    for note in notes.sorted(by: { ($0.time, $0.id) < ($1.time, $1.id) }) {
      let text = note.text.map { String(decoding: $0, as: UTF8.self) }
      guard text?.unicodeScalars.allSatisfy(\.properties.isWhitespace) != true,
        !shown.contains(where: { $0.rest == note.rest })
      else { continue }
      let device = note.author ?? announcements[note.id.replica]?.name
      shown.append((Version(text: text, device: device, time: note.time), note.rest))
    }
    return shown.map(\.version)
  }

  private func notes(of id: MessageID) -> [Note] {
    (messages[id]?.tags[.edition]?.holding ?? []).map {
      Note(id: $0.id, bytes: Array($0.note.utf8))
    }
  }
}

/// A note of an edition, parsed by hand.
private struct Note {
  var id: OperationID
  var time: Int64
  var author: String?
  var attempt: UInt64?
  /// A blank and the text, or the length and the digest.
  var rest: [UInt8]

  init(id: OperationID, bytes: [UInt8]) {
    self.id = id
    rest = bytes
    // A time that does not fit in a number counts as none.
    time = Int64(Note.digits(of: &rest)) ?? 0
    if rest.first == UInt8(ascii: "@") {
      var behind = Array(rest.dropFirst())
      if let count = Int(Note.digits(of: &behind)), behind.first == UInt8(ascii: ":"),
        behind.count > count,
        let name = String(validating: behind.dropFirst().prefix(count), as: UTF8.self)
      {
        author = name
        rest = Array(behind.dropFirst(1 + count))
      }
    }
    if rest.first == UInt8(ascii: "!") {
      rest.removeFirst()
      attempt = UInt64(Note.digits(of: &rest)).flatMap { $0 > 0xFFFF ? nil : $0 }
    }
    // A note of a later version counts as a text that differs from all others.
    if rest.first != UInt8(ascii: " "), rest.first != UInt8(ascii: "#") {
      rest = Array("#0#0".utf8)
    }
  }

  /// The text; nil if it is not kept.
  var text: [UInt8]? { rest.first == UInt8(ascii: " ") ? Array(rest.dropFirst()) : nil }

  func says(_ content: [UInt8]) -> Bool {
    text.map { $0 == content }
      ?? (rest == Array("#\(content.count)#\(String(Note.digest(of: content), radix: 16))".utf8))
  }

  private static func digits(of bytes: inout [UInt8]) -> String {
    let digits = bytes.prefix { (0x30...0x39).contains($0) }
    bytes.removeFirst(digits.count)
    return String(decoding: digits, as: UTF8.self)
  }

  private static func digest(of bytes: [UInt8]) -> UInt64 {
    var digest: UInt64 = 0xCBF2_9CE4_8422_2325
    for byte in bytes { digest = (digest ^ UInt64(byte)) &* 0x100_0000_01B3 }
    return digest
  }
}
