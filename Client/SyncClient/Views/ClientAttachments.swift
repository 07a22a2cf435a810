import ClientCore
import ClientStore
public import Foundation
import Logging
public import QueueModel

/// The state of an attachment on this device.
public struct AttachmentState: Hashable, Sendable {
  /// The file.
  public var attachment: Attachment
  /// Whether its bytes are on this device.
  public var isHere: Bool
  /// Whether they are gone: they are not here, and there is no server to get them from.
  public var isGone: Bool
}

/// Files of messages. Their bytes are stored by their SHA-256 in the data directory, sent to the
/// server while `run()` is connected, and fetched on request.
///
/// ```swift
/// let picture = try await client.attachments.keep(bytes, name: "error.png")
/// try await client.perform(.attach(message, [picture]))
/// let shown = try await client.attachments.bytes(of: picture.hash)
/// ```
public struct ClientAttachments: Sendable {
  let client: QueueClient

  /// Stores a file on this device, to be attached to a message by a command.
  ///
  /// - Parameter mediaType: derived from the first bytes if nil.
  /// - Throws: `.queue` with `invalidAttachment`, `limitReached` (the device's quota) or
  ///   `persistenceFailed`, `.closed`.
  public func keep(
    _ bytes: Data, name: String, mediaType: String? = nil
  ) async throws(ClientError) -> Attachment {
    let attachment: Attachment
    do throws(QueueError) {
      guard bytes.count <= Limits.attachmentBytesMax, let hash = AttachmentStore.hash(of: bytes)
      else {
        throw .invalidAttachment(
          reason: "it has \(bytes.count) bytes; the limit is \(Limits.attachmentBytesMax)")
      }
      attachment = try Attachment(
        hash: hash, name: name, mediaType: mediaType ?? MediaType.detected(in: bytes),
        size: bytes.count)
    } catch {
      throw .queue(error)
    }
    try await client.keeper.keep(
      bytes, as: attachment.hash, isUploaded: false,
      quotaMegabytes: client.settings.attachmentQuota)
    client.device.wakeAttachmentSync()
    return attachment
  }

  /// The files of a message, and which of them are on this device.
  ///
  /// - Throws: `.queue(.messageNotFound)`.
  public func files(of message: MessageID) throws(ClientError) -> [AttachmentState] {
    let isAlone = client.syncStatus().server == nil
    do throws(QueueError) {
      return try client.workspace().message(message).attachments.map {
        let isHere = client.keeper.has($0.hash)
        return AttachmentState(attachment: $0, isHere: isHere, isGone: !isHere && isAlone)
      }
    } catch {
      throw .queue(error)
    }
  }

  /// The names of a message's files that are gone: they are not on this device, and its server does
  /// not have them. A server that cannot be asked counts as having them.
  ///
  /// - Throws: `.queue(.messageNotFound)`.
  public func goneFiles(of message: MessageID) async throws(ClientError) -> [String] {
    var names: [String] = []
    for file in try files(of: message) where !file.isHere {
      var isGone = file.isGone
      if client.syncStatus().state == .connected, let exchange = try blobExchange() {
        isGone = (try? await exchange.has(file.attachment.hash)) == false
      }
      if isGone { names.append(file.attachment.name) }
    }
    return names.sorted()
  }

  /// The bytes of a file: from this device, else from the server, checked against the hash, and
  /// stored here if there is room.
  ///
  /// - Throws: `.attachmentMissing` if neither has it, `.unreachable`, `.notPaired`, `.refused`,
  ///   `.queue(.persistenceFailed)`.
  public func bytes(of hash: ContentHash) async throws(ClientError) -> Data {
    if let bytes = try await client.keeper.bytes(of: hash) { return bytes }
    let bytes = try await fetched(hash)
    do throws(ClientError) {
      try await client.keeper.keep(
        bytes, as: hash, isUploaded: true, quotaMegabytes: client.settings.attachmentQuota)
    } catch {
      // Without room it is still returned; the next request fetches it again.
      guard case .queue(.limitReached) = error else { throw error }
    }
    return bytes
  }

  /// The bytes of a file from the server, checked against the hash.
  private func fetched(_ hash: ContentHash) async throws(ClientError) -> Data {
    guard let exchange = try blobExchange() else {
      throw .attachmentMissing(hash: hash, isPaired: false)
    }
    let fetched: [UInt8]?
    do { fetched = try await exchange.fetch(hash) } catch { throw ClientError(error) }
    guard let fetched else { throw .attachmentMissing(hash: hash, isPaired: true) }
    let bytes = Data(fetched)
    guard AttachmentStore.hash(of: bytes) == hash else {
      throw .refused(
        code: "damagedAttachment", message: "what it sent for \(hash) is not that file")
    }
    return bytes
  }

