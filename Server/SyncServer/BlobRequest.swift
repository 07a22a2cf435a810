import Basics
import NIOCore
import NIOHTTP1
import PushDelivery
import QueueModel

/// One request for the file of an attachment; SPECIFICATION.md, section "Attachments".
struct BlobRequest {
  static let pathPrefix = "/v1/blobs/"

  enum Action: Equatable {
    case look
    case get
    case put(size: Int)
    case remove
  }

  var action: Action
  var hash: ContentHash
  var token: [UInt8]

  /// The answer to a refused request.
  struct Refusal: Error, Equatable {
    var status: HTTPResponseStatus
    var text: String

    init(_ status: HTTPResponseStatus, _ text: String) {
      self.status = status
      self.text = text
    }

    static let unauthorized = Refusal(
      .unauthorized, "The request needs the token of a paired device: Authorization: Bearer HEX.")
    static let busy = Refusal(
      .serviceUnavailable, "Too many files are being transferred. Try again later.")
  }

  /// Reads the head of a request.
  ///
  /// - Throws: `Refusal` if the request cannot be performed.
  init(_ head: HTTPRequestHead) throws(Refusal) {
    let path = head.uri.split(separator: "?", omittingEmptySubsequences: false).first ?? ""
    guard let hash = ContentHash(String(path.dropFirst(BlobRequest.pathPrefix.count))) else {
      throw Refusal(.badRequest, "The path must end with a SHA-256 in hexadecimal.")
    }
    self.hash = hash
    token = try BlobRequest.token(of: head)
    switch head.method {
    case .HEAD: action = .look
    case .GET: action = .get
    case .DELETE: action = .remove
    case .PUT:
      guard let text = head.headers.first(name: "content-length"), let size = Int(text) else {
        throw Refusal(
          .lengthRequired, "The request needs the length of the file, as Content-Length.")
      }
      guard (1...Limits.attachmentBytesMax).contains(size) else {
        throw Refusal(
          .payloadTooLarge, "A file has 1 to \(Limits.attachmentBytesMax) bytes.")
      }
      action = .put(size: size)
    default:
      throw Refusal(.methodNotAllowed, "Use HEAD, GET, PUT or DELETE.")
    }
  }

  private static func token(of head: HTTPRequestHead) throws(Refusal) -> [UInt8] {
    let words = (head.headers.first(name: "authorization") ?? "").split(separator: " ")
    guard words.count == 2, words[0].lowercased() == "bearer" else { throw .unauthorized }
    guard let bytes = Hex.bytes(String(words[1])), bytes.count == 32 else { throw .unauthorized }
    return bytes
  }
}

extension HTTPReply {
  init(_ fault: BlobStore.Fault) {
    switch fault {
    case .mismatch:
      self.init(.unprocessableEntity, text: "The bytes do not match the hash.")
    case .overQuota(let bytesMax):
      self.init(
        .insufficientStorage, text: "The files of a workspace can take at most \(bytesMax) bytes.")
    case .unreadable(let message):
      self.init(.internalServerError, text: "The file cannot be read: \(message)")
    case .storage(let message, let isFull):
      self.init(
        isFull ? .insufficientStorage : .internalServerError,
        text: "The file cannot be stored: \(message).")
    }
  }
}

extension BlobStore {
  /// Performs a request of a known device; blocks.
  func perform(
    _ request: BlobRequest, body: [UInt8], in workspace: WorkspaceID, quotaBytes: Int?
  ) -> HTTPReply {
    do throws(Fault) {
      switch request.action {
      case .look:
        guard let size = size(of: request.hash, in: workspace) else { return .init(.notFound) }
        var reply = HTTPReply(.ok)
        reply.length = size
        return reply
      case .get:
        guard let bytes = try bytes(of: request.hash, in: workspace) else {
          return HTTPReply(.notFound, text: "There is no such file.")
        }
        return HTTPReply(file: bytes)
      case .put:
        return HTTPReply(
          try keep(body, as: request.hash, in: workspace, quotaBytes: quotaBytes) ? .created : .ok)
      case .remove:
        return HTTPReply(try remove(request.hash, from: workspace) ? .ok : .notFound)
      }
    } catch {
      return HTTPReply(error)
    }
  }
}
