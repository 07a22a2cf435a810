import AgentFormats
import Foundation
import Logging
import SyncClient
import Synchronization

/// The daemon's settings: the values by source, the effective ones, and the file that keeps them.
final class SettingsStore: Sendable {
  let file: SettingsFile
  private let layers: Mutex<SettingsLayers>

  /// Reads environment and file.
  ///
  /// - Throws: `SettingFault` for the first fault.
  init(
    flags: [SettingName: SettingValue], environment: [String: String], dataDirectory: String
  ) throws(SettingFault) {
    file = SettingsFile(dataDirectory: dataDirectory)
    let read = try SettingsLayers(
      flags: flags, environment: environment, file: try file.read())
    for name in [SettingName.certificate, .webCertificate, .webKey] {
      guard let path = read.text(name), !FileManager.default.isReadableFile(atPath: path) else {
        continue
      }
      throw SettingFault(
        name: name.rawValue, reason: "\(path): no such file, or not readable",
        source: read.effective(name).origin.rawValue)
    }
    try SettingsStore.checkPage(of: read)
    layers = Mutex(read)
  }

  /// The values by source.
  var current: SettingsLayers { layers.withLock { $0 } }

  var logLevel: Logger.Level {
    current.text(.logLevel).flatMap(Logger.Level.init(rawValue:)) ?? .info
  }

  /// The configuration with which the client is opened.
  func configuration(dataDirectory: String) -> ClientConfiguration {
    let layers = current
    return ClientConfiguration(
      dataDirectory: dataDirectory, deviceName: layers.text(.deviceName),
      settings: layers.deviceSettings, certificateFile: layers.text(.certificate))
  }

  /// Sets a value in the file, or removes it; changes that a user made in the file meanwhile count.
  ///
  /// - Throws: `SettingFault` if the value or the file cannot be used; in that case, nothing
  ///   changes.
  func set(
    _ name: SettingName, to value: SettingValue?, apply: (DeviceSettings) -> Void
  ) throws(SettingFault) {
    try set([(name, value)], apply: apply)
  }

  /// The same for several values: either all or none are changed.
  func set(
    _ changes: [(name: SettingName, value: SettingValue?)], apply: (DeviceSettings) -> Void
  ) throws(SettingFault) {
    for case (let name, let value?) in changes {
      if case .text(let text) = try name.checked(value) {
        try SettingsStore.checkUse(of: text, as: name)
      }
    }
    // The lock makes writers wait for each other; the file is small.
    try layers.withLock { layers throws(SettingFault) in
      var values = try file.read().mapValues(\.value)
      for (name, value) in changes { values[name] = value }
      var next = layers
      next.file = values.mapValues { SettingsFile.Entry(value: $0, line: 1) }
      try SettingsStore.checkPage(of: next)
      try file.write(values)
      layers.file = try file.read()
      apply(layers.deviceSettings)
    }
  }

  /// Refuses a page that other machines could reach without TLS.
  private static func checkPage(of layers: SettingsLayers) throws(SettingFault) {
    guard let missing = layers.web?.missing else { return }
    throw SettingFault(name: SettingName.web.rawValue, reason: missing)
  }

  /// Refuses a value that could not be used later: at the next start, or at the next turn.
  private static func checkUse(of text: String, as name: SettingName) throws(SettingFault) {
    switch name {
    case .certificate, .webCertificate, .webKey:
      guard text.hasPrefix("/") else {
        throw SettingFault(
          name: name.rawValue, reason: "\(text): the path has to be absolute")
      }
      guard FileManager.default.isReadableFile(atPath: text) else {
        throw SettingFault(
          name: name.rawValue, reason: "\(text): no such file, or not readable")
      }
    case .command, .notifyCommand:
      do throws(CommandLineFault) {
        if name == .command {
          _ = try CommandTemplate(text)
        } else {
          _ = try CommandWords.split(text)
        }
      } catch {
        throw SettingFault(name: name.rawValue, reason: error.reason)
      }
    default: break
    }
  }

  /// Applies the present values of the file.
  ///
  /// - Throws: `SettingFault` for the first fault, without changing anything.
  func reload(apply: (DeviceSettings) -> Void) throws(SettingFault) {
    try layers.withLock { layers throws(SettingFault) in
      var next = layers
      next.file = try file.read()
      try SettingsStore.checkPage(of: next)
      layers = next
      apply(layers.deviceSettings)
    }
  }
}
