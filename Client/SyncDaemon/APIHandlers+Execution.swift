import Basics
import Foundation
import Hummingbird
import LocalAPI
import QueueModel
import SyncClient

extension APIHandlers {
  // MARK: - Running messages

  func addExecutionRoutes(to api: RouterGroup<Context>) {
    api.get("execution") { _, _ in CanonicalJSON.response(try await execution()) }
    api.put("sessions/:session/host") { request, context in
      let session = try session(context)
      let body = try await decoded(HostRequest.self, from: request)
      return CanonicalJSON.response(try await setHost(of: session, to: body.device))
    }
    api.post("sessions/:session/stop") { request, context in
      let session = try session(context)
      let body = try await decodedIfPresent(StopRequest.self, from: request)
      return CanonicalJSON.response(try await stop(session, at: body?.message))
    }
    api.post("sessions/:session/take-over") { request, context in
      let session = try session(context)
      let body = try await decoded(TakeOverRequest.self, from: request)
      return CanonicalJSON.response(
        try await takeOver(session, at: body.message, for: body.device ?? "this"))
    }
    api.put("sessions/:session/on-lost-server") { request, context in
      let session = try session(context)
      let body = try await decoded(LostServerRequest.self, from: request)
      return try await perform(.setOnLostServer(session, body.onLostServer))
    }
    api.put("sessions/:session/on-merge") { request, context in
      let session = try session(context)
      let body = try await decoded(MergeRequest.self, from: request)
      return try await perform(.setOnMerge(session, body.onMerge))
    }
    api.put("messages/:message/hold") { request, context in
      let id = try message(context)
      let body = try await decodedIfPresent(HoldRequest.self, from: request)
      let seconds = body?.seconds ?? APIHandlers.holdSeconds
      guard (1...APIHandlers.holdSecondsMax).contains(seconds) else {
        throw APIProblem(
          .unprocessableContent, code: "invalidHold",
          message: "A message is held for 1 to \(APIHandlers.holdSecondsMax) seconds at a time.",
          exitCode: ExitStatus.usage)
      }
      return try await perform(
        .hold(id, until: client.time + Int64(seconds) * 1_000), changing: [id],
        isOfPerson: try !isOfEditor(request))
    }
    api.delete("messages/:message/hold") { request, context in
      let id = try message(context)
      return try await perform(
        .hold(id, until: nil), changing: [id], isOfPerson: try !isOfEditor(request))
    }
  }

  /// How long a message waits for its editor, which renews that time.
  static let holdSeconds = 60
  static let holdSecondsMax = 3_600

  private func execution() async throws -> ExecutionAnswer {
    let counts = await client.execution.counts()
    let sync = client.syncStatus()
    let obstacles = await client.execution.obstacles().sorted { $0.key < $1.key }
    return ExecutionAnswer(
      agent: client.settings.agents.kind.rawValue, counts: counts,
      running: await client.execution.running().sorted { $0.key < $1.key }.map {
        ExecutionAnswer.Running(session: $0.key, message: $0.value)
      },
      waiting: try obstacles.compactMap { session, obstacle in
        guard let view = client.workspace().session(session) else { return nil }
        return ExecutionAnswer.Waiting(
          session: session, reason: obstacle.reason, note: try words(for: obstacle, of: view, sync))
      },
      unconsented: await client.execution.unconsented())
  }

  /// - Parameter message: the message that the user means; nil for whichever runs.
  private func stop(_ session: SessionID, at message: MessageID?) async throws -> StopAnswer {
    guard client.workspace().session(session) != nil else {
      throw QueueError.sessionNotFound(id: session.rawValue)
    }
    if let running = try await client.execution.stopAgent(of: session, at: message) {
      await noteStop(of: running, in: session)
      return StopAnswer(stopped: true, message: changed([running]).first)
    }
    guard let turn = await client.execution.turnAtWork(in: session),
      message ?? turn.message == turn.message
    else { return StopAnswer(stopped: false, note: client.workspace().undecided(in: session)) }
    switch try await client.execution.stop(turn) {
    case .stopping(let device, let since):
      await noteStop(of: turn.message, in: session)
      return StopAnswer(
        stopped: true, message: changed([turn.message]).first, device: name(of: device),
        awaySince: since)
    case .unreachable: throw APIProblem.serverNeeded("Only the server can stop its agent")
    case .takenOver, .connected, .notAtWork:
      return StopAnswer(stopped: false, note: client.workspace().undecided(in: session))
    }
  }

