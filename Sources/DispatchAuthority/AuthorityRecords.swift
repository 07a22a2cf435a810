package import QueueModel
package import WireProtocol

/// Who holds a lease: one device's store. Copies of its files are told apart by the lease's token.
package struct LeaseHolder: Hashable, Sendable {
  package var device: DeviceID
  package var store: StoreID

  package init(device: DeviceID, store: StoreID) {
    self.device = device
    self.store = store
  }
}

/// The right to run a session's messages.
package struct Lease: Hashable, Sendable {
  package var session: SessionID
  /// Greater than every token before it, in the whole workspace.
  package var token: UInt64
  /// nil after it was given back; the token stays known, so that it is never granted again.
  package var holder: LeaseHolder?

  package init(session: SessionID, token: UInt64, holder: LeaseHolder?) {
    self.session = session
    self.token = token
    self.holder = holder
  }
}

/// The latest attempt of a message that was let out.
package struct Dispatch: Hashable, Sendable {
  package var message: MessageID
  /// The session whose lease it was let out under; the message may have been moved since.
  package var session: SessionID
  /// Who got it.
  package var holder: LeaseHolder
  package var token: UInt64
  package var attempt: UInt16
  /// The request that was answered with `go`.
  package var request: UInt64
  /// The digest of the text that went out.
  package var content: UInt64
  /// When it was let out first, in milliseconds since 1970 on the authority's clock.
  package var milliseconds: Int64
  /// What somebody wants to become of it.
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

/// What somebody wants to become of an attempt, or its host said of it; the raw value is the store's.
package enum Intervention: UInt8, Hashable, Sendable, CaseIterable {
  case none = 0
  /// Its host is to stop it.
  case stop = 1
  /// The session's next host may go on without it.
  case takeOver = 2
  /// Its host gave the lease back: it is not at work there, whatever *run* says.
  case released = 3
}

/// What became of a request that a task awaited.
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

/// Rows of an authority: each takes the place of the one with the same session, message or request.
/// Verdicts that are 7 days older than a new one go with it.
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

  /// Verdicts taken before this time are forgotten; nil if no new one is among the rows.
  package var verdictsKeptSince: Int64? {
    verdicts.map(\.milliseconds).max().map { $0 - Authority.verdictMilliseconds }
  }
}
