/// A file that is attached to a message, as replicas know it. Its bytes are stored by their hash,
/// outside the log.
public struct Attachment: Hashable, Sendable {
  /// The SHA-256 of the bytes: the attachment's permanent name.
  public let hash: ContentHash
  /// Its name for users.
  public let name: String
  /// The media type, such as `image/png`.
  public let mediaType: String
  /// How many bytes it has.
  public let size: Int

  /// Creates a description of a file.
  ///
  /// - Throws: `QueueError.invalidAttachment` if a part cannot be used.
  public init(
    hash: ContentHash, name: String, mediaType: String, size: Int
  ) throws(QueueError) {
    guard (1...Limits.attachmentBytesMax).contains(size) else {
      throw .invalidAttachment(
        reason: size < 1
          ? "it is empty" : "it has \(size) bytes; the limit is \(Limits.attachmentBytesMax)")
    }
    guard Attachment.isName(name) else {
      throw .invalidAttachment(
        reason: "its name must have 1 to \(Limits.attachmentNameBytesMax) bytes, without slashes "
          + "and control characters")
    }
    guard Attachment.isMediaType(mediaType) else {
      throw .invalidAttachment(reason: "\"\(mediaType)\" is not a media type such as image/png")
    }
    self.hash = hash
    self.name = name
    self.mediaType = mediaType
    self.size = size
  }

  /// Reads the note of an attachment's tag; nil if it is something else.
  package init?(note: String) {
    let parts = note.split(separator: " ", maxSplits: 3, omittingEmptySubsequences: false)
    guard parts.count == 4, let hash = ContentHash(parts[0]), let size = Int(parts[1]),
      String(size) == parts[1]
    else { return nil }
    do {
      try self.init(hash: hash, name: String(parts[3]), mediaType: String(parts[2]), size: size)
    } catch {
      return nil
    }
  }

  /// The note of the tag that carries it: hash, size, media type and name, with a space between.
  var note: String { "\(hash) \(size) \(mediaType) \(name)" }

  private static func isName(_ name: String) -> Bool {
    (1...Limits.attachmentNameBytesMax).contains(name.utf8.count)
      && !name.unicodeScalars.contains {
        $0 == "/" || $0.properties.generalCategory == .control
      }
      && name != "." && name != ".."
  }

  private static func isMediaType(_ text: String) -> Bool {
    let parts = text.utf8.split(separator: UInt8(ascii: "/"), omittingEmptySubsequences: false)
    return text.utf8.count <= Limits.mediaTypeBytesMax && parts.count == 2
      && parts.allSatisfy { !$0.isEmpty }
      && text.utf8.allSatisfy { $0 > 0x20 && $0 < 0x7F }
  }
}

extension Attachment: Codable {
  private enum CodingKeys: String, CodingKey {
    case hash, name, mediaType, size
  }

  /// Reads the parts, with the checks of the initializer.
  public init(from decoder: any Decoder) throws {
    let container = try decoder.container(keyedBy: CodingKeys.self)
    try self.init(
      hash: container.decode(ContentHash.self, forKey: .hash),
      name: container.decode(String.self, forKey: .name),
      mediaType: container.decode(String.self, forKey: .mediaType),
      size: container.decode(Int.self, forKey: .size))
  }
}

/// A SHA-256: 64 hexadecimal digits in lower case.
public struct ContentHash: Hashable, Comparable, Sendable, LosslessStringConvertible {
  /// The digits.
  public let description: String

  /// Reads 64 digits; nil for anything else.
  public init?(_ text: String) {
    self.init(text[...])
  }

  init?(_ text: Substring) {
    guard text.utf8.count == 64,
      text.utf8.allSatisfy({
        ($0 >= UInt8(ascii: "0") && $0 <= UInt8(ascii: "9"))
          || ($0 >= UInt8(ascii: "a") && $0 <= UInt8(ascii: "f"))
      })
    else { return nil }
    description = String(text)
  }

  /// Wraps 32 bytes; nil for another number.
  public init?(bytes: some Collection<UInt8>) {
    guard bytes.count == 32 else { return nil }
    description = bytes.map { byte in
      let digits = String(byte, radix: 16)
      return digits.utf8.count == 1 ? "0" + digits : digits
    }.joined()
  }

  /// The 32 bytes.
  package var bytes: [UInt8] {
    func value(_ digit: UInt8) -> UInt8 {
      digit < UInt8(ascii: "a") ? digit - UInt8(ascii: "0") : digit - UInt8(ascii: "a") + 10
    }
    let digits = Array(description.utf8)
    return stride(from: 0, to: digits.count, by: 2).map {
      value(digits[$0]) << 4 | value(digits[$0 + 1])
    }
  }

  /// A hash that belongs to no known file: 64 zeros.
  package static let none = ContentHash(digits: String(repeating: "0", count: 64))

  private init(digits: String) {
    description = digits
  }

  /// Orders by digits.
  public static func < (left: ContentHash, right: ContentHash) -> Bool {
    left.description < right.description
  }
}

extension ContentHash: Codable {
  /// Reads a string of digits.
  public init(from decoder: any Decoder) throws {
    let container = try decoder.singleValueContainer()
    let text = try container.decode(String.self)
    guard let hash = ContentHash(text) else {
      throw DecodingError.dataCorruptedError(
        in: container, debugDescription: "\"\(text)\" is not a SHA-256 in hexadecimal")
    }
    self = hash
  }

  /// Writes the digits.
  public func encode(to encoder: any Encoder) throws {
    var container = encoder.singleValueContainer()
    try container.encode(description)
  }
}

extension Attachment {
  /// The attachments that the notes of tags describe: one for each hash, sorted by name. If devices
  /// gave one file several names, the first in the order of scalars counts.
  static func shown(by notes: [String]) -> [Attachment] {
    var byHash: [ContentHash: Attachment] = [:]
    for attachment in notes.compactMap(Attachment.init(note:)) {
      guard let known = byHash[attachment.hash] else {
        byHash[attachment.hash] = attachment
        continue
      }
      if attachment.note.precedes(known.note) { byHash[attachment.hash] = attachment }
    }
    return byHash.values.sorted { left, right in
      left.name.unicodeScalars.elementsEqual(right.name.unicodeScalars)
        ? left.hash < right.hash : left.name.precedes(right.name)
    }
  }
}

extension String {
  /// Compares by scalars, because this order is the same on every system.
  fileprivate func precedes(_ other: String) -> Bool {
    unicodeScalars.lexicographicallyPrecedes(other.unicodeScalars)
  }
}
