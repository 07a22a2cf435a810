import SequenceCRDT

/// A whole text that somebody saved: what the note of an *edition* tag says.
///
/// Saving puts one and clears those that its author had seen. Two that are live were saved apart.
/// SPECIFICATION.md, section "Editions".
package struct Edition: Hashable, Sendable {
  enum Text: Hashable, Sendable {
    case whole(String)
    /// A text that is longer than `Limits.editionBytesMax`, by its UTF-8 bytes.
    case long(bytes: Int, digest: UInt64)
  }

  /// When it was saved by its author's own clock, in milliseconds since 1970.
  var milliseconds: Int64
  var text: Text

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

  /// Reads a note; what a later version wrote is a text that is no other.
  package init(note: String) {
    let time = note.utf8.prefix { (0x30...0x39).contains($0) }
    milliseconds = Int64(Substring(time)) ?? 0
    let rest = note[time.endIndex...]
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

  /// What its tag holds.
  var note: String {
    switch text {
    case .whole(let content): "\(milliseconds) \(content)"
    case .long(let bytes, let digest): "\(milliseconds)#\(bytes)#\(String(digest, radix: 16))"
    }
  }

  /// The note with the length and the digest in place of the text: a name for it.
  var shortNote: String {
    guard case .whole(let content) = text else { return note }
    let short = Text.long(bytes: content.utf8.count, digest: Edition.digest(of: content))
    return Edition(milliseconds: milliseconds, text: short).note
  }

  /// The text; nil of one that is kept as a length and a digest.
  package var wholeText: String? {
    if case .whole(let content) = text { content } else { nil }
  }

  /// Whether it says what a text says, to the last byte.
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

/// One of the texts that were saved apart and merged: what a person chooses among.
public struct MessageVersion: Hashable, Sendable {
  /// The text; nil if it is longer than `Limits.editionBytesMax`, and cannot be chosen therefore.
  public var text: String?
  /// UTF-8 bytes of the text.
  public var bytes: Int
  /// Who saved it; nil if its announcement is not known.
  public var device: DeviceView?
  /// When it was saved by the clock of that device, in milliseconds since 1970.
  public var savedAt: Int64
  /// Of a text that is not here, to know it again.
  var digest: UInt64 = 0
  /// Its edition. Versions are equal without it: an undo that puts a text again makes another one.
  var id = OperationID(replica: ReplicaID(rawValue: 0), seq: 0)

  /// Compares what a person sees of them.
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

/// Which text of a merged message counts.
public enum VersionChoice: Hashable, Sendable {
  /// One of its versions, from 1.
  case version(Int)
  /// The merged text, as it is.
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
  /// The text that a choice stands for.
  ///
  /// - Parameter base: what its person saw: a number counts the versions of then. nil is all there is.
  /// - Throws: `QueueError.messageNotMerged`, `.versionNotFound`, or `.versionTooLong` of one that is not
  ///   kept.
  public func text(
    choosing choice: VersionChoice, among base: EditBase? = nil
  ) throws(QueueError) -> String {
    guard isMerged else { throw .messageNotMerged(id: id.description) }
    guard case .version(let number) = choice else { return content }
    let versions = versions.filter { base?.editions.contains($0.id) ?? true }
    guard versions.indices.contains(number - 1) else {
      throw .versionNotFound(number: number, count: versions.count)
    }
    let version = versions[number - 1]
    guard let text = version.text else {
      throw .versionTooLong(number: number, bytes: version.bytes, id: id.description)
    }
    return text
  }
}

extension [WorkspaceImage.Tag] {
  /// Whether these, the live editions of a message, were saved apart and somebody has to look at the
  /// merged text: a text that all of them hold is what everybody wanted.
  ///
  /// - Complexity: O(1) of fewer than two, else O(texts).
  func areMerged(into content: () -> String) -> Bool {
    guard count >= 2 else { return false }
    let content = content()
    return !allSatisfy { Edition(note: $0.note).holds(content) }
  }
}

extension ShownMessage {
  /// Whether it waits until somebody chooses a text; under `run`, too, if nothing is left of the merged one.
  func waitsForChoice(under policy: MergePolicy?) -> Bool {
    isMerged && (policy != .run || text().trimmedOfWhitespace().isEmpty)
  }

  /// The texts that wait for a look beside the merged one, the earliest first; equal ones once. None if
  /// the message is not merged.
  func versions(of device: (ReplicaID) -> DeviceView?) -> [MessageVersion] {
    guard isMerged else { return [] }
    var seen: Set<String> = []
    return editions.map { (id: $0.id, edition: Edition(note: $0.note)) }
      .sorted { ($0.edition.milliseconds, $0.id) < ($1.edition.milliseconds, $1.id) }
      .compactMap { id, edition in
        let untimed = Edition(milliseconds: 0, text: edition.text)
        guard seen.insert(untimed.shortNote).inserted else { return nil }
        var version = MessageVersion(
          text: nil, bytes: 0, device: device(id.replica), savedAt: edition.milliseconds)
        version.id = id
        return version.holding(edition.text)
      }
  }
}

extension Edition {
  /// The texts of the live editions of a message, merged or not, with who made each; without those that are
  /// not kept whole.
  package static func shown(
    of id: MessageID, in workspace: Workspace
  ) -> [(device: DeviceID?, text: String)] {
    (workspace.shownMessage(id)?.editions ?? []).compactMap { tag in
      Edition(note: tag.note).wholeText.map { (workspace.device(of: tag.id.replica)?.id, $0) }
    }
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
