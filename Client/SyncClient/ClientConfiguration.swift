import Foundation
import QueueModel

/// The configuration of a device's queues.
public struct ClientConfiguration: Sendable {
  /// The directory of `cospool.sqlite`, `credentials.json`, the device's id, and the lock. If it
  /// does not exist, it is created, readable only by its owner.
  public var dataDirectory: String
  /// The device's name for users.
  public var deviceName: String
  /// The settings of the queues on this device.
  public var settings: DeviceSettings
  /// A PEM file with roots to trust in addition to the system's, for `wss`.
  public var certificateFile: String?
  /// The environment variables that name an HTTP proxy: `https_proxy`, `all_proxy` and `no_proxy`,
  /// in lower or upper case. Without them, the device connects directly.
  public var proxyVariables: [String: String] = [:]

  /// Creates a configuration.
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

  /// The name in the form that an announcement allows: trimmed, not empty, within the limit,
  /// without control characters.
  var deviceNameClamped: String {
    var name = String(
      String.UnicodeScalarView(
        deviceName.unicodeScalars.map { $0.properties.generalCategory == .control ? " " : $0 }))
    name = name.trimmingCharacters(in: .whitespacesAndNewlines)
    while name.utf8.count > Limits.nameBytesMax { name.removeLast() }
    return name.isEmpty ? "device" : name
  }
}
