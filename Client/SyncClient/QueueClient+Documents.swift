import Basics
import ClientCore
public import Foundation
public import QueueModel

extension QueueClient {
  /// The maximum size of an imported document, in bytes.
  public static let documentBytesMax = 256 << 20

  /// The whole workspace as JSON: the format of `WorkspaceDocument`, indented, with sorted keys.
  ///
  /// - Throws: `.invalidDocument` if a text cannot be written, which does not happen.
  public func exportJSON() throws(ClientError) -> Data {
    let encoder = JSONEncoder()
    encoder.outputFormatting = [.prettyPrinted, .sortedKeys, .withoutEscapingSlashes]
    do {
      return try encoder.encode(workspace().document())
    } catch {
      throw .invalidDocument(message: "\(error)")
    }
  }

  /// Adds the parts of a document that this workspace lacks, by the ids of messages and sessions.
  ///
  /// The whole document is checked first. It is then imported in parts, each durable and each one
  /// undo. If the disk fails in between, a second import continues where the first stopped.
  ///
  /// - Parameter isTrial: whether to report what would be imported, without changing anything.
  /// - Throws: `.invalidDocument` with the line or field, `.incompleteImport` if a later part fails;
  ///   else as `perform(_:)`.
  public func importJSON(
    _ data: Data, isTrial: Bool = false
  ) async throws(ClientError) -> ImportCounts {
    let document = try QueueClient.document(data)
    var counts = isTrial ? workspace().counts(of: document) : try await bring(document)
    counts.missingFiles = document.files.filter { !keeper.has($0.key) }.map(\.value).sorted()
    return counts
  }

  /// Imports a checked document, in parts that are each durable and one undo.
  func bring(_ document: WorkspaceDocument) async throws(ClientError) -> ImportCounts {
    var total = ImportCounts()
    let before = workspace().counts(of: document)
    for part in document.parts {
      do throws(ClientError) {
        guard case .imported(let counts) = try await perform(.importDocument(part)).notice else {
          continue
        }
        total += counts
      } catch {
        guard total != ImportCounts() else { throw error }
        throw .incompleteImport(
          messages: total.messages, of: before.messages, message: error.reason)
      }
    }
    // A part without changes has no receipt, and may need messages of another part.
    total.known = before.known
    total.inVain = before.inVain
    return total
  }

  private static func document(_ data: Data) throws(ClientError) -> WorkspaceDocument {
    guard data.count <= documentBytesMax else {
      throw .invalidDocument(message: "it has more than \(documentBytesMax) bytes.")
    }
    let document: WorkspaceDocument
    do {
      // The version is read first, because another version has other fields.
      let head = try JSONDecoder().decode(DocumentHead.self, from: data)
      guard head.format == WorkspaceDocument.format else {
        throw ClientError.invalidDocument(
          message: "format: \"\(head.format)\" is not \"\(WorkspaceDocument.format)\".")
      }
      if let fault = WorkspaceDocument.fault(ofVersion: head.version) {
        throw ClientError.invalidDocument(message: fault + ".")
      }
      document = try JSONDecoder().decode(WorkspaceDocument.self, from: data)
    } catch let error as ClientError {
      throw error
    } catch let error as DecodingError {
      throw .invalidDocument(message: error.place(in: data))
    } catch {
      throw .invalidDocument(message: "\(error)")
    }
    if let fault = document.fault { throw .invalidDocument(message: fault + ".") }
    return document
  }
}

/// The fields that every version has.
private struct DocumentHead: Decodable {
  var format: String
  var version: Int
}

extension DecodingError {
  /// The place of the fault, by field, or by line if the text is not JSON.
  func place(in data: Data) -> String {
    switch self {
    case .keyNotFound(let key, let context):
      return "\(DecodingError.path(context.codingPath + [key])): it is missing."
    case .typeMismatch(_, let context) where context.codingPath.isEmpty:
      return "the JSON has to be an object with the fields that cospool export writes."
    case .typeMismatch(_, let context), .valueNotFound(_, let context):
      return "\(DecodingError.path(context.codingPath)): \(context.debugDescription)"
    case .dataCorrupted(let context):
      guard context.codingPath.isEmpty else {
        return "\(DecodingError.path(context.codingPath)): \(context.debugDescription)"
      }
      return "the JSON is invalid from line \(DecodingError.line(ofFaultIn: data)) on."
    @unknown default:
      return "\(self)"
    }
  }

  /// The line, from 1, at which a text stops being JSON.
  static func line(ofFaultIn data: Data) -> Int {
    do {
      _ = try JSONReader.read(Array(data))
      return 1
    } catch {
      return error.position.line
    }
  }

  private static func path(_ keys: [any CodingKey]) -> String {
    keys.reduce("") { path, key in
      if let index = key.intValue { return "\(path)[\(index)]" }
      return path.isEmpty ? key.stringValue : "\(path).\(key.stringValue)"
    }
  }
}
