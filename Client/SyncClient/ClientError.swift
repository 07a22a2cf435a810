import Basics
public import QueueModel

/// Why the client library failed; `description` also says what to do.
public enum ClientError: Error, Hashable, Sendable {
  /// The queues refused the command, or the disk failed (`persistenceFailed`); nothing changed.
  case queue(QueueError)
  /// Another process uses the data directory.
  case locked(path: String)
  /// The store was damaged and has been set aside; opening again starts with an empty one.
  case corruptStore(path: String, keptAt: String)
  /// The store is from a newer version; it was not touched.
  case newerStore(path: String, found: Int, supported: Int)
  /// The data directory cannot be used: its files cannot be opened, read or written.
  case storage(message: String, isFull: Bool)
  /// The command was performed, and may already have reached the server; the disk did not confirm
  /// it.
  case diskUnconfirmed(message: String)
  /// A part of a document was imported, and is one undo; then something failed.
  case incompleteImport(messages: Int, of: Int, message: String)
  /// The server accepted the code, and the device could not store its access.
  case accessNotStored(message: String)
  /// No server is paired.
  case notPaired
  /// The device is paired with another server.
  case alreadyPaired(server: String)
  /// The code is for a different workspace from that of the queues.
  case otherWorkspace(name: String, own: WorkspaceID)
  /// Sync was turned off on this device.
  case syncDisabled
  /// The server no longer knows the device.
  case authentication(message: String)
  /// The server does not let this device change anything; nothing changed.
  case notAllowed(AccessObstacle)
  /// The server refused, with its code.
  case refused(code: String, message: String)
  /// The server cannot be reached, or does not answer as a Cospool server.
  case unreachable(message: String)
  /// The address is not `ws://host:port` or `wss://host:port`.
  case invalidServerURL(String)
  /// The server is beyond a private network, and the connection would not be encrypted.
  case notEncrypted(server: String)
  /// The log does not reach the requested time.
  case history(HistoryError)
  /// Neither this device nor the server has the bytes of an attachment.
  case attachmentMissing(hash: ContentHash, isPaired: Bool)
  /// The document to import is not of this kind and version, or is damaged.
  case invalidDocument(message: String)
  /// The server does not push to that address.
  case pushTargetRefused(message: String)
  /// It took longer than the caller's time limit.
  case timeout
  /// The client was closed.
  case closed

  /// A stable name for scripts and the local API.
  public var code: String {
    switch self {
    case .queue(let error): error.code
    case .locked: "locked"
    case .corruptStore: "corruptStore"
    case .newerStore: "newerStore"
    case .storage(_, let isFull): isFull ? "diskFull" : "storage"
    case .diskUnconfirmed: "diskUnconfirmed"
    case .incompleteImport: "incompleteImport"
    case .accessNotStored: "accessNotStored"
    case .notPaired: "notPaired"
    case .alreadyPaired: "alreadyPaired"
    case .otherWorkspace: "otherWorkspace"
    case .syncDisabled: "syncDisabled"
    case .authentication: "authentication"
    case .notAllowed: "notAllowed"
    case .refused(let code, _): code
    case .unreachable: "unreachable"
    case .invalidServerURL: "invalidServerURL"
    case .notEncrypted: "notEncrypted"
    case .history(let error): error.code
    case .attachmentMissing: "attachmentMissing"
    case .invalidDocument: "invalidDocument"
    case .pushTargetRefused: "pushTargetRefused"
    case .timeout: "timeout"
    case .closed: "closed"
    }
  }

  /// The exit code of a command-line tool: 1 failed, 2 usage, 3 authentication, 4 unreachable, 5
  /// conflict, 6 corrupt data, 7 disk, 8 done in part, 75 try again later.
  public var exitCode: Int32 {
    switch self {
    case .queue(.messageIDTaken), .queue(.alreadyStarted): ExitStatus.conflict
    case .queue(.invalidSessionID), .queue(.invalidName), .invalidServerURL,
      .notEncrypted, .pushTargetRefused:
      ExitStatus.usage
    case .queue(.persistenceFailed): ExitStatus.disk
    case .invalidDocument: ExitStatus.corrupt
    case .queue, .history, .newerStore, .alreadyPaired, .otherWorkspace, .notPaired, .syncDisabled,
      .closed:
      ExitStatus.failed
    case .attachmentMissing(_, let isPaired): isPaired ? ExitStatus.tryLater : ExitStatus.failed
    case .locked, .timeout: ExitStatus.tryLater
    case .corruptStore: ExitStatus.corrupt
    case .storage: ExitStatus.disk
    case .diskUnconfirmed, .incompleteImport, .accessNotStored: ExitStatus.partly
    case .authentication, .notAllowed: ExitStatus.authentication
    case .unreachable: ExitStatus.unreachable
    case .refused(let code, _): ClientError.exitCode(ofRefusal: code)
    }
  }

