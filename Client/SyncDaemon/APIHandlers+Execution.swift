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
    api.post("sessions/:session/stop") { _, context in
      let session = try session(context)
      return CanonicalJSON.response(StopAnswer(stopped: try await stop(session)))
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
        .hold(id, until: client.time + Int64(seconds) * 1_000), changing: [id])
    }
    api.delete("messages/:message/hold") { _, context in
      let id = try message(context)
      return try await perform(.hold(id, until: nil), changing: [id])
    }
    api.get("messages/:message/output") { request, context in
      let id = try message(context)
      let attempt = request.uri.queryParameters.get("attempt").flatMap { Int($0) }
      guard let record = output.record(of: id, attempt: attempt) else {
        throw APIProblem(
          .notFound, code: "noOutput",
          message: "No output of message \(id) is kept here. It is on the device that ran it.",
          exitCode: ExitStatus.failed)
      }
      return CanonicalJSON.response(record)
    }
  }

  /// How long a message waits for its editor, who renews it.
  static let holdSeconds = 60
  static let holdSecondsMax = 3_600

  private func execution() async throws -> ExecutionAnswer {
    let counts = await client.execution.counts()
    return ExecutionAnswer(
      agent: client.settings.agents.kind.rawValue, counts: counts,
      running: await client.execution.running().sorted { $0.key < $1.key }.map {
        ExecutionAnswer.Running(session: $0.key, message: $0.value)
      },
      unconsented: try await unconsented())
  }

  private func stop(_ session: SessionID) async throws -> Bool {
    guard let view = client.workspace().session(session) else {
      throw QueueError.sessionNotFound(id: session.rawValue)
    }
    if let host = view.host, host != client.deviceID {
      throw APIProblem(
        .conflict, code: "otherHost",
        message: "The agent of \(session) runs on \(name(of: host)). Stop it there.",
        exitCode: ExitStatus.conflict)
    }
    return try await client.execution.stopAgent(of: session)
  }

  private func setHost(of session: SessionID, to name: String?) async throws -> HostAnswer {
    let device = try name.map(device(named:))
    let before = client.workspace().session(session)?.host
    let running = (try? client.workspace().messageQueue(session))?.messages.first {
      $0.status == .running
    }
    // Before the session is this device's, so that the word is there when it is looked for.
    if client.workspace().session(session) != nil {
      try await client.execution.setConsent(device == client.deviceID, to: session)
    }
    try await client.perform(.setHost(session, device))
    await client.execution.apply(try await AgentService.executionSettings(of: client))
    var answer = HostAnswer(session: session, host: device, name: device.map(self.name(of:)))
    let kind = try await client.execution.agentKind(of: session)
    if device == client.deviceID, kind == AgentKind.none {
      answer.warning =
        "This device has no agent, so nothing starts: cospool config set agent claude, or for this "
        + "session alone: cospool session agent \(Shell.quoted(session.rawValue)) claude."
    }
    answer.asksThere = device != nil && device != client.deviceID
    if let before, before != device {
      answer.previous = before
      let old = self.name(of: before)
      if let running {
        answer.warning =
          "\(old) took over message \(running.id) and may still work on it. It is not started "
          + "again by itself: wait for its end, or decide with retry or skip when it is unknown."
      } else {
        answer.warning =
          device == nil
          ? "\(old) was the host. Nothing starts before a device is named again."
          : "\(old) was the host. Nothing starts on the new one before the old one gave the session "
            + "back, or for 30 seconds where it does not answer."
      }
    }
    return answer
  }

  /// The sessions that would run here if somebody at this device said so.
  func unconsented() async throws -> [SessionID] {
    let settings = try await AgentService.executionSettings(of: client)
    return client.workspace().sessions().filter { $0.host == client.deviceID }.map(\.id)
      .filter(settings.lacksConsent)
  }

  /// `this`, a name, or the beginning of an id.
  private func device(named text: String) throws -> DeviceID {
    if text == "this" { return client.deviceID }
    let devices = devices()
    // Devices name themselves.
    let found = NameMatch(
      text, among: devices, id: { $0.id }, name: { $0.name }, names: .own
    ).all
    guard let device = found.first, found.count == 1 else {
      let reason = found.isEmpty ? "No device is called" : "Several devices are called"
      let named = (found.isEmpty ? devices : found).prefix(20).map {
        "\($0.name) (\($0.id.description.prefix(8)))"
      }.sorted().joined(separator: ", ")
      throw APIProblem(
        found.isEmpty ? .notFound : .conflict, code: "unknownDevice",
        message: "\(reason) \"\(text)\". Choose from \(named), by name or id; `this` is this one.",
        exitCode: ExitStatus.failed, candidates: devices.map(\.name).sorted())
    }
    return device.id
  }
}
