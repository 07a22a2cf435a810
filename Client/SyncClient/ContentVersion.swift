import ClientCore
import Foundation
public import QueueModel
import SequenceCRDT

/// The version of a message's content when an editor opened it: a few bytes to return on saving,
/// instead of the text. Valid across restarts, as far back as the device's log reaches.
public struct ContentVersion: Hashable, Sendable, LosslessStringConvertible {
  /// The version of the whole workspace.
  let vector: VersionVector
  /// Shows whether the content that is found again is the content that was seen.
  let digest: UInt64

  private static let formatByte: UInt8 = 1

  init(of base: EditBase, at vector: VersionVector) {
    self.vector = vector
    digest = ContentVersion.digest(of: base)
  }

  /// FNV-1a over the ids of the scalars: equal in every process, unlike `Hasher`.
  static func digest(of base: EditBase) -> UInt64 {
    var digest: UInt64 = 0xCBF2_9CE4_8422_2325
    func add(_ value: UInt64) {
      for shift in stride(from: 0, to: 64, by: 8) {
        digest = (digest ^ (value >> UInt64(shift)) & 0xFF) &* 0x100_0000_01B3
      }
    }
    add(base.content.replica.rawValue)
    add(UInt64(base.content.seq))
    for range in base.ranges {
      add(range.replica.rawValue)
      add(UInt64(range.first))
      add(UInt64(range.last))
    }
    return digest
  }

  /// Parses a `description`; nil for other texts.
  public init?(_ description: String) {
    let standard = description.replacing("-", with: "+").replacing("_", with: "/")
    let padding = String(repeating: "=", count: (4 - standard.utf8.count % 4) % 4)
    guard let data = Data(base64Encoded: standard + padding), data.count >= 9,
      (data.count - 9) % 12 == 0, data[0] == ContentVersion.formatByte
    else { return nil }
    func value(_ range: Range<Int>) -> UInt64 { data[range].reduce(0) { $0 << 8 | UInt64($1) } }
    var vector = VersionVector()
    for start in stride(from: 9, to: data.count, by: 12) {
      let replica = ReplicaID(rawValue: value(start..<start + 8))
      let seq = UInt32(truncatingIfNeeded: value(start + 8..<start + 12))
      guard seq > 0, seq < Limits.sequenceMax, vector[replica] == 0 else { return nil }
      vector[replica] = seq
    }
    self.vector = vector
    digest = value(1..<9)
  }

  /// Letters, digits, hyphens and underscores.
  public var description: String {
    var data = Data([ContentVersion.formatByte])
    func add(_ value: UInt64, bytes: Int) {
      for shift in (0..<bytes).reversed() {
        data.append(UInt8(truncatingIfNeeded: value >> UInt64(shift * 8)))
      }
    }
    add(digest, bytes: 8)
    for entry in vector.sorted {
      add(entry.replica.rawValue, bytes: 8)
      add(UInt64(entry.seq), bytes: 4)
    }
    return data.base64EncodedString().replacing("+", with: "-").replacing("/", with: "_")
      .replacing("=", with: "")
  }
}

extension QueueClient {
  /// The version of a message's present content, to be passed to `editBase` when an editor saves.
  ///
  /// - Throws: `.queue(.messageNotFound)`.
  public func contentVersion(of id: MessageID) throws(ClientError) -> ContentVersion {
    let workspace = workspace()
    do {
      return ContentVersion(of: try workspace.editBase(id), at: workspace.vector)
    } catch {
      throw .queue(error)
    }
  }

  /// The content that an editor saw, in the form for `Command.edit`.
  ///
  /// - Throws: `.history` if the log does not reach back so far, or never had this version;
  ///   `.queue(.messageNotFound)`; else as `workspace(at:)`.
  public func editBase(
    of id: MessageID, at version: ContentVersion
  ) async throws(ClientError) -> EditBase {
    do {
      let present = try workspace().editBase(id)
      // Usually there was no other edit meanwhile.
      if ContentVersion.digest(of: present) == version.digest {
        return present.seen(at: version.vector)
      }
    } catch {
      throw .queue(error)
    }
    let past = try await workspace(at: version.vector)
    guard let base = try? past.editBase(id), ContentVersion.digest(of: base) == version.digest
    else { throw .history(.unknownVersion) }
    return base
  }
}
