import DispatchAuthority
import QueueModel
import WireProtocol

/// A request about leases or dispatch that waits for its turn. It comes after every earlier batch,
/// so that the answer takes those batches into account.
struct PendingRequest: Hashable, Sendable {
  /// The receiver of the answer.
  enum Asker: Hashable, Sendable {
    case connection(ConnectionID)
    /// An answer that came without a connection.
    case post(PostedAnswerID)
  }

  var asker: Asker
  var holder: LeaseHolder
  var id: UInt64
  var request: AuthorityRequest
}

/// A workspace's requests to the authority: those that wait for their turn, and open requests for
/// the next message of a session.
struct PendingRequests: Sendable {
  typealias Outcome = (answer: AuthorityAnswer, changes: AuthorityRecords)

  private var waiting: [PendingRequest] = []
  /// One for each session: a new one replaces the earlier one.
  private var openRequests: [SessionID: PendingRequest] = [:]
  /// Whether the queues have changed since the open requests were examined.
  private var areOpenRequestsDue = false

  var waitingCount: Int { waiting.count }
  /// Whether a request waits, or an open request may have an answer now.
  var areAnswerable: Bool { !waiting.isEmpty || areOpenRequestsDue && !openRequests.isEmpty }

  mutating func add(_ request: PendingRequest) {
    waiting.append(request)
  }

  /// The queues have changed: open requests may have an answer.
  mutating func queuesChanged() {
    areOpenRequestsDue = true
  }

  /// Removes and returns the requests that wait for their turn.
  mutating func takeWaiting() -> [PendingRequest] {
    defer { waiting = [] }
    return waiting
  }

  /// Lets the authority decide the waiting requests, in order, and then the open requests.
  mutating func answer(
    by authority: inout Authority, in content: Workspace, at now: ServerTime,
    awaySince: (LeaseHolder) -> Int64?
  ) -> [(PendingRequest, Outcome)] {
    func decide(_ pending: PendingRequest, _ authority: inout Authority) -> Outcome? {
      let (answer, changes) = authority.answer(
        pending.request, id: pending.id, from: pending.holder, in: content,
        uptime: now.uptimeMilliseconds, wall: now.wallMilliseconds, awaySince: awaySince)
      return answer.map { ($0, changes) }
    }
    var outcomes: [(PendingRequest, Outcome)] = []
    for pending in takeWaiting() {
      endOpenRequests(before: pending)
      guard let outcome = decide(pending, &authority) else {
        if case .next(let session, _) = pending.request { openRequests[session] = pending }
        continue
      }
      outcomes.append((pending, outcome))
    }
    guard areOpenRequestsDue else { return outcomes }
    areOpenRequestsDue = false
    for (session, pending) in openRequests.sorted(by: { $0.key < $1.key }) {
      guard let outcome = decide(pending, &authority) else { continue }
      openRequests[session] = nil
      outcomes.append((pending, outcome))
    }
    return outcomes
  }

  /// A host's request about a session ends its open request there.
  private mutating func endOpenRequests(before pending: PendingRequest) {
    switch pending.request {
    case .dispatch(let dispatch): endOpenRequests(in: dispatch.session, of: pending.asker)
    case .release(let session, _), .withdraw(let session):
      endOpenRequests(in: session, of: pending.asker)
    case .lease, .next, .outcome, .answer, .verdict, .whereabouts, .stop, .takeOver: break
    }
  }

  private mutating func endOpenRequests(in session: SessionID, of asker: PendingRequest.Asker) {
    if openRequests[session]?.asker == asker { openRequests[session] = nil }
  }

  /// A connection has ended, and so do its open requests.
  mutating func endOpenRequests(of connection: ConnectionID) {
    openRequests = openRequests.filter { $0.value.asker != .connection(connection) }
    waiting.removeAll { pending in
      if case .next = pending.request { pending.asker == .connection(connection) } else { false }
    }
  }
}
