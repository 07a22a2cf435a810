import Foundation

/// Devices as a table for users.
package enum DeviceTable {
  package static func text(for list: ServerAdministration.DeviceList) -> String {
    let header = ["ID", "NAME", "WORKSPACE", "PAIRED", "LAST SEEN", "ACCESS"]
    let rows = list.devices.map { device in
      [
        device.id, ShownName.text(device.name), ShownName.text(device.workspaceName),
        time(device.pairedAt),
        device.connectedSince != nil ? "connected" : device.lastSeenAt.map(time) ?? "never",
        access(of: device),
      ]
    }
    let widths = header.indices.map { column in
      ([header] + rows).map { $0[column].count }.max() ?? 0
    }
    return ([header] + rows).map { row in
      zip(row, widths).map { $0 + String(repeating: " ", count: $1 - $0.count) }
        .joined(separator: "  ").trimmingCharacters(in: .whitespaces)
    }.joined(separator: "\n")
  }

  private static func access(of device: ServerAdministration.Device) -> String {
    if device.revoked { return "revoked" }
    guard let end = device.expiresAt else { return device.role }
    let verb = end.milliseconds <= ProcessClock.wallMilliseconds ? "ended" : "until"
    return "\(device.role), \(verb) \(time(end))"
  }

  private static func time(_ time: PrintedTime) -> String {
    Date(timeIntervalSince1970: Double(time.milliseconds) / 1_000).formatted(.iso8601)
  }
}
