package import QueueModel
package import WireProtocol

/// The holder of a lease: one device's store. Copies of its files are distinguished by the lease's
/// token.
package struct LeaseHolder: Hashable, Sendable {
  package var device: DeviceID
  package var store: StoreID

  package init(device: DeviceID, store: StoreID) {
    self.device = device
    self.store = store
  }
}

/// The permission to run a session's messages.
package struct Lease: Hashable, Sendable {
  package var session: SessionID
  /// Greater than every token before it, in the whole workspace.
  package var token: UInt64
  /// nil after it was released; the token stays known, so that it is never granted again.
  package var holder: LeaseHolder?

  package init(session: SessionID, token: UInt64, holder: LeaseHolder?) {
    self.session = session
    self.token = token
    self.holder = holder
  }
}

/// The latest granted attempt of a message.
package struct Dispatch: Hashable, Sendable {
  package var message: MessageID
  /// The session under whose lease it was granted; the message may have been moved since.
  package var session: SessionID
  /// The device and store that got it.
  package var holder: LeaseHolder
  package var token: UInt64
  package var attempt: UInt16
  /// The request that was answered with `go`.
  package var request: UInt64
  /// The digest of the granted text.
  package var content: UInt64
  /// When it was granted first, in milliseconds since 1970 on the authority's clock.
  package var milliseconds: Int64
  /// The intervention that was requested.
  package var intervention: Intervention

  package init(
    message: MessageID, session: SessionID, holder: LeaseHolder, token: UInt64, attempt: UInt16,
    request: UInt64, content: UInt64, milliseconds: Int64, intervention: Intervention = .none
  ) {
    self.message = message
    self.session = session
    self.holder = holder
    self.token = token
    self.attempt = attempt
    self.request = request
    self.content = content
    self.milliseconds = milliseconds
    self.intervention = intervention
  }

  /// The attempt by its name.
  package var name: AttemptName { AttemptName(message: message, number: attempt) }
}

/// What was requested for an attempt, or what its host reported; the raw value is the store's.
package enum Intervention: UInt8, Hashable, Sendable, CaseIterable {
  case none = 0
  /// Its host must stop it.
  case stop = 1
  /// The session's next host may go on without it.
  case takeOver = 2
  /// Its host released the lease, or began another message under it after this one was moved away:
  /// the attempt is not at work there, and never begins later.
  case released = 3
}

/// The verdict on a request that a task awaited.
package struct VerdictRecord: Hashable, Sendable {
  package var request: RequestID
  package var session: SessionID
  package var given: GivenVerdict
  /// When it was taken, in milliseconds since 1970 on the authority's clock.
  package var milliseconds: Int64

  package init(
    request: RequestID, session: SessionID, given: GivenVerdict, milliseconds: Int64
  ) {
    self.request = request
    self.session = session
    self.given = given
    self.milliseconds = milliseconds
  }
}

/// Rows of an authority: each replaces the row with the same session, message or request. A new
/// verdict removes those that are 7 days older.
package struct AuthorityRecords: Hashable, Sendable {
  package var leases: [Lease]
  package var dispatches: [Dispatch]
  package var verdicts: [VerdictRecord]

  package init(
    leases: [Lease] = [], dispatches: [Dispatch] = [], verdicts: [VerdictRecord] = []
  ) {
    self.leases = leases
    self.dispatches = dispatches
    self.verdicts = verdicts
  }

  package var isEmpty: Bool { leases.isEmpty && dispatches.isEmpty && verdicts.isEmpty }

  /// Verdicts from before this time are removed; nil if there is no new one among the rows.
  package var verdictsKeptSince: Int64? {
    verdicts.map(\.milliseconds).max().map { $0 - Authority.verdictMilliseconds }
  }
}
