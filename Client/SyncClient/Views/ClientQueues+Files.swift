public import Foundation
public import QueueModel

/// Queues as files, for programs that use such files (C-16). The files include everything: places,
/// times, attempts, errors and attachments.
extension ClientQueues {
  /// The waiting messages of a session as a versioned object, in the order of their places; files
  /// that are not on this device are fetched.
  ///
  /// - Throws: `.queue(.sessionNotFound)`, and the errors of `ClientAttachments.bytes(of:)`.
  public func exportFile(of session: SessionID) async throws(ClientError) -> Data {
    let workspace = client.workspace()
    guard let view = workspace.session(session) else {
      throw .queue(.sessionNotFound(id: session.rawValue))
    }
    var messages: [QueueFile.Message] = []
    for message in workspace.placedOrder(of: session) {
      messages.append(try await queueFileMessage(message, project: view.project))
    }
    let encoder = JSONEncoder()
    encoder.outputFormatting = [.prettyPrinted, .sortedKeys, .withoutEscapingSlashes]
    if let key = DocumentTime.asNumbers { encoder.userInfo[key] = true }
    do {
      return try encoder.encode(
        QueueFile(
          version: QueueFile.version, sessionId: session.rawValue, messages: messages,
          onMerge: view.onMerge == .wait ? nil : view.onMerge.rawValue,
          onLostServer: view.onLostServer == .finish ? nil : view.onLostServer.rawValue,
          pauses: view.paused ? workspace.pauses(of: session) : nil))
    } catch {
      throw .invalidDocument(message: "\(error)")
    }
  }

  private func queueFileMessage(
    _ view: MessageView, project: String
  ) async throws(ClientError) -> QueueFile.Message {
    var message = QueueFile.Message(
      id: view.id.description, content: view.content, projectPath: view.project ?? project,
      sessionId: view.session.rawValue, priority: view.priority.name,
      createdAt: ZonedTime.text(view.createdAt), attempts: view.attempts,
      lastError: view.lastError)
    message.editions =
      view.versions.isEmpty ? nil : view.versions.map(WorkspaceDocument.Edition.init)
    message.later = view.later.map(ZonedTime.text)
    let needs = client.workspace().openNeeds(of: view)
    message.needs = needs.isEmpty ? nil : needs
    message.byAgent = view.isByAgent ? true : nil
    guard !view.attachments.isEmpty else { return message }
    let image = view.attachments.first { $0.mediaType.hasPrefix("image/") }
    var files: [QueueFile.File] = []
    for attachment in view.attachments {
      let text = try await client.attachments.bytes(of: attachment.hash).base64EncodedString()
      let isImage = attachment.hash == image?.hash
      if isImage { message.imageData = text }
      files.append(
        QueueFile.File(
          name: attachment.name, mediaType: attachment.mediaType, sha256: attachment.hash,
          data: isImage ? nil : text))
    }
    message.attachments = files
    return message
  }

  /// Imports the unknown messages of a queue file, after the waiting ones. Their files are stored
  /// on this device first.
  ///
  /// - Parameters:
  ///   - session: the session to add them to; nil for the one that the file names.
  ///   - isTrial: whether to report what would be imported, without changing anything.
  /// - Throws: `.invalidDocument` with line or field, `.queue`, `.closed`.
  @discardableResult
  public func importFile(
    _ data: Data, into session: SessionID? = nil, isTrial: Bool = false
  ) async throws(ClientError) -> ImportCounts {
    guard data.count <= QueueClient.documentBytesMax else {
      throw .invalidDocument(message: "it has more than \(QueueClient.documentBytesMax) bytes.")
    }
    let file = try QueueFile.read(data)
    let messages = file.messages
    let named = file.sessionId.isEmpty ? nil : file.sessionId
    let target: SessionID
    if let session {
      target = session
    } else if let named {
      target = try ClientQueues.session(named)
    } else {
      guard !messages.isEmpty else { return ImportCounts() }
      throw .invalidDocument(message: "[0].sessionId: it is missing; name the session.")
    }
    guard !messages.isEmpty else { return ImportCounts() }
    let known = client.workspace().session(target)
    let project = (known?.project).flatMap { $0.isEmpty ? nil : $0 } ?? messages.first?.projectPath
    var parts: [(message: WorkspaceDocument.Message, files: [ImportedFile])] = []
    for (index, message) in messages.enumerated() {
      if session == nil, let own = message.sessionId, !own.isEmpty,
        try ClientQueues.session(own) != target
      {
        throw .invalidDocument(
          message: "messages[\(index)].sessionId: it is \(own), but the file belongs to "
            + "\(target). Name the session to import into.")
      }
      parts.append(try ClientQueues.parts(of: message, at: index, project: project))
    }
    var document = WorkspaceDocument(sessions: [
      WorkspaceDocument.Session(
        id: target, name: nil, project: project, pauses: file.pauses ?? [], locked: false,
        messages: parts.map(\.message), cancelled: [])
    ])
    document.sessions[0].onMerge = file.onMerge.flatMap(MergePolicy.init(rawValue:))
    let policy = file.onLostServer.flatMap(LostServerPolicy.init(rawValue:))
    document.sessions[0].onLostServer = policy
    if let fault = document.fault { throw .invalidDocument(message: fault + ".") }
    if isTrial { return client.workspace().counts(of: document) }
    // Checked before its files are kept.
    try client.requireAccess()
    for index in parts.indices {
      var kept: [Attachment] = []
      for file in parts[index].files {
        kept.append(
          try await client.attachments.keep(file.bytes, name: file.name, mediaType: file.mediaType))
      }
      document.sessions[0].messages[index].attachments = kept.isEmpty ? nil : kept
    }
    defer { client.device.wakeAttachmentSync() }
    return try await client.bring(document)
  }