  /// Keeps the text of a request here and at the server while `body` waits for its answer. A short
  /// text needs no file, because it is in the register.
  func holding(
    _ text: Data?, as hash: ContentHash?,
    _ body: () async throws(ClientError) -> AskAnswer
  ) async throws(ClientError) -> AskAnswer {
    guard let text, let hash, text.count > Limits.taskShortBytesMax else { return try await body() }
    defer {
      client.keeper.release(hash)
      client.device.wakeAttachmentSync()
    }
    do throws(ClientError) {
      try await client.keeper.hold(text, as: hash)
    } catch {
      client.engine.logger.warning("other devices cannot see all of a request: \(error)")
    }
    client.device.wakeAttachmentSync()
    return try await body()
  }

  /// The text of a request that is too long for its register: from an agent here, else from the
  /// server.
  func text(of hash: ContentHash) async throws(ClientError) -> Data {
    if let text = client.keeper.text(of: hash) { return text }
    if let text = try await client.keeper.bytes(of: hash) { return text }
    let text = try await fetched(hash)
    client.keeper.noteFetched(text, as: hash)
    return text
  }

  /// Sends the server files that it lacks, and removes files that no waiting message has needed for
  /// the retention time, here and there. `run()` does this automatically.
  ///
  /// A paired device that is not in sync removes nothing, because it does not know which files the
  /// messages of other devices need.
  ///
  /// - Parameters:
  ///   - now: milliseconds since 1970, by the server's clock if there is a server.
  ///   - asksAgain: whether to ask the server for needed files that it once had, because it may
  ///     have been restored from a backup.
  /// - Throws: the first failure of a file; that file is retried the next time, and the other files
  ///   are processed.
  public func sync(
    now: Int64, asksAgain: Bool = false
  ) async throws(ClientError) {
    try await sync(now: now, asksAgain: asksAgain, isConnected: true)
  }

  /// The connection to the server's files.
  private enum Link {
    /// No server is paired.
    case none
    /// There is no connection now.
    case closed
    case open(BlobExchange)
  }

  /// Why a file was not synced.
  private enum TransferError: Error {
    case here(ClientError)
    case there(BlobExchange.Failure)

    var error: ClientError {
      switch self {
      case .here(let error): error
      case .there(let failure): ClientError(failure)
      }
    }
  }

  /// - Parameter isConnected: whether the server may be asked.
  private func sync(
    now: Int64, asksAgain: Bool, isConnected: Bool
  ) async throws(ClientError) {
    var link = Link.none
    if let exchange = try blobExchange() { link = isConnected ? .open(exchange) : .closed }
    var firstFailure: ClientError?
    for stored in try await client.keeper.all() where !Task.isCancelled {
      do throws(TransferError) {
        // This is read again for each file, because an earlier upload may have taken minutes. Only
        // what is read in sync counts as certain.
        let isCertain = isCertain(link)
        let use = client.workspace().attachments()[stored.hash]
        var stored = stored
        // The host may be looking for it.
        let isSought = use?.isRunning == true
        if isSought || asksAgain && (use?.isWaiting == true || stored.isRequest) {
          stored.isUploaded = false
        }
        try await sync(stored, use, now: isCertain ? now : nil, link)
        client.keeper.noteFailure(nil, of: stored.hash)
      } catch {
        client.keeper.noteFailure(error.error, of: stored.hash)
        // A file that the server refuses must not delay the others.
        firstFailure = firstFailure ?? error.error
        if case .there(.unreachable) = error { link = .closed }
      }
    }
    if let firstFailure { throw firstFailure }
  }

  /// - Parameter now: the time; nil if this device does not know for certain which files are needed.
  private func sync(
    _ known: StoredAttachment, _ use: AttachmentUse?, now: Int64?, _ link: Link
  ) async throws(TransferError) {
    if known.isRequest { return try await syncText(known, link) }
    var stored = known
    let isNeeded = use?.isWaiting ?? false
    if isNeeded || stored.unneededSince == nil {
      let since = isNeeded ? nil : now
      if since != stored.unneededSince {
        stored.unneededSince = since
        try await here { () async throws(ClientError) in
          try await client.keeper.unneeded(known.hash, since: since)
        }
      }
    }
    if let now, let since = stored.unneededSince,
      now - since >= Int64(client.settings.attachmentRetention) * 86_400_000
    {
      // If it were removed only here, it would stay at the server forever.
      if stored.isUploaded, case .open(let exchange) = link {
        do { try await exchange.remove(known.hash) } catch { throw .there(error) }
      }
      // A file that was attached again meanwhile stays, and is sent to the server again.
      try await here { () async throws(ClientError) in
        try await client.keeper.remove(known.hash, unneededSince: since)
      }
    } else if use != nil, !stored.isUploaded, case .open(let exchange) = link {
      let bytes = try await here { () async throws(ClientError) in
        try await client.keeper.bytes(of: known.hash)
      }
      guard let bytes else { return }
      do { try await exchange.offer(Array(bytes), as: known.hash) } catch { throw .there(error) }
      try await here { () async throws(ClientError) in try await client.keeper.uploaded(known.hash)
      }
    }
  }

