package import QueueModel
package import SequenceCRDT
import WireProtocol

extension ClientCore {
  /// Where the connection stands, for people.
  package enum Condition: Hashable, Sendable {
    case notPaired
    case disabled
    case connecting
    case connected(sinceWall: Int64)
    case waiting(until: Int64)
    case refused
  }

  package var condition: Condition {
    switch link {
    case .idle(.refused): .refused
    case .idle: idleCondition
    case .waiting(let until): .waiting(until: until)
    case .connecting, .greeting: .connecting
    case .exchanging(let exchange): .connected(sinceWall: exchange.sinceWall)
    }
  }

  private var idleCondition: Condition {
    if credentials == nil { return .notPaired }
    return replica.record.isSyncEnabled ? .waiting(until: .max) : .disabled
  }

  /// The log position that the server is known to have reached.
  package var head: UInt64 {
    guard case .exchanging(let exchange) = link else { return replica.record.logPosition }
    return max(exchange.head, replica.record.logPosition)
  }

  /// How far operations have come.
  package enum Progress: Hashable, Sendable {
    case onThisDevice
    case onServer
    case seen([DeviceID])
  }

  /// How far an operation range of this device has come.
  package func progress(of range: OperationRange) -> Progress {
    guard replica.record.acknowledged[range.replica] >= range.last else { return .onThisDevice }
    guard let position = replica.receipts.position(of: range.replica, seq: range.last) else {
      return .onServer
    }
    let seen = devices.filter {
      $0.device != replica.record.device && $0.seenLogPosition >= position
    }
    return seen.isEmpty ? .onServer : .seen(seen.map(\.device))
  }
}

extension ClientCore {
  /// Whether a transport that is being opened is still wanted.
  package func expects(_ id: ConnectionID) -> Bool { link.connection == id }
}