  private struct ImportedFile {
    var bytes: Data
    var name: String
    var mediaType: String?
  }

  private static func session(_ text: String) throws(ClientError) -> SessionID {
    do throws(QueueError) {
      return try SessionID(text)
    } catch {
      throw .queue(error)
    }
  }

  /// A message of the file, checked, and its files.
  private static func parts(
    of message: QueueFile.Message, at index: Int, project: String?
  ) throws(ClientError) -> (message: WorkspaceDocument.Message, files: [ImportedFile]) {
    func fault(_ field: String, _ reason: String) -> ClientError {
      .invalidDocument(message: "messages[\(index)].\(field): \(reason).")
    }
    guard let id = MessageID(message.id) else { throw fault("id", "it is not a UUID") }
    guard let createdAt = ZonedTime.milliseconds(message.createdAt) else {
      throw fault("createdAt", "it is not an ISO 8601 time since 1970")
    }
    let priority = message.priority ?? "normal"
    guard Priority(name: priority) != nil else {
      throw fault("priority", "\"\(priority)\" is neither urgent nor normal")
    }
    // A merged text may have become empty.
    guard !message.content.trimmedOfWhitespace().isEmpty || message.editions?.isEmpty == false
    else {
      throw fault("content", "it is blank")
    }
    var made = WorkspaceDocument.Message(
      id: id, content: message.content, priority: priority, createdAt: createdAt, device: nil)
    made.attempts = message.attempts
    made.lastError = message.lastError.map(shortened)
    made.editions = message.editions
    made.needs = message.needs
    made.byAgent = message.byAgent
    if let later = message.later {
      guard let time = ZonedTime.milliseconds(later) else {
        throw fault("later", "it is not an ISO 8601 time since 1970")
      }
      made.later = DocumentTime(time)
    }
    if let own = message.projectPath, !own.isEmpty, own != project { made.project = own }
    var files: [ImportedFile] = []
    let image = try message.imageData.map { text throws(ClientError) -> Data in
      guard let bytes = Data(base64Encoded: text) else {
        throw fault("imageData", "it is not base64")
      }
      return bytes
    }
    for (number, file) in (message.attachments ?? []).enumerated() {
      let place = "attachments[\(number)]"
      guard let bytes = file.data == nil ? image : file.data.flatMap({ Data(base64Encoded: $0) })
      else { throw fault(place, "its bytes are missing, or not base64") }
      guard AttachmentStore.hash(of: bytes) == file.sha256 else {
        throw fault(place, "its bytes do not match its hash")
      }
      files.append(ImportedFile(bytes: bytes, name: file.name, mediaType: file.mediaType))
    }
    if files.isEmpty, let image {
      let type = MediaType.detected(in: image)
      let kind = type.hasPrefix("image/") ? String(type.dropFirst(6)) : "bin"
      files = [ImportedFile(bytes: image, name: "image.\(kind)", mediaType: type)]
    }
    for file in files {
      do throws(QueueError) {
        _ = try Attachment(
          hash: AttachmentStore.hash(of: file.bytes) ?? ContentHash.none, name: file.name,
          mediaType: file.mediaType ?? MediaType.detected(in: file.bytes), size: file.bytes.count)
      } catch {
        throw fault("imageData", "\(error)")
      }
    }
    guard files.count <= Limits.messageAttachmentsMax else {
      throw fault("attachments", "there are more than \(Limits.messageAttachmentsMax)")
    }
    return (made, files)
  }

  /// An error's text as a register holds it: its first 1,024 bytes, cut at a character.
  private static func shortened(_ text: String) -> String {
    guard text.utf8.count > Limits.nameBytesMax else { return text }
    var kept = ""
    for character in text {
      guard kept.utf8.count + character.utf8.count <= Limits.nameBytesMax else { break }
      kept.append(character)
    }
    return kept
  }
}
