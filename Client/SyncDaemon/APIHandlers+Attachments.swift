import Basics
import Foundation
import Hummingbird
import LocalAPI
import NIOCore
import QueueModel
import SyncClient

extension APIHandlers {
  // MARK: - Attachments

  func addAttachmentRoutes(to api: RouterGroup<Context>) {
    api.get("messages/:message/attachments") { _, context in
      let files = try client.attachments.files(of: try message(context))
      return CanonicalJSON.response(
        AttachmentsAnswer(
          attachments: files.map {
            AttachedFileAnswer($0.attachment, isHere: $0.isHere, isGone: $0.isGone)
          }))
    }
    api.post("messages/:message/attachments") { request, context in
      let id = try message(context)
      let body = try await decoded(
        AttachmentRequest.self, from: request, upTo: Route.attachmentBodyBytesMax)
      // A refused attachment must not leave its file behind.
      try client.check(.attach(id, []))
      try client.workspace().message(id).refuseLateFile()
      let attachment = try await kept(body, context)
      let notice = try await client.perform(.attach(id, [attachment])).notice
      return CanonicalJSON.response(
        AttachedAnswer(
          attachment: attachment, isNew: notice != .unchanged, message: changed([id]).first),
        status: .created)
    }
    api.delete("messages/:message/attachments/:attachment") { _, context in
      let id = try message(context)
      let file = try file(context, of: id)
      return try await perform(.detach(id, [file.hash]), changing: [id])
    }
    api.get("messages/:message/attachments/:attachment") { _, context in
      let file = try file(context, of: try message(context))
      let bytes = try await client.attachments.bytes(of: file.hash)
      return Response(
        status: .ok,
        headers: [
          // A browser must not run the file, whatever type it claims.
          .contentType: "application/octet-stream", .cacheControl: "no-store",
        ],
        body: ResponseBody(byteBuffer: ByteBuffer(bytes: bytes)))
    }
  }

  /// Stores the bytes that a request contains or names.
  func kept(_ body: AttachmentRequest, _ context: Context) async throws -> Attachment {
    let (source, name) = try checked(body, context)
    let bytes =
      switch source {
      case .data(let data): data
      case .file(let url): try APIHandlers.bytes(of: url)
      }
    return try await client.attachments.keep(bytes, name: name, mediaType: body.mediaType)
  }

  /// The source of a file's bytes.
  enum FileSource {
    case data(Data)
    case file(URL)
  }

  /// Checks a file, as far as possible before it is read and stored.
  @discardableResult
  func checked(
    _ body: AttachmentRequest, _ context: Context
  ) throws -> (source: FileSource, name: String) {
    let source: FileSource
    let name: String
    let size: Int
    switch (body.data, body.path) {
    case (let text?, nil):
      guard let data = Data(base64Encoded: text) else {
        throw APIProblem.badRequest("The field data is not valid: it is not base64.")
      }
      guard let given = body.name else {
        throw APIProblem.badRequest("The field data needs the field name, too.")
      }
      (source, name, size) = (.data(data), given, data.count)
    case (nil, let path?):
      guard path.hasPrefix("/") else {
        throw APIProblem.badRequest(
          "path must be absolute, because the daemon has its own current directory.")
      }
      try checkNamesFiles(context)
      let named = URL(filePath: path)
      // The properties of a link differ from those of its file.
      let url = named.resolvingSymlinksInPath()
      guard !isOfDaemon(url) else { throw APIProblem.fileOfDaemon }
      (source, name) = (.file(url), body.name ?? named.lastPathComponent)
      size = try APIHandlers.size(of: url)
    default:
      throw APIProblem.badRequest("Give exactly one of data and path.")
    }
    // The hash and the detected type are added later, and are always valid.
    if let hash = ContentHash(bytes: [UInt8](repeating: 0, count: 32)) {
      _ = try Attachment(
        hash: hash, name: name, mediaType: body.mediaType ?? "application/octet-stream",
        size: size)
    }
    return (source, name)
  }

  /// Whether a file belongs to the daemon: its data directory has the device's token and all
  /// queues.
  ///
  /// - Parameter url: without links.
  private func isOfDaemon(_ url: URL) -> Bool {
    let folder = URL(filePath: turns.dataDirectory).resolvingSymlinksInPath()
    return url.pathComponents.starts(with: folder.pathComponents)
  }

  private static func size(of url: URL) throws -> Int {
    let values = try? url.resourceValues(forKeys: [.fileSizeKey, .isRegularFileKey])
    guard let values, values.isRegularFile == true, let size = values.fileSize,
      FileManager.default.isReadableFile(atPath: url.path)
    else {
      throw APIProblem(
        .unprocessableContent, code: "unreadableFile",
        message: "\(url.path) is not a file, or cannot be read.", exitCode: ExitStatus.failed)
    }
    guard size <= Limits.attachmentBytesMax else {
      throw QueueError.invalidAttachment(
        reason: "it has more than \(Limits.attachmentBytesMax) bytes")
    }
    return size
  }

  private static func bytes(of url: URL) throws -> Data {
    do {
      return try Data(contentsOf: url)
    } catch {
      throw APIProblem(
        .unprocessableContent, code: "unreadableFile", message: "\(url.path) cannot be read.",
        exitCode: ExitStatus.failed)
    }
  }

  /// The file of a message that the path names, by its hash, a beginning of that, or its name.
  private func file(_ context: Context, of id: MessageID) throws -> Attachment {
    let text = try parameter("attachment", of: context)
    let files = try client.workspace().message(id).attachments
    let found = NameMatch(text, among: files, textID: \.hash.description, name: \.name)
    if case .several(let files) = found {
      let hashes = files.map { String($0.hash.description.prefix(8)) }
      throw APIProblem(
        .conflict, code: "attachmentAmbiguous",
        message:
          "The message has \(files.count) files that \"\(text)\" names. Give the beginning of "
          + "a hash: \(hashes.joined(separator: ", ")).",
        exitCode: ExitStatus.conflict, candidates: files.map(\.hash.description))
    }
    guard case .one(let file) = found else {
      throw QueueError.attachmentNotFound(hash: text, message: id.description)
    }
    return file
  }
}

extension APIProblem {
  static let fileOfDaemon = APIProblem(
    .forbidden, code: "fileOfDaemon",
    message: "The file is in the daemon's data directory, which holds the device's token. To "
      + "attach it anyway, copy it to another folder first.", exitCode: ExitStatus.authentication)
}

extension MessageView {
  /// An agent gets the files of its message as it starts.
  fileprivate func refuseLateFile() throws {
    guard status == .running else { return }
    throw QueueError.alreadyStarted(id: id.description, isStopping: withdrawal == .stopped)
  }
}
