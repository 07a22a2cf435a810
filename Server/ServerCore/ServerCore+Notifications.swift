import QueueModel
import WireProtocol

/// Notifications: the events of a batch go into the inboxes of devices, in the transaction that
/// stores the batch; SPECIFICATION.md, section "Notifications".
extension ServerCore {
  /// A device has stored its inbox up to a position.
  mutating func notified(
    through position: UInt64, on id: ConnectionID, by session: Session, at now: ServerTime
  ) {
    guard connections[id]?.member?.notices?.answerCounts() == true else { return }
    workspaces[session.workspace]?.inboxes.acknowledged(through: position, by: session.device)
    storeInboxes(of: session.workspace, at: now)
  }

  // MARK: - Time

  /// Hands due notifications to the push service.
  mutating func pushDue(at now: ServerTime) {
    if storeHealth.works {
      for id in workspaces.ids(where: \.inboxes.areLost) where !storeHealth.isDamaged(id, at: now) {
        workspaces.load(id, &actions)
      }
    }
    workspaces.pushDue(connections, &actions, at: now)
    findUnpushed(at: now)
  }

  /// Looks for workspaces with pending pushes: once after the start, or repeatedly.
  private mutating func findUnpushed(at now: ServerTime) {
    guard stopping == nil, storeHealth.works, !storeHealth.arePushesDamaged(at: now),
      unpushed.takeTurn(configuration, at: now)
    else { return }
    actions.ask(.findUnpushed, for: .findUnpushed)
  }

  mutating func foundUnpushed(_ outcome: StoreOutcome, at now: ServerTime) {
    switch outcome {
    case .unpushed(let ids):
      for id in ids where workspaces[id] == nil { workspaces.load(id, &actions) }
    case .failed(let fault):
      unpushed = UnpushedSearch()
      storeHealth.failedToReadPushes(fault, at: now)
      storageFailed(fault, at: now)
    default:
      preconditionFailure("the store answered another question")
    }
  }

  // MARK: - Requests

  /// A device sent a request about itself.
  mutating func requested(
    _ question: InboxRequest, as request: UInt64, by connection: Connection, _ session: Session,
    at now: ServerTime, using generator: inout some RandomNumberGenerator
  ) {
    guard let resident = workspaces[session.workspace], !resident.inboxes.areLost,
      resident.inboxes.answerCount < configuration.quota.requestsMax
    else {
      storeInboxes(of: session.workspace, at: now)
      return send(.response(InboxAnswer.unavailable.response(id: request)), to: connection.id)
    }
    if session.role == .viewer, resident.inboxes.isAboutPerson(question) {
      let answer = InboxAnswer.unusable(
        "this device may only view: it cannot set, test or remove its user's push targets")
      return send(.response(answer.response(id: request)), to: connection.id)
    }
    var answer = InboxAnswer.done
    switch question {
    case .visibility(let isVisible):
      if connection.isLookedAt {
        workspaces[session.workspace]?.inboxes.lookedAt = now.uptimeMilliseconds
      }
      connections[connection.id]?.member?.isVisible = isVisible
      return send(.response(answer.response(id: request)), to: connection.id)
    case .targets:
      answer = .targets(resident.inboxes.targets(of: session.device).map(\.state))
    case .setTarget(let id, let kind, let address, let owner):
      answer = set(id, kind: kind, address: address, owner, session, at: now)
    case .removeTarget(let id):
      workspaces[session.workspace]?.inboxes.removeTarget(id, of: session.device)
    case .code(let wish):
      return asked(forCode: wish, as: request, by: connection, session, at: now, using: &generator)
    case .setPreferences(let preferences):
      workspaces[session.workspace]?.inboxes.set(preferences, for: session.device)
    case .echo(let bytes):
      return send(.response(InboxAnswer.echo(bytes).response(id: request)), to: connection.id)
    case .output(let device, let part):
      let since = resident.devices[device]?.lastSeenAt
      return withConnections {
        $0.ask(
          part, of: device, for: request, by: connection.id, in: session.workspace,
          awaySince: since, &$1, at: now)
      }
    case .testTarget(let id):
      return test(id, as: request, by: connection, resident.inboxes.targets(of: session.device))
    }
    workspaces[session.workspace]?.inboxes.answer(
      connection.id, answer.response(id: request))
    storeInboxes(of: session.workspace, at: now)
  }

