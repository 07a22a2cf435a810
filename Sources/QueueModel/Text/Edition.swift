import SequenceCRDT

/// A whole text that a user saved: the content of the note of an *edition* tag.
///
/// Saving adds an edition and clears those that its author had seen. Two live editions were saved
/// independently. SPECIFICATION.md, section "Editions".
package struct Edition: Hashable, Sendable {
  enum Text: Hashable, Sendable {
    case whole(String)
    /// A text that is longer than `Limits.editionBytesMax`: its number of UTF-8 bytes.
    case long(bytes: Int, digest: UInt64)
  }

  /// When it was saved, by its author's own clock, in milliseconds since 1970.
  var milliseconds: Int64
  var text: Text
  /// The name of the device whose user saved it; nil if that device made the operation.
  var author: String?
  /// The attempt whose agent got this text. No user saved it, and it is not too late for that
  /// attempt.
  var attempt: UInt16?

  init(of content: String, milliseconds: Int64) {
    self.milliseconds = milliseconds
    let bytes = content.utf8.count
    text =
      bytes <= Limits.editionBytesMax
      ? .whole(content) : .long(bytes: bytes, digest: Edition.digest(of: content))
  }

  init(milliseconds: Int64, text: Text) {
    self.milliseconds = milliseconds
    self.text = text
  }

  /// Reads a note. A note of a later version counts as a text that differs from every other.
  package init(note: String) {
    var reader = NoteReader(rest: note[...])
    milliseconds = Int64(reader.digits()) ?? 0
    author = reader.author()
    if reader.takes("!") { attempt = UInt16(reader.digits()) }
    let rest = reader.rest
    switch rest.utf8.first {
    case UInt8(ascii: " "):
      text = .whole(String(Substring(rest.unicodeScalars.dropFirst())))
    case UInt8(ascii: "#"):
      let parts = rest.dropFirst().split(separator: "#", maxSplits: 1)
      text = .long(
        bytes: parts.first.flatMap { Int($0) } ?? 0,
        digest: parts.last.flatMap { UInt64($0, radix: 16) } ?? 0)
    default:
      text = .long(bytes: 0, digest: 0)
    }
  }

  /// The note of its tag.
  var note: String {
    let name = author.map { $0.cut(toUTF8Bytes: Edition.authorBytesMax) }
    let head =
      "\(milliseconds)" + (name.map { "@\($0.utf8.count):\($0)" } ?? "")
      + (attempt.map { "!\($0)" } ?? "")
    return switch text {
    case .whole(let content): head + " " + content
    case .long(let bytes, let digest): head + "#\(bytes)#\(String(digest, radix: 16))"
    }
  }

  /// The number of UTF-8 bytes of a name that are kept.
  private static let authorBytesMax = 255

  /// The time, the author, the length and the digest: a name for the edition, whichever device adds
  /// it. The author is needed because two devices may save one text in the same millisecond.
  ///
  /// - Parameter name: the author's device.
  func shortNote(by name: String?) -> String {
    var short = Edition(milliseconds: milliseconds, text: text)
    short.author = name
    if case .whole(let content) = text {
      short.text = .long(bytes: content.utf8.count, digest: Edition.digest(of: content))
    }
    return short.note
  }

  /// This edition as a different device adds it.
  ///
  /// - Parameters:
  ///   - writer: the name of the device that made its operation.
  ///   - other: the name of the device that adds it now.
  func put(by other: String?, of writer: String?) -> Edition {
    var edition = self
    let name = author ?? writer
    edition.author = name == other ? nil : name
    return edition
  }

  /// The text; nil if only its length and digest are kept.
  package var wholeText: String? {
    if case .whole(let content) = text { content } else { nil }
  }

  /// The text, if a user could choose it: it is complete, and it is not blank.
  var choosableText: String? {
    guard let wholeText, !wholeText.trimmedOfWhitespace().isEmpty else { return nil }
    return wholeText
  }

  /// Whether it equals a text, byte by byte.
  func holds(_ content: String) -> Bool {
    switch text {
    case .whole(let own): own.utf8.elementsEqual(content.utf8)
    case .long(let bytes, let digest):
      bytes == content.utf8.count && digest == Edition.digest(of: content)
    }
  }

  /// FNV-1a over the UTF-8 bytes.
  package static func digest(of content: String) -> UInt64 {
    content.utf8.reduce(0xCBF2_9CE4_8422_2325) { ($0 ^ UInt64($1)) &* 0x100_0000_01B3 }
  }
}

