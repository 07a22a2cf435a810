/// The editions of a merged message in a document: a message that is merged at export is also
/// merged after import.
extension WorkspaceDocument.Edition {
  package init(_ version: MessageVersion) {
    self.init(savedAt: DocumentTime(version.savedAt))
    device = version.device
    content = version.text
    if version.text == nil {
      bytes = version.bytes
      digest = String(version.digest, radix: 16)
    }
  }

  fileprivate var fault: String? {
    if savedAt.milliseconds < 0 { return "savedAt: it is before 1970" }
    if let device, device.utf8.count > Limits.nameBytesMax {
      return "device: it is longer than \(Limits.nameBytesMax) bytes"
    }
    if let content {
      return content.utf8.count > Limits.editionBytesMax
        ? "content: it is longer than \(Limits.editionBytesMax) bytes" : nil
    }
    guard let bytes, bytes >= 0 else { return "bytes: a text without content needs its length" }
    guard digest.flatMap({ UInt64($0, radix: 16) }) != nil else {
      return "digest: a text without content needs its digest"
    }
    return nil
  }

  fileprivate var note: String {
    let text: Edition.Text =
      content.map { .whole($0) }
      ?? .long(bytes: bytes ?? 0, digest: digest.flatMap { UInt64($0, radix: 16) } ?? 0)
    var edition = Edition(milliseconds: savedAt.milliseconds, text: text)
    edition.author = device
    return edition.note
  }
}

extension WorkspaceDocument.Message {
  /// The maximum number of versions of one message; users never save more versions independently.
  private static let editionsMax = 100

  var editionsFault: String? {
    guard let editions else { return nil }
    if editions.count > WorkspaceDocument.Message.editionsMax {
      return "editions: more than \(WorkspaceDocument.Message.editionsMax)"
    }
    for (index, edition) in editions.enumerated() {
      if let fault = edition.fault { return "editions[\(index)].\(fault)" }
    }
    return nil
  }

  /// The notes of its editions. A blank text is omitted, because no user could choose it. If only
  /// one is left, the merged text is added.
  var editionNotes: [String] {
    let notes = (editions ?? [])
      .filter { $0.content.map { !$0.trimmedOfWhitespace().isEmpty } ?? true }.map(\.note)
    return notes.count == 1
      ? notes + [Edition(of: content, milliseconds: createdAt.milliseconds).note] : notes
  }

  /// The approximate size of its editions, in bytes.
  var editionBytes: Int {
    editionNotes.reduce(0) { $0 + CommandAuthor.operationBytes + $1.utf8.count }
  }
}
