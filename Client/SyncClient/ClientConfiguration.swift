import Foundation
import QueueModel

/// How a device keeps its queues.
public struct ClientConfiguration: Sendable {
  /// Holds `cospool.sqlite`, `credentials.json`, the device's id, and the lock; made, readable by
  /// its owner alone, if it does not exist.
  public var dataDirectory: String
  /// What a person calls the device.
  public var deviceName: String
  /// How the queues behave on this device.
  public var settings: DeviceSettings
  /// A PEM file with roots to trust besides the system's, for `wss`.
  public var certificateFile: String?

  /// Puts the settings together.
  ///
  /// - Parameter deviceName: the host's name if nil.
  public init(
    dataDirectory: String, deviceName: String? = nil, settings: DeviceSettings = .init(),
    certificateFile: String? = nil
  ) {
    self.dataDirectory = dataDirectory
    self.deviceName = deviceName ?? ClientConfiguration.hostName
    self.settings = settings
    self.certificateFile = certificateFile
  }

  private static var hostName: String {
    let name = ProcessInfo.processInfo.hostName
    let first = name.prefix { $0 != "." }
    return first.isEmpty ? "device" : String(first)
  }

  /// The name as an announcement may carry it: trimmed, not empty, within the limit, without control
  /// characters.
  var deviceNameClamped: String {
    var name = String(
      String.UnicodeScalarView(
        deviceName.unicodeScalars.map { $0.properties.generalCategory == .control ? " " : $0 }))
    name = name.trimmingCharacters(in: .whitespacesAndNewlines)
    while name.utf8.count > Limits.nameBytesMax { name.removeLast() }
    return name.isEmpty ? "device" : name
  }
}