  /// Gives up the turn of an absent device, and makes another device the host.
  ///
  /// - Parameter message: the message that the user means; nil for whichever runs.
  private func takeOver(
    _ session: SessionID, at message: MessageID?, for device: String
  ) async throws -> HostAnswer {
    guard client.workspace().session(session) != nil else {
      throw QueueError.sessionNotFound(id: session.rawValue)
    }
    // Checked before any decision: an unknown name changes nothing.
    _ = try self.device(named: device)
    guard let turn = await client.execution.turnAtWork(in: session),
      message ?? turn.message == turn.message
    else { throw APIProblem.noTurn(in: session) }
    let isWithdrawn = (try? client.workspace().message(turn.message))?.withdrawal != nil
    switch try await client.execution.takeOver(turn) {
    case .takenOver:
      var answer = try await setHost(of: session, to: device)
      answer.warning = nil
      answer.cancelled = isWithdrawn ? true : nil
      return answer
    case .connected(let host):
      throw APIProblem(
        .conflict, code: "hostConnected",
        message: "\(name(of: host)) is connected. Stop its agent: cospool queue stop "
          + "\(Shell.quotedOption("-s", session.rawValue)).", exitCode: ExitStatus.conflict)
    case .unreachable:
      throw APIProblem.serverNeeded("Only the server can let another device take over a turn")
    case .stopping, .notAtWork: throw APIProblem.noTurn(in: session)
    }
  }

  private func setHost(of session: SessionID, to name: String?) async throws -> HostAnswer {
    let device = try name.map(device(named:))
    let before = client.workspace().session(session)?.host
    let running = (try? client.workspace().messageQueue(session))?.messages.first {
      $0.status == .running
    }
    try await client.execution.setHost(of: session, to: device)
    var answer = HostAnswer(session: session, host: device, name: device.map(self.name(of:)))
    let kind = await client.execution.agentKind(of: session)
    if device == client.deviceID, kind == AgentKind.none {
      answer.warning =
        "This device has no agent, so nothing starts: cospool config set agent claude, or for this "
        + "session alone: cospool session agent \(Shell.quotedOperand(session.rawValue)) claude."
    }
    answer.asksThere = device != nil && device != client.deviceID
    if let before, before != device {
      answer.previous = before
      let old = self.name(of: before)
      if let running {
        answer.warning =
          "\(old) may still work on message \(running.id), and nothing else starts until "
          + "that has ended. If \(old) does not come back: cospool session take-over "
          + "\(Shell.quotedOperand(session.rawValue)) \(Shell.quoted(name ?? "this"))."
      } else {
        answer.warning =
          device == nil
          ? "\(old) was the host. Nothing starts until you choose a device again."
          : "\(old) was the host. The new host starts nothing until \(old) has released "
            + "the session, or for 30 seconds if it does not answer."
      }
    }
    return answer
  }

  /// `this`, a name, or the beginning of an id.
  private func device(named text: String) throws -> DeviceID {
    if text == "this" { return client.deviceID }
    let devices = devices()
    // Devices choose their own names.
    let found = NameMatch(
      text, among: devices, id: { $0.id }, name: { $0.name }, names: .own
    ).all
    guard let device = found.first, found.count == 1 else {
      let reason = found.isEmpty ? "No device is named" : "Several devices are named"
      let named = (found.isEmpty ? devices : found).prefix(20).map {
        "\($0.name) (\($0.id.description.prefix(8)))"
      }.sorted().joined(separator: ", ")
      throw APIProblem(
        found.isEmpty ? .notFound : .conflict, code: "unknownDevice",
        message:
          "\(reason) \"\(text)\". Choose from \(named), by name or id; `this` is this device.",
        exitCode: ExitStatus.failed, candidates: devices.map(\.name).sorted())
    }
    return device.id
  }
}

extension APIProblem {
  /// Only the server decides it, but could not be asked or did not answer.
  fileprivate static func serverNeeded(_ reason: String) -> APIProblem {
    APIProblem(
      .serviceUnavailable, code: "unreachable",
      message: "\(reason), and the server did not answer. Try again when the server is reachable.",
      exitCode: ExitStatus.unreachable)
  }

  fileprivate static func noTurn(in session: SessionID) -> APIProblem {
    APIProblem(
      .conflict, code: "notAtWork",
      message:
        "No agent is running in \(session.rawValue). To run the session on this device: cospool "
        + "session host \(Shell.quotedOperand(session.rawValue)) this",
      exitCode: ExitStatus.conflict)
  }
}