/// One of the texts that were saved independently and merged, from which a user chooses.
public struct MessageVersion: Hashable, Sendable {
  /// The text; nil if it is longer than `Limits.editionBytesMax`, so that it cannot be chosen.
  public var text: String?
  /// UTF-8 bytes of the text.
  public var bytes: Int
  /// The name of the device that saved it; nil if its announcement is not known.
  public var device: String?
  /// When it was saved, by the clock of that device, in milliseconds since 1970.
  public var savedAt: Int64
  /// The attempt whose agent got this text; nil if a user saved it.
  public var attempt: UInt16?
  /// The digest of a text that is not kept, to recognize it.
  var digest: UInt64 = 0
  /// The operation that added its edition. Comparisons ignore it, because an undo that restores a
  /// text adds a new edition.
  var id = OperationID(replica: ReplicaID(rawValue: 0), seq: 0)

  /// Compares the parts that a user sees.
  public static func == (one: MessageVersion, other: MessageVersion) -> Bool {
    one.text == other.text && one.bytes == other.bytes && one.device == other.device
      && one.savedAt == other.savedAt && one.digest == other.digest
  }

  /// Hashes the text and its time.
  public func hash(into hasher: inout Hasher) {
    hasher.combine(text)
    hasher.combine(savedAt)
  }
}

/// A choice among the texts of a merged message.
public enum VersionChoice: Hashable, Sendable {
  /// One of its versions, from 1.
  case version(Int)
  /// The merged text, unchanged.
  case merged

  /// Reads a number, or `merged`.
  public init?(_ name: some StringProtocol) {
    if name == "merged" {
      self = .merged
    } else if let number = Int(name), number > 0 {
      self = .version(number)
    } else {
      return nil
    }
  }
}

extension MessageView {
  /// The text that a choice names.
  ///
  /// - Parameter base: the state that the user saw, because a number counts the versions of that
  ///   state; nil for the current state.
  /// - Throws: `QueueError.messageNotMerged`, `.versionNotFound`, `.versionTooLong` if the version
  ///   is not kept, or `.mergedTextBlank`.
  public func text(
    choosing choice: VersionChoice, among base: EditBase? = nil
  ) throws(QueueError) -> String {
    guard isMerged else { throw .messageNotMerged(id: id.description) }
    guard case .version(let number) = choice else {
      guard !content.trimmedOfWhitespace().isEmpty else {
        throw .mergedTextBlank(id: id.description)
      }
      return content
    }
    let versions = versions.filter { base?.editions.contains($0.id) ?? true }
    guard versions.indices.contains(number - 1) else {
      throw .versionNotFound(
        number: number, count: versions.count,
        takesMerged: !content.trimmedOfWhitespace().isEmpty)
    }
    let version = versions[number - 1]
    guard let text = version.text else {
      throw .versionTooLong(number: number, bytes: version.bytes, id: id.description)
    }
    return text
  }
}

extension [WorkspaceImage.Tag] {
  /// The text that all of a message's live editions hold, if there are two or more. It was saved
  /// independently several times, and its letters may be there twice. nil if the texts differ, or
  /// the text is blank or incomplete.
  ///
  /// - Complexity: O(1) for fewer than two, else O(texts).
  var textOfAll: String? {
    guard count >= 2, let text = first.flatMap({ Edition(note: $0.note).choosableText }),
      dropFirst().allSatisfy({ Edition(note: $0.note).holds(text) })
    else { return nil }
    return text
  }

  /// The text that the agent of an attempt got, if a user changed it since.
  func ran(in attempt: UInt16) -> Edition? {
    lazy.map { Edition(note: $0.note) }.first { $0.attempt == attempt }
  }

  /// Whether these were saved independently, so that a user must check the merged text. If all of
  /// them hold the same text, no check is needed.
  ///
  /// - Complexity: O(1) for fewer than two, else O(texts).
  func areMerged(into content: () -> String) -> Bool {
    guard count >= 2, textOfAll == nil else { return false }
    let content = content()
    return !allSatisfy { Edition(note: $0.note).holds(content) }
  }
}

extension ShownMessage {
  /// The content.
  ///
  /// - Complexity: O(text), and O(texts) if there are saved ones.
  func text() -> String {
    let editions = editions
    guard !editions.isEmpty else { return letters() }
    if hasStarted {
      return editions.ran(in: runState.run?.attempt ?? 0)?.wholeText ?? letters()
    }
    return editions.textOfAll ?? letters()
  }

  /// Whether texts that were saved independently were merged and wait for a check.
  ///
  /// - Complexity: O(1) for a message that was not edited in two places, else O(texts).
  var isMerged: Bool { !hasStarted && editions.areMerged(into: letters) }

  /// Whether its agent has it or has finished it, so that a text saved now is too late.
  var hasStarted: Bool { runState.isInFlight || runState.run?.phase == .succeeded }

  /// Whether it waits until a user chooses a text. Under `run`, it waits only if nothing is left of
  /// the merged text.
  func waitsForChoice(under policy: MergePolicy?) -> Bool {
    isMerged && (policy != .run || letters().trimmedOfWhitespace().isEmpty)
  }

