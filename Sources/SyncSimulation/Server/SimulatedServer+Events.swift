import ClientCore
import ServerCore

/// Events from outside that affect the server.
extension SimulatedServer {
  func perform(_ event: WorldEvent) -> EventOutcome {
    switch event {
    case .crashServer:
      guard process != nil else { return .skipped("it is down") }
      end("it crashed")
      startLater(200...5_000)
    case .restartServer:
      guard process != nil else { return .skipped("it is down") }
      let moment = time
      tell { $0.stopRequested(at: moment) }
    case .backUpServer(let label):
      disk.backups[label] = disk.backup()
    case .restoreServer(let label):
      guard let backup = disk.backups[label] else { return .skipped("no backup \(label)") }
      end("it is restored")
      disk.restore(backup)
      startRestored()
    case .swapServers:
      end("another one answers")
      disk.swap()
      startRestored()
    case .setServerClock(let offset):
      clockOffset = offset
    case .setServerStore(let condition):
      if condition != .working { results.hasStoreFailed = true }
      disk.setCondition(condition)
    default:
      return .skipped("nothing to do")
    }
    return .done
  }

  private func startRestored() {
    pairAgain()
    simulation.note(.rolledBack(.server))
    startLater(50...200)
  }

  /// Pairs devices again that were paired after the backup, with their present tokens.
  func pairAgain() {
    for device in simulation.devices {
      let files = device.currentFiles
      guard !disk.knows(files.device) else { continue }
      disk.pair(files.device, name: device.name, token: files.credentials?.token ?? [])
    }
  }
}
