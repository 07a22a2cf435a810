package import QueueModel

/// The port to the durable queue of pushes; `ServerStore` implements it.
///
/// An order is for a device; it becomes a delivery for each of the device's targets. Calls are
/// synchronous and come from the store's thread.
package protocol PushQueue: AnyObject, Sendable {
  /// Makes deliveries out of the orders that came since the last call, in one transaction. A
  /// retraction drops the alert's deliveries that are still to be made.
  ///
  /// - Parameter now: milliseconds since 1970.
  func takePushOrders(at now: Int64) throws(StorageFault)

  /// What is due to targets that are valid, and when more will be. Each target's orders keep their
  /// order: while the oldest waits, so do the others. What cannot be read is settled as dead.
  func dueDeliveries(at now: Int64, limit: Int) throws(StorageFault) -> DueDeliveries

  /// Stores what became of deliveries, and forgets orders that have none left.
  func settle(_ settled: [SettledDelivery], at now: Int64) throws(StorageFault)

  /// Makes everything that waits due now and forgets what kept pushes from being sent: the set-up
  /// has changed.
  func hasten(at now: Int64) throws(StorageFault)

  /// The valid targets of devices that may connect; of the person's, those that such a device set.
  ///
  /// - Parameter now: milliseconds since 1970.
  func validTargets(
    of devices: [DeviceID], in workspace: WorkspaceID, at now: Int64
  ) throws(StorageFault) -> [PushTargetRecord]

  /// Everybody was told of the end of a status, or it was given up. A status of the session that
  /// began since stays.
  func forget(_ end: LiveStatusEnd) throws(StorageFault)

  /// Remembers what keeps pushes of a kind from being sent; nil: nothing any more.
  func note(problem: String?, of kind: String, at now: Int64) throws(StorageFault)
}

/// The end of a status, which the store keeps until everybody was told of it.
package struct LiveStatusEnd: Hashable, Sendable {
  package var workspace: WorkspaceID
  package var session: SessionID
  /// Milliseconds since 1970.
  package var at: Int64

  package init(workspace: WorkspaceID, session: SessionID, at: Int64) {
    self.workspace = workspace
    self.session = session
    self.at = at
  }
}

/// One push order for one target.
package struct DueDelivery: Hashable, Sendable {
  package var order: StoredPushOrder
  package var target: PushTargetRecord
  /// How often it was tried.
  package var attempts: Int
  /// When it was tried first, milliseconds since 1970; nil for not yet.
  package var firstAt: Int64?

  package init(
    order: StoredPushOrder, target: PushTargetRecord, attempts: Int, firstAt: Int64?
  ) {
    self.order = order
    self.target = target
    self.attempts = attempts
    self.firstAt = firstAt
  }

  package var key: DeliveryKey { DeliveryKey(order: order.number, target: target.id) }
}

package struct DeliveryKey: Hashable, Sendable {
  package var order: Int64
  package var target: PushTargetID

  package init(order: Int64, target: PushTargetID) {
    self.order = order
    self.target = target
  }
}

package struct DueDeliveries: Hashable, Sendable {
  package var due: [DueDelivery]
  /// When the next one is due, milliseconds since 1970; nil: none waits.
  package var nextAt: Int64?

  package init(due: [DueDelivery], nextAt: Int64?) {
    self.due = due
    self.nextAt = nextAt
  }
}

/// What became of a delivery.
package struct SettledDelivery: Hashable, Sendable {
  package enum Result: Hashable, Sendable {
    /// It is over, and nobody needs to know.
    case done
    /// To be tried again; `counts` if the attempt was one of those that are limited.
    case again(at: Int64, reason: String, counts: Bool)
    /// Given up: it is kept as a dead letter.
    case dead(reason: String)
    /// The address is no more: nothing that waits for it is sent, nor is anything later. Where the
    /// target was registered anew meanwhile, the new address is tried.
    case invalid(reason: String, registeredAt: Int64)
  }

  package var key: DeliveryKey
  package var result: Result

  package init(key: DeliveryKey, result: Result) {
    self.key = key
    self.result = result
  }
}

/// What there is to know of pushes, for the operator.
package struct PushSummary: Hashable, Sendable {
  package struct DeadLetter: Hashable, Sendable {
    package var target: PushTargetID
    package var attempts: Int
    package var reason: String
    /// Milliseconds since 1970.
    package var at: Int64

    package init(target: PushTargetID, attempts: Int, reason: String, at: Int64) {
      self.target = target
      self.attempts = attempts
      self.reason = reason
      self.at = at
    }
  }

  /// Deliveries that are still to be made.
  package var waiting: Int
  /// The newest first, at most `deadLettersMax`.
  package var deadLetters: [DeadLetter]
  /// What keeps pushes of a kind from being sent; of the kinds that have a valid target.
  package var problems: [String: String]

  package static let deadLettersMax = 1_000
  /// Deliveries that may wait for one target; the oldest goes without a word.
  package static let waitingMax = 1_000

  package init(waiting: Int, deadLetters: [DeadLetter], problems: [String: String]) {
    self.waiting = waiting
    self.deadLetters = deadLetters
    self.problems = problems
  }
}
