import ClientCore
import ClientStore
import QueueModel
import SequenceCRDT
import WireProtocol

/// Diagnostics of the device's connection.
extension QueueClient {
  /// The result of sending a large frame.
  package enum ProbeOutcome: Hashable, Sendable {
    case returned
    /// The connection ended while it was on its way.
    case connectionEnded
    case late
  }

  /// The size of a probe and of its answer, in bytes: a frame of the maximum size.
  package static let probeBytes = WireLimits.frameBytesMax

  /// Sends the server a frame of the maximum size over the present connection, which the server
  /// returns. Proxies in between may end connections that carry such frames.
  ///
  /// - Throws: `.unreachable` if there is no connection, or the server is of an earlier version.
  package func probe(within limit: Duration) async throws(ClientError) -> ProbeOutcome {
    let before = syncStatus()
    guard before.state == .connected else {
      throw .unreachable(message: "this device has no connection to a server at the moment")
    }
    let bytes = [UInt8](repeating: 0x5A, count: WireLimits.echoBytesMax)
    let statuses = syncStatusUpdates()
    let begin = ContinuousClock.now
    let answer = await withTaskGroup(of: InboxAnswer?.self) { group in
      group.addTask { await self.engine.inquire(.echo(bytes), within: limit) }
      group.addTask {
        for await status in statuses where !status.isSameConnection(as: before) { return nil }
        // It was cancelled, because the answer has arrived.
        return nil
      }
      let first = await group.next() ?? nil
      group.cancelAll()
      return first
    }
    switch answer {
    case .echo(bytes): return .returned
    case .unknown:
      throw .unreachable(message: "the server's version is too old: it sends no frame back")
    default:
      guard syncStatus().isSameConnection(as: before) else { return .connectionEnded }
      guard ContinuousClock.now - begin < limit else { return .late }
      throw .unreachable(message: "the server is busy; try again")
    }
  }

  /// When the server's certificate expires, in milliseconds since 1970; nil without a connection,
  /// or TLS.
  package func serverCertificateEnd() async -> Int64? {
    await engine.certificateEnd.map { $0 * 1_000 }
  }

  /// When the oldest change was made that the server may lack, in milliseconds since 1970; nil if
  /// there is none, or it has no time.
  package func oldestUnsent() async -> Int64? {
    guard syncStatus().outgoing > 0 else { return nil }
    // An unreadable store is reported elsewhere.
    return try? await engine.submit { core, _, store throws(Replica.Fault) in
      do throws(StoreError) {
        let ranges = core.replica.record.outbox.ranges
        let first = try store.entries(in: ranges, after: 0, countMax: 1).first
        return (first?.operations.lazy.compactMap(\.stamp?.milliseconds).first, [])
      } catch { throw .store(error) }
    }
  }
}

extension SyncStatus {
  fileprivate func isSameConnection(as other: SyncStatus) -> Bool {
    state == .connected && connectedSince == other.connectedSince
  }
}