  private static func exitCode(ofRefusal code: String) -> Int32 {
    switch code {
    case "unauthorized", "revoked", "wrongWorkspace", "wrongCode": ExitStatus.authentication
    case "damagedAttachment": ExitStatus.corrupt
    case "blobQuota": ExitStatus.disk
    case "tooManyAttempts", "storageFailed", "unavailable", "rateLimited", "tooManyConnections":
      ExitStatus.tryLater
    default: ExitStatus.failed
    }
  }
}

extension ClientError {
  /// Why the disk failed, in the system's words; else the description.
  var reason: String {
    switch self {
    case .storage(let message, let isFull): isFull ? "the disk is full: \(message)" : message
    case .queue(.persistenceFailed(let fault)):
      fault.isDiskFull ? "the disk is full: \(fault)" : "\(fault)"
    default: description.hasSuffix(".") ? String(description.dropLast()) : description
    }
  }
}

extension ClientError: CustomStringConvertible {
  /// What happened and what to do, in one or two sentences.
  public var description: String {
    switch self {
    case .queue(let error):
      error.description
    case .locked(let path):
      "\(path) is in use by another process. Stop it, or choose another data directory."
    case .corruptStore(let path, let keptAt):
      "\(path) is damaged and was moved to \(keptAt). Start again: if this device is paired, "
        + "the queues come back from its server."
    case .newerStore(let path, let found, let supported):
      "\(path) has format \(found), but this version reads formats up to \(supported). "
        + "Install a newer version; the file was not changed."
    case .storage(let message, true):
      "The disk is full, so nothing was changed: \(message). Free space and try again."
    case .storage(let message, false):
      "The data cannot be stored, so nothing was changed: \(message)."
    case .diskUnconfirmed(let message):
      "The command took effect, and the server may have it, but the disk did not confirm it: "
        + "\(message). Check the disk, and check the queue before you repeat the command: this "
        + "device may lose it if its power fails."
    case .incompleteImport(let messages, let count, let message):
      "Only \(messages) of \(count) new messages were imported: \(message). When you have solved "
        + "that, take them back with cospool undo, and import again."
    case .accessNotStored(let message):
      "The server accepted the code and lists this device, but the device could not store its "
        + "access: \(message). When you have solved that, pair again with a new code."
    case .notPaired:
      "This device is not paired with a server. Pair it first."
    case .alreadyPaired(let server):
      "This device is already paired with \(server). If that server moved: cospool server "
        + "move URL. To pair again: cospool unpair. For another workspace, use another data "
        + "directory."
    case .otherWorkspace(let name, let own):
      "The code is for workspace \(name.debugDescription), but this device's queues belong "
        + "to another one, \(own). Ask for a code of that one: cospool-server pair --workspace "
        + "NAME; cospool-server workspace list --json shows names and ids. If the server has "
        + "lost it: cospool-server pair --workspace-id "
        + Shell.quoted("\(own)") + ". For the other workspace, use another data directory."
    case .syncDisabled:
      "Sync is off on this device. Turn it on first."
    case .authentication(let message):
      "The server does not accept this device: \(message). Your data is kept; pair the "
        + "device again."
    case .notAllowed(let obstacle):
      obstacle.description
    case .refused(let code, let message):
      "The server refused the request (\(code)): \(message)."
    case .unreachable(let message):
      "The server cannot be reached: \(message)."
    case .invalidServerURL(let text):
      "\"\(text)\" is not a server address. Give ws://host:port or wss://host:port, and the "
        + "folder if a proxy serves it below one: wss://host/cospool."
    case .notEncrypted(let server):
      "The connection to \(server) is not encrypted: anyone in between could read the "
        + "prompts and impersonate this device. Give the server a certificate and use wss://, or "
        + "allow it with --insecure."
    case .history(let error):
      error.description
    case .attachmentMissing(let hash, let isPaired):
      isPaired
        ? "The file \(hash.description.prefix(12)) is neither on this device nor on the "
          + "server. Try again when the device that attached it is in sync."
        : "The file \(hash.description.prefix(12)) is not on this device, which has no "
          + "server to get it from."
    case .invalidDocument(let message):
      "The document cannot be imported, and nothing was imported: \(message)"
    case .pushTargetRefused(let message):
      "The server does not push to this address: \(message)"
    case .timeout:
      "The request took too long. Try again later."
    case .closed:
      "The client is closed."
    }
  }
}
