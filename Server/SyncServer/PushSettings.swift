import Foundation
import NetworkAddresses
import PushDelivery
package import PushNotices

/// The push settings, written by `push configure`: the file `push.json` of the data directory,
/// accessible only to its owner. It contains the path of Apple's key, not the key itself, and the
/// key that signs buttons.
package struct PushSettings: Codable, Hashable, Sendable {
  package struct APNs: Codable, Hashable, Sendable {
    package var keyFile: String
    package var keyID: String
    package var teamID: String
    package var topics: [String]
    /// Replacements for Apple's addresses, by environment.
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

  /// The server address of notices' buttons, and the key that signs them.
  package struct Answers: Codable, Hashable, Sendable {
    /// The address at which phones reach the server.
    package var server: String
    package var key: Secret

    package init(server: String, key: Secret) {
      self.server = server
      self.key = key
    }

    private enum CodingKeys: String, CodingKey {
      case server, key
    }

    package init(from decoder: any Decoder) throws {
      let fields = try decoder.container(keyedBy: CodingKeys.self)
      server = try fields.decode(String.self, forKey: .server)
      key = Secret(try fields.decode(String.self, forKey: .key))
    }

    package func encode(to encoder: any Encoder) throws {
      var fields = encoder.container(keyedBy: CodingKeys.self)
      try fields.encode(server, forKey: .server)
      try fields.encode(key.reveal(), forKey: .key)
    }
  }

  package var apns: APNs?
  package var answers: Answers?
  /// A root certificate, PEM, in addition to the system's.
  package var trustedRootFile: String?
  /// Networks that ntfy and webhooks may use in addition to public addresses, as `ADDRESS/BITS`.
  package var allowedNetworks: [String]?

  package init(
    apns: APNs? = nil, answers: Answers? = nil, trustedRootFile: String? = nil,
    allowedNetworks: [String]? = nil
  ) {
    self.apns = apns
    self.answers = answers
    self.trustedRootFile = trustedRootFile
    self.allowedNetworks = allowedNetworks
  }

  static let fileName = "push.json"

  /// The settings of a data directory; none if there is no file.
  package static func read(directory: String) throws(SyncServerError) -> PushSettings {
    let path = directory + "/" + fileName
    guard FileManager.default.fileExists(atPath: path) else { return PushSettings() }
    do {
      let data = try Data(contentsOf: URL(fileURLWithPath: path))
      return try JSONDecoder().decode(PushSettings.self, from: data)
    } catch is DecodingError {
      throw SyncServerError(
        .failed,
        "\(path) contains no valid push settings. Remove it, then: cospool-server push configure")
    } catch {
      throw .disk(path, "cannot be read", error)
    }
  }

  package func write(directory: String) throws(SyncServerError) {
    let path = directory + "/" + PushSettings.fileName
    do {
      try PrivateFile.replace(path, with: self)
    } catch {
      throw .disk(path, "cannot be written", error)
    }
  }

  /// The file as it is now; nil if there is none.
  static func fileMark(directory: String) -> FileMark? {
    FileMark(path: directory + "/" + fileName)
  }

  /// Signs buttons and checks their posts; nil if none are set up.
  func answering() throws(SyncServerError) -> NtfyAnswering? {
    guard let answers else { return nil }
    do {
      return try NtfyAnswering(server: answers.server, key: answers.key)
    } catch {
      throw SyncServerError(.failed, "\(answers.server): \(error)")
    }
  }

  /// The sender's configuration, with the key that was read.
  func configuration() throws(SyncServerError) -> PushConfiguration {
    var configuration = PushConfiguration(trustedRootFile: trustedRootFile)
    for text in allowedNetworks ?? [] {
      guard let range = AddressRange(text) else {
        throw SyncServerError(
          .failed,
          "\"\(text)\" is neither an address nor a range of addresses, such as 127.0.0.1 "
            + "or 10.0.0.0/8.")
      }
      configuration.allowedNetworks.append(range)
    }
    configuration.answering = try answering()
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
