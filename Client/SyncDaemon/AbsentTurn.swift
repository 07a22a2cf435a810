import LocalAPI
import QueueModel
import SyncClient

/// A turn that may still run on a device that is absent or no longer the host.
struct AbsentTurn {
  var host: DeviceID
  /// This device.
  var own: DeviceID
  var name: String
  /// The server's answer about it, if it was asked.
  var elsewhere: TurnElsewhere?
  var sync: SyncStatus

  /// The device that has it, and how to continue without that; nil if it is only known to run.
  ///
  /// - Parameter quoted: the session, quoted for a shell.
  func words(for quoted: String) -> String? {
    let device = sync.devices.first { $0.id == host }
    let time = elsewhere?.awaySince ?? device?.awaySince
    let since = time.map { " since \(LocalTime.words($0))" } ?? ""
    let absence: String
    if host == own {
      // The server refers to an earlier store of this device, or to a copy of it.
      guard let elsewhere else { return nil }
      guard elsewhere.awaySince != nil else { return "another program of this device works on it" }
      absence = "this device has lost its records\(since)"
    } else if sync.isRemoved(host, own: own) {
      absence = "\(name) was revoked"
    } else if device?.connected == false {
      absence = time == nil ? "\(name) is away" : "\(name) has been away\(since)"
    } else if let elsewhere {
      guard elsewhere.awaySince != nil else { return "\(name) still works on it" }
      absence = "\(name) is connected but has not reported on its turn\(since)"
    } else {
      return nil
    }
    return
      "\(absence); its turn may still be running. To continue without it: cospool session "
      + "take-over \(quoted)"
  }
}

extension SyncStatus {
  /// Whether a device is no longer in the workspace; the server knows the devices.
  func isRemoved(_ device: DeviceID, own: DeviceID) -> Bool {
    state == .connected && device != own && !devices.contains { $0.id == device }
  }
}

extension MessageAnswer {
  /// For a stopped message, adds whether the device that has it is absent, as far as that is known.
  mutating func noteAbsence(in session: SessionID?, of client: QueueClient) async {
    guard withdrawn == .stopping, let session else { return }
    let elsewhere = await client.execution.runsElsewhere()[session]
    let host = elsewhere?.device ?? client.workspace().session(session)?.host
    let isAway = client.syncStatus().devices.contains { $0.id == host && !$0.connected }
    if isAway || elsewhere?.awaySince != nil { withdrawn = .hostAway }
  }
}
