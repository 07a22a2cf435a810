package import ClientCore
package import QueueModel

/// The device's id, in its own file: it outlives the database, and a database restored elsewhere
/// does not take it along.
package enum DeviceIdentity {
  package static let fileName = "device"

  /// Reads the id, or stores `fresh` if there is none yet.
  package static func load(
    directory: String, fresh: DeviceID
  ) throws(StoreError) -> DeviceID {
    let path = directory + "/" + fileName
    if let text = try FileAccess.read(path) {
      let line = text.split(separator: "\n").first ?? ""
      if let device = DeviceID(line) { return device }
    }
    try FileAccess.replace(path, with: fresh.description + "\n")
    return fresh
  }
}