  /// Whether this device knows which files are needed, and the time. Without a server it does; else
  /// it has to be in sync, and has the server's clock.
  private func isCertain(_ link: Link) -> Bool {
    switch link {
    case .none: true
    case .closed: false
    case .open: client.syncStatus().synced
    }
  }

  /// The text of a request goes to the server while an agent here waits, and is removed afterwards.
  private func syncText(_ known: StoredAttachment, _ link: Link) async throws(TransferError) {
    guard client.keeper.isHeld(known.hash) else {
      switch link {
      // If it were removed only here, it would stay at the server forever.
      case .closed: if known.isUploaded { return }
      case .open(let exchange):
        do { try await exchange.remove(known.hash) } catch { throw .there(error) }
      case .none: break
      }
      try await here { () async throws(ClientError) in
        try await client.keeper.removeReleased(known.hash)
      }
      return
    }
    guard !known.isUploaded, case .open(let exchange) = link else { return }
    let text = try await here { () async throws(ClientError) in
      try await client.keeper.bytes(of: known.hash)
    }
    guard let text else { return }
    do { try await exchange.offer(Array(text), as: known.hash) } catch { throw .there(error) }
    try await here { () async throws(ClientError) in try await client.keeper.uploaded(known.hash) }
  }

  private func here<Value>(
    _ body: () async throws(ClientError) -> Value
  ) async throws(TransferError) -> Value {
    do { return try await body() } catch { throw .here(error) }
  }

  /// Syncs the files after each attachment or connection, and once a minute. Now and then, and
  /// while a host has a message, it asks the server again for files that it once had, because
  /// another device may have removed one.
  func keepSyncing() async {
    let wakes = client.device.attachmentSyncWakes()
    await withDiscardingTaskGroup { group in
      group.addTask {
        var round = 0
        while !Task.isCancelled {
          client.device.wakeAttachmentSync(
            asksAgain: round.isMultiple(of: AttachmentStore.roundsBetweenQuestions))
          round += 1
          // Cancellation ends the wait early.
          try? await Task.sleep(for: .seconds(AttachmentStore.syncSeconds))
        }
      }
      group.addTask {
        var wasConnected = false
        var wasSynced = false
        for await status in client.syncStatusUpdates() {
          let isConnected = status.state == .connected
          if isConnected, !wasConnected { client.device.wakeAttachmentSync(asksAgain: true) }
          // Only now it is known which files are not needed.
          if status.synced, !wasSynced { client.device.wakeAttachmentSync() }
          wasSynced = isConnected && (wasSynced || status.synced)
          wasConnected = isConnected
        }
      }
      for await _ in wakes {
        let waiters = client.device.waitersForAttachmentSync()
        // Unneeded files are removed without a server, too.
        let isConnected = client.syncStatus().state == .connected
        do {
          try await sync(
            now: client.time,
            asksAgain: isConnected && client.device.takeAsksAgain(),
            isConnected: isConnected)
        } catch {
          client.engine.logger.warning("attachments wait: \(error)")
        }
        for waiter in waiters { waiter.yield() }
      }
      group.cancelAll()
    }
  }

  /// A connection to the server's files; nil if no server is paired.
  private func blobExchange() throws(ClientError) -> BlobExchange? {
    guard let credentials = try client.credentialsFile.load() else { return nil }
    return BlobExchange(
      address: try ServerAddress(credentials.server),
      certificateFile: client.configuration.certificateFile,
      proxyVariables: client.configuration.proxyVariables, token: credentials.token)
  }
}

extension ClientError {
  fileprivate init(_ failure: BlobExchange.Failure) {
    switch failure {
    case .unreachable(let message), .brokenOff(let message):
      self = .unreachable(message: message)
    case .refused(401, let message): self = .authentication(message: message)
    case .refused(500, let message): self = .refused(code: "storageFailed", message: message)
    case .refused(503, let message): self = .refused(code: "unavailable", message: message)
    case .refused(507, let message): self = .refused(code: "blobQuota", message: message)
    case .refused(let status, let message):
      self = .refused(code: "attachment", message: "\(message) (HTTP \(status))")
    }
  }
}

/// The type of a file, by its first bytes.
enum MediaType {
  private static let beginnings: [(bytes: [UInt8], type: String)] = [
    ([0x89, 0x50, 0x4E, 0x47], "image/png"), ([0xFF, 0xD8, 0xFF], "image/jpeg"),
    (Array("GIF8".utf8), "image/gif"), (Array("%PDF-".utf8), "application/pdf"),
    (Array("PK\u{3}\u{4}".utf8), "application/zip"),
  ]

  static func detected(in bytes: Data) -> String {
    let start = Array(bytes.prefix(16))
    if let known = beginnings.first(where: { start.starts(with: $0.bytes) }) { return known.type }
    if start.count >= 12, start.starts(with: Array("RIFF".utf8)),
      start[8..<12].elementsEqual("WEBP".utf8)
    {
      return "image/webp"
    }
    let text = bytes.prefix(4_096)
    let isText = !text.contains(0) && String(validating: bytes, as: UTF8.self) != nil
    return isText ? "text/plain" : "application/octet-stream"
  }
}
