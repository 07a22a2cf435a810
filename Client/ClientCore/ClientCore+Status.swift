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
    guard case .exchanging(let exchange) = link else { return replica.record.prefix.position }
    return max(exchange.head, replica.record.prefix.position)
  }

  /// How far operations have come.
  package enum Progress: Hashable, Sendable {
    case onThisDevice
    case onServer
    case seen([DeviceID])
  }

  /// How far an operation range of this device has come.
  package func progress(of range: OperationRange) -> Progress {
    guard replica.record.outbox.overlap(with: range) == nil else { return .onThisDevice }
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

extension ClientCore {
  /// What becomes of an operation of this device on its way to the server.
  package enum Delivery: Hashable, Sendable {
    case waiting
    /// In a batch that the server has not answered.
    case underWay
    case acknowledged
    /// The server refused; with the next connection it is sent again.
    case refused(reason: String)
  }

  /// How far one operation has come.
  package func delivery(of id: OperationID) -> Delivery {
    if !replica.record.outbox.contains(id) { return .acknowledged }
    switch link {
    case .idle(.refused):
      return .refused(reason: trouble?.message ?? "no reason given")
    case .exchanging(let exchange):
      if exchange.heldUntil == .max {
        return .refused(reason: trouble?.message ?? "no reason given")
      }
      let isUnderWay = exchange.flights.contains { flight in
        flight.ranges.contains {
          $0.replica == id.replica && $0.first <= id.seq && id.seq <= $0.last
        }
      }
      return isUnderWay ? .underWay : .waiting
    case .idle, .waiting, .connecting, .greeting:
      return .waiting
    }
  }
}
