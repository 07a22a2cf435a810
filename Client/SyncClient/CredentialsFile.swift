import Basics
import ClientCore
import ClientStore
import Foundation
import QueueModel

/// The file with the device token, readable only by its owner. It is outside the database, so that
/// a lost database can be fetched again.
struct CredentialsFile: Sendable {
  let path: String

  init(directory: String) {
    path = directory + "/credentials.json"
  }

  private struct Content: Codable {
    var server: String
    var workspace: WorkspaceID
    var workspaceName: String
    var token: String
  }

  /// The credentials; nil if the device is not paired.
  func load() throws(ClientError) -> Credentials? {
    let text: String?
    do {
      text = try FileAccess.read(path)
    } catch {
      throw ClientError(error)
    }
    guard let text else { return nil }
    guard let content = try? JSONDecoder().decode(Content.self, from: Data(text.utf8)),
      let token = Hex.bytes(content.token)
    else {
      throw .storage(
        message: "\(path) cannot be read; remove it and pair the device again", isFull: false)
    }
    return Credentials(
      server: content.server, workspace: content.workspace,
      workspaceName: content.workspaceName, token: token)
  }

  /// Replaces the file in one step.
  func save(_ credentials: Credentials) throws(ClientError) {
    let content = Content(
      server: credentials.server, workspace: credentials.workspace,
      workspaceName: credentials.workspaceName,
      token: Hex.text(credentials.token))
    let encoder = JSONEncoder()
    encoder.outputFormatting = [.sortedKeys, .prettyPrinted, .withoutEscapingSlashes]
    do {
      let text = String(decoding: try encoder.encode(content), as: UTF8.self)
      try FileAccess.replace(path, with: text + "\n")
    } catch let error as StoreError {
      throw ClientError(error)
    } catch {
      throw .storage(message: "\(error)", isFull: false)
    }
  }

  /// Removes the file; a missing file counts as removed.
  func remove() throws(ClientError) {
    guard unlink(path) != 0, errno != ENOENT else { return }
    throw .storage(message: "\(path): \(String(cString: strerror(errno)))", isFull: false)
  }
}
