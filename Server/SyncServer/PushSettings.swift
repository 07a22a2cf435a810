import Foundation
import PushDelivery
import PushNotices

/// How the server pushes, as `push configure` wrote it: the file `push.json` of the data directory,
/// for its owner alone. It names the key's file and does not hold the key.
package struct PushSettings: Codable, Hashable, Sendable {
  package struct APNs: Codable, Hashable, Sendable {
    package var keyFile: String
    package var keyID: String
    package var teamID: String
    package var topics: [String]
    /// Addresses that stand in for Apple's, by environment.
    package var servers: [String: String]?

    package init(
      keyFile: String, keyID: String, teamID: String, topics: [String],
      servers: [String: String]? = nil
    ) {
      self.keyFile = keyFile
      self.keyID = keyID
      self.teamID = teamID
      self.topics = topics
      self.servers = servers
    }
  }

  package var apns: APNs?
  /// A root certificate, PEM, that counts beside the system's.
  package var trustedRootFile: String?

  package init(apns: APNs? = nil, trustedRootFile: String? = nil) {
    self.apns = apns
    self.trustedRootFile = trustedRootFile
  }

  static let fileName = "push.json"

  /// The settings of a data directory; none where there is no file.
  package static func read(directory: String) throws(SyncServerError) -> PushSettings {
    let path = directory + "/" + fileName
    guard FileManager.default.fileExists(atPath: path) else { return PushSettings() }
    do {
      let data = try Data(contentsOf: URL(fileURLWithPath: path))
      return try JSONDecoder().decode(PushSettings.self, from: data)
    } catch {
      throw SyncServerError(
        .failed, "\(path) cannot be read. Write it anew: cospool-server push configure apns.")
    }
  }

  package func write(directory: String) throws(SyncServerError) {
    let path = directory + "/" + PushSettings.fileName
    do {
      let encoder = JSONEncoder()
      encoder.outputFormatting = [.prettyPrinted, .sortedKeys, .withoutEscapingSlashes]
      try encoder.encode(self).write(to: URL(fileURLWithPath: path), options: .atomic)
      try FileManager.default.setAttributes([.posixPermissions: 0o600], ofItemAtPath: path)
    } catch {
      throw SyncServerError(.disk, "\(path) cannot be written: \(error.localizedDescription)")
    }
  }

  /// What the sender needs, with the key read.
  func configuration() throws(SyncServerError) -> PushConfiguration {
    var configuration = PushConfiguration(trustedRootFile: trustedRootFile)
    guard let apns else { return configuration }
    do throws(PushConfigurationError) {
      guard let pem = try? String(contentsOfFile: apns.keyFile, encoding: .utf8) else {
        throw PushConfigurationError.keyNotReadable
      }
      var servers = APNsConfiguration.appleServers
      for (name, url) in apns.servers ?? [:] {
        if let environment = APNsAddress.Environment(rawValue: name) { servers[environment] = url }
      }
      configuration.apns = try APNsConfiguration(
        key: try APNsSigningKey(pem: Secret(pem), keyID: apns.keyID, teamID: apns.teamID),
        topics: Set(apns.topics), servers: servers)
    } catch {
      throw SyncServerError(.failed, "\(apns.keyFile): \(error)")
    }
    return configuration
  }
}