  private mutating func set(
    _ id: PushTargetID, kind: String, address: String, _ owner: PushTargetOwner,
    _ session: Session, at now: ServerTime
  ) -> InboxAnswer {
    switch targetCheck(kind, address) {
    case .unusable(let problem):
      return .unusable(problem)
    case .usable(let shownAddress):
      let record = PushTargetRecord(
        device: owner == .person ? .person : session.device, id: id, kind: kind, address: address,
        shownAddress: shownAddress, registeredAt: now.wallMilliseconds, setBy: session.device)
      let problem = workspaces[session.workspace]?.inboxes.set(record)
      return problem.map(InboxAnswer.unusable) ?? .done
    }
  }

  private mutating func test(
    _ id: PushTargetID, as request: UInt64, by connection: Connection,
    _ targets: [PushTargetRecord]
  ) {
    guard let target = targets.first(where: { $0.id == id }) else {
      let answer = InboxAnswer.unusable("this device and its user have no such push target")
      return send(.response(answer.response(id: request)), to: connection.id)
    }
    guard connection.member?.test == nil else {
      return send(.response(InboxAnswer.unavailable.response(id: request)), to: connection.id)
    }
    connections[connection.id]?.member?.test = (request, target)
    actions.add(.testPush(target, for: connection.id))
  }

  /// A provider answered a test, or could not be reached.
  ///
  /// - Parameter problem: its report if it did not accept the push.
  package mutating func pushTested(
    for id: ConnectionID, problem: String?, at now: ServerTime
  ) -> [ServerAction] {
    // An ended connection needs no answer.
    guard let member = connections[id]?.member, let (request, target) = member.test
    else { return [] }
    connections[id]?.member?.test = nil
    if problem == nil {
      note(.tested(target, of: member.session.workspace, at: now.wallMilliseconds), at: now)
    }
    let answer = problem.map(InboxAnswer.unusable) ?? .done
    send(.response(answer.response(id: request)), to: id)
    return actions.take()
  }

  /// The push service learned something about a target.
  package mutating func pushTargetReported(
    _ report: PushTargetReport, at now: ServerTime
  ) -> [ServerAction] {
    note(report, at: now)
    return actions.take()
  }

  private mutating func note(_ report: PushTargetReport, at now: ServerTime) {
    workspaces[report.workspace]?.inboxes.note(report)
    storeInboxes(of: report.workspace, at: now)
  }

  /// Stores the changes of the inboxes as soon as possible.
  private mutating func storeInboxes(of id: WorkspaceID, at now: ServerTime) {
    guard let resident = workspaces[id] else { return }
    if resident.inboxes.areLost { return workspaces.load(id, &actions) }
    guard resident.hasInboxWork else { return }
    workspaces.markReady(id)
    stageCommit(at: now)
  }
}

/// When the server last looked for workspaces with pending pushes.
struct UnpushedSearch: Sendable {
  /// In uptime; nil before the first search, and after a failure.
  private var lookedAt: Int64?

  /// Whether to look for them now.
  mutating func takeTurn(_ configuration: ServerConfiguration, at now: ServerTime) -> Bool {
    if let lookedAt {
      guard configuration.sharesStore,
        now.uptimeMilliseconds - lookedAt >= configuration.times.unpushedMilliseconds
      else { return false }
    }
    lookedAt = now.uptimeMilliseconds
    return true
  }
}

/// The server's check of an address that a device registers.
package enum PushTargetCheck: Hashable, Sendable {
  /// It is usable; this is its displayed form, without its secrets.
  case usable(shownAddress: String)
  /// The fault in it, for the user who wrote it.
  case unusable(String)

  /// Checks only the kind, because without a push service the address cannot be checked.
  package static func ofKind(_ kind: String, _ address: String) -> PushTargetCheck {
    guard ["apns", "ntfy", "webhook"].contains(kind) else {
      return .unusable("\(kind) is not a kind of push target: choose apns, ntfy or webhook")
    }
    guard !address.isEmpty else { return .unusable("the address is empty") }
    return .usable(shownAddress: "…" + String(address.suffix(4)))
  }
}

extension StoredNotification {
  /// A device gets the complete notification: it has the data anyway.
  func frame(isMissed: Bool) -> InboxNotification {
    InboxNotification(
      position: position, name: name, event: event, isMissed: isMissed, session: session,
      request: request, message: message, milliseconds: milliseconds)
  }
}
