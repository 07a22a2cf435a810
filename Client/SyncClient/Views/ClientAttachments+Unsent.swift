import ClientStore
import QueueModel

/// Files of waiting messages that this device has, and that its server is not known to have.
public struct UnsentFiles: Hashable, Sendable {
  /// How many.
  public var count = 0
  /// Why the server refused one of them at the latest attempt; nil if it refused none.
  public var refusal: ClientError?
}

extension ClientAttachments {
  /// The files of waiting messages that this device still has to send. None without a server.
  ///
  /// - Throws: `.queue(.persistenceFailed)`.
  public func unsent() async throws(ClientError) -> UnsentFiles {
    guard client.syncStatus().server != nil else { return UnsentFiles() }
    let kept = try await client.keeper.all().filter { !$0.isUploaded && !$0.isRequest }
    guard !kept.isEmpty else { return UnsentFiles() }
    let uses = client.workspace().attachments()
    let unsent = kept.filter { uses[$0.hash]?.isWaiting == true }
    let refusals = unsent.compactMap { client.keeper.failure(of: $0.hash)?.refusalOfFile }
    return UnsentFiles(count: unsent.count, refusal: refusals.first)
  }

  /// Waits until the server has the files of waiting messages that this device has.
  ///
  /// - Throws: `.refused` or `.authentication` if the server does not take one of them, `.closed`,
  ///   `.queue(.persistenceFailed)`.
  func waitUntilSent() async throws(ClientError) {
    let syncs = client.device.attachmentSyncs()
    guard try await unsent().count > 0 else { return }
    client.device.wakeAttachmentSync()
    for await _ in syncs {
      let unsent = try await unsent()
      if let refusal = unsent.refusal { throw refusal.naming(filesUnsent: unsent.count) }
      if unsent.count == 0 { return }
    }
    throw .closed
  }
}

extension ClientError {
  /// The error, if another attempt fails in the same way until somebody acts.
  fileprivate var refusalOfFile: ClientError? {
    switch self {
    case .refused("unavailable", _): nil
    case .refused, .authentication: self
    default: nil
    }
  }

  /// The same, with the number of files of waiting messages that the server does not have.
  fileprivate func naming(filesUnsent count: Int) -> ClientError {
    guard case .refused(let code, let message) = self else { return self }
    let files =
      count == 1 ? "1 file of a waiting message is" : "\(count) files of waiting messages are"
    return .refused(code: code, message: "\(files) not on the server: \(message)")
  }
}
