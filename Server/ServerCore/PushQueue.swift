package import QueueModel

/// The port to the durable queue of pushes; `ServerStore` implements it.
///
/// An order is for a device; it becomes a delivery for each of the device's targets. Calls are
/// synchronous and come from the store's thread.
package protocol PushQueue: AnyObject, Sendable {
  /// Turns the orders since the last call into deliveries, in one transaction. A retraction drops
  /// the alert's open deliveries.
  ///
  /// - Parameter now: milliseconds since 1970.
  func takePushOrders(at now: Int64) throws(StorageFault)

  /// The due deliveries to valid targets, and the time of the next ones. Each target's orders keep
  /// their sequence: while the oldest waits, the others wait, too. Unreadable ones are recorded as
  /// dead.
  func dueDeliveries(at now: Int64, limit: Int) throws(StorageFault) -> DueDeliveries

  /// Stores the results of deliveries, and removes orders without open deliveries.
  func settle(_ settled: [SettledDelivery], at now: Int64) throws(StorageFault)

  /// Makes all waiting deliveries due now, and clears obstacles to pushes: the setup has changed.
  func hasten(at now: Int64) throws(StorageFault)

  /// The valid targets of devices that may connect. The user's are those that such a device set.
  ///
  /// - Parameter now: milliseconds since 1970.
  func validTargets(
    of devices: [DeviceID], in workspace: WorkspaceID, at now: Int64
  ) throws(StorageFault) -> [PushTargetRecord]

  /// All devices were notified of the end of a status, or the server gave up notifying them. A
  /// newer status of the session stays.
  func forget(_ end: LiveStatusEnd) throws(StorageFault)

  /// Stores why pushes of a kind cannot be sent; nil if they can be sent again.
  func note(problem: String?, of kind: String, at now: Int64) throws(StorageFault)
}

/// The end of a status, which the store keeps until all devices were notified.
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
  /// The number of attempts.
  package var attempts: Int
  /// When it was first tried, milliseconds since 1970; nil if it was not.
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
  /// When the next one is due, milliseconds since 1970; nil if none waits.
  package var nextAt: Int64?

  package init(due: [DueDelivery], nextAt: Int64?) {
    self.due = due
    self.nextAt = nextAt
  }
}

/// The result of a delivery.
package struct SettledDelivery: Hashable, Sendable {
  package enum Result: Hashable, Sendable {
    /// Completed, without a report.
    case done
    /// To be tried again; `counts` if the attempt counts against the limit.
    case again(at: Int64, reason: String, counts: Bool)
    /// Given up, and kept as a dead letter.
    case dead(reason: String)
    /// The address no longer exists: its waiting and later deliveries are not sent. If the target
    /// was registered again meanwhile, the new address is tried.
    case invalid(reason: String, registeredAt: Int64)
  }

  package var key: DeliveryKey
  package var result: Result

  package init(key: DeliveryKey, result: Result) {
    self.key = key
    self.result = result
  }
}

/// A summary of pushes, for the operator.
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

  /// Open deliveries.
  package var waiting: Int
  /// The newest first, at most `deadLettersMax`.
  package var deadLetters: [DeadLetter]
  /// The obstacle to pushes of a kind, for kinds that have a valid target.
  package var problems: [String: String]

  package static let deadLettersMax = 1_000
  /// The maximum number of waiting deliveries for one target; the oldest is dropped silently.
  package static let waitingMax = 1_000

  package init(waiting: Int, deadLetters: [DeadLetter], problems: [String: String]) {
    self.waiting = waiting
    self.deadLetters = deadLetters
    self.problems = problems
  }
}