  /// The texts that wait for a check in addition to the merged one, or those that did not reach its
  /// agent, the earliest first. Equal texts occur once. Blank texts are omitted, because no user
  /// could choose them.
  func savedTexts(of device: (ReplicaID) -> DeviceView?) -> SavedTexts {
    let editions = editions
    var saved = SavedTexts()
    if editions.isEmpty { return saved }
    if hasStarted {
      let text = text()
      saved.late = editions.filter { tag in
        let edition = Edition(note: tag.note)
        return edition.attempt == nil && !edition.holds(text)
      }.versions(of: device)
    } else if isMerged {
      saved.isMerged = true
      saved.versions = editions.versions(of: device)
    }
    return saved
  }

  /// The content, if it differs from the text of the letters because the editions agree on it.
  var textBesidesLetters: String? {
    guard !hasStarted, let text = editions.textOfAll, !text.utf8.elementsEqual(letters().utf8)
    else { return nil }
    return text
  }
}

extension [WorkspaceImage.Tag] {
  fileprivate func versions(of device: (ReplicaID) -> DeviceView?) -> [MessageVersion] {
    var seen: Set<String> = []
    return map { (id: $0.id, edition: Edition(note: $0.note)) }
      .sorted { ($0.edition.milliseconds, $0.id) < ($1.edition.milliseconds, $1.id) }
      .compactMap { id, edition in
        let untimed = Edition(milliseconds: 0, text: edition.text)
        guard edition.wholeText == nil || edition.choosableText != nil,
          seen.insert(untimed.shortNote(by: nil)).inserted
        else { return nil }
        var version = MessageVersion(
          text: nil, bytes: 0, device: edition.author ?? device(id.replica)?.name,
          savedAt: edition.milliseconds)
        version.id = id
        version.attempt = edition.attempt
        return version.holding(edition.text)
      }
  }
}

extension WorkspaceImage.Tag {
  /// The short note of this edition, with the device that saved it.
  func shortNote(in workspace: Workspace) -> String {
    let edition = Edition(note: note)
    return edition.shortNote(by: edition.author ?? workspace.device(of: id.replica)?.name)
  }
}

extension Edition {
  /// The content of a message, if its letters make a different text.
  package static func besidesLetters(of id: MessageID, in workspace: Workspace) -> String? {
    workspace.shownMessage(id)?.textBesidesLetters
  }

  /// The live texts that users saved for a message, merged or not, each with its author. Texts that
  /// are not kept whole are omitted.
  package static func shown(
    of id: MessageID, in workspace: Workspace
  ) -> [(device: DeviceID?, text: String)] {
    (workspace.shownMessage(id)?.editions ?? []).compactMap { tag in
      let edition = Edition(note: tag.note)
      guard edition.attempt == nil else { return nil }
      return edition.wholeText.map { (workspace.device(of: tag.id.replica)?.id, $0) }
    }
  }
}

extension Workspace {
  /// The text that a user of another device saved last for a message, if it is the visible one. nil
  /// if a user of this device saved it, if it was never edited, or if several texts were merged.
  ///
  /// - Parameter device: this device.
  package func textSavedElsewhere(of id: MessageID, than device: DeviceID) -> MessageVersion? {
    guard let editions = shownMessage(id)?.editions, editions.count == 1,
      let version = editions.versions(of: self.device(of:)).first, version.attempt == nil
    else { return nil }
    let writer = self.device(of: version.id.replica)
    return writer?.id == device && writer?.name == version.device ? nil : version
  }
}

/// Reads the beginning of a note, field by field.
private struct NoteReader {
  var rest: Substring

  mutating func takes(_ sign: Character) -> Bool {
    guard rest.utf8.first == sign.asciiValue else { return false }
    rest = Substring(rest.utf8.dropFirst())
    return true
  }

  mutating func digits() -> Substring {
    let digits = Substring(rest.utf8.prefix { (0x30...0x39).contains($0) })
    rest = rest[digits.endIndex...]
    return digits
  }

  /// A name after its length; nil, without reading anything, if there is none.
  mutating func author() -> String? {
    var reader = self
    guard reader.takes("@"), let count = Int(reader.digits()), reader.takes(":") else { return nil }
    let scalars = reader.rest.unicodeScalars
    var (end, bytes) = (scalars.startIndex, 0)
    while bytes < count, end < scalars.endIndex {
      bytes += UTF8.width(scalars[end])
      scalars.formIndex(after: &end)
    }
    guard bytes == count else { return nil }
    rest = reader.rest[end...]
    return String(reader.rest[..<end])
  }
}

extension MessageVersion {
  fileprivate func holding(_ text: Edition.Text) -> MessageVersion {
    var version = self
    switch text {
    case .whole(let content): (version.text, version.bytes) = (content, content.utf8.count)
    case .long(let bytes, let digest): (version.bytes, version.digest) = (bytes, digest)
    }
    return version
  }
}
