import Basics
import Foundation
import Hummingbird
import LocalAPI
import QueueModel
import SyncClient

/// Hooks of agents that a user works with.
struct HookHandlers: RouteHandlers {
  var client: QueueClient
  let slots: HookSlots
  let hooked: HookedAgents
  let conversations: TerminalConversations
  let ends: ConnectionEnds

  func addRoutes(to api: RouterGroup<Context>) {
    api.post("conversations/:conversation") { request, context in
      let conversation = try parameter("conversation", of: context)
      let body = try await decoded(ConversationRequest.self, from: request)
      try body.checkType()
      let session = try await conversations.session(of: conversation, body)
      return CanonicalJSON.response(ConversationAnswer(session: session.rawValue))
    }
    api.post("sessions/:session/feed") { request, context in
      let session = try session(context)
      let body = try await decoded(FeedRequest.self, from: request)
      guard client.workspace().session(session) != nil else {
        throw QueueError.sessionNotFound(id: session.rawValue)
      }
      switch try body.event() {
      case .promptTyped:
        slots.prompted(
          session, with: .failed("Another prompt was typed before it was done."))
        return CanonicalJSON.response(FeedAnswer())
      case .sessionEnded:
        slots.end(session, with: .died("The agent's session ended."))
        return CanonicalJSON.response(FeedAnswer())
      case .turnFailed:
        hooked.ended(session)
        try await failed(session, body)
        return CanonicalJSON.response(FeedAnswer())
      case .turnEnded:
        hooked.ended(session)
        return CanonicalJSON.response(try await feed(session, body, context))
      }
    }
  }

  /// The turn ended by an error. A prompt that was handed out failed with it, or waits for the end
  /// of a limit.
  private func failed(_ session: SessionID, _ body: FeedRequest) async throws {
    let reason = body.error ?? "The agent's turn ended by an error."
    let result =
      body.isLimit == true
      ? TurnResult.tryingLater(until: body.limitUntil?.milliseconds, reason: reason)
      : .failed(reason)
    guard slots.end(session, with: result) else {
      try await client.tasks.receive(.turnFailed(message: reason), in: session)
      return
    }
    await client.tasks.endLiveTurn(in: session)
  }

  /// The longest a hook may wait for a prompt.
  static let feedSecondsMax: Double = 30

  /// The turn ended: the next message passes the usual lease and dispatch check, and goes to the
  /// hook that waits here.
  private func feed(
    _ session: SessionID, _ body: FeedRequest, _ context: Context
  ) async throws -> FeedAnswer {
    let isFed = await client.execution.agentKind(of: session) == .hooks
    if isFed, client.workspace().session(session)?.host == nil {
      // The device whose agent has just reported; no user caused it.
      try await client.performIfAllowed(.setHost(session, client.deviceID))
    }
    let outcome = slots.stopped(session, body.stop, wantsPrompt: isFed)
    guard !outcome.isRepeated else { return FeedAnswer() }
    if outcome.endedTurn {
      await client.tasks.endLiveTurn(in: session)
    } else {
      try await client.tasks.receive(.turnEnded, in: session)
    }
    guard let slot = outcome.slot else { return FeedAnswer() }
    guard hasWork(session) else {
      _ = slots.close(session, number: slot.number)
      return FeedAnswer()
    }
    let seconds = min(max(0.1, body.waitSeconds ?? 2), HookHandlers.feedSecondsMax)
    // A hook that was killed gets nothing.
    let text = await ends.during(
      context.channel.closeFuture,
      onClose: { [slots] in _ = slots.close(session, number: slot.number) }
    ) {
      await gateChanged(of: session)
      return await prompt(at: slot, of: session, within: .seconds(seconds))
    }
    await gateChanged(of: session)
    guard text == nil || context.channel.isActive else {
      // It ended while its prompt was on its way: no agent got the prompt.
      slots.end(
        session,
        with: .tryAfter(
          LiveAgent.retryMilliseconds,
          reason: "The hook that waited for it has ended."))
      return FeedAnswer()
    }
    return FeedAnswer(text: text)
  }

  /// By now, another hook may wait in its place.
  private func gateChanged(of session: SessionID) async {
    await client.execution.gateChanged(of: session) { [slots] in slots.isAwaiting(session) }
  }

  private func prompt(
    at slot: (number: UInt64, prompts: AsyncStream<String>), of session: SessionID,
    within limit: Duration
  ) async -> String? {
    await withTaskGroup(of: Wait.self) { group in
      group.addTask {
        for await prompt in slot.prompts { return .given(prompt) }
        return .closed
      }
      group.addTask {
        // A shortened wait ends in the same way.
        try? await Task.sleep(for: limit)
        _ = slots.close(session, number: slot.number)
        return .timeOver
      }
      for await part in group {
        switch part {
        // A prompt that was handed out at that time follows it.
        case .timeOver: continue
        case .given(let prompt):
          group.cancelAll()
          return prompt
        case .closed:
          group.cancelAll()
          return nil
        }
      }
      return nil
    }
  }

  /// The ways in which the wait for a prompt ends.
  private enum Wait: Sendable {
    case given(String)
    /// No prompt will arrive: the hook has ended, or another one waits in its place.
    case closed
    case timeOver
  }

  /// Whether a message waits that this device may start.
  private func hasWork(_ session: SessionID) -> Bool {
    let workspace = client.workspace()
    // If another device is the host, nothing starts here.
    guard workspace.session(session)?.host == client.deviceID,
      let queue = try? workspace.messageQueue(session), !queue.paused
    else { return false }
    let statuses = queue.messages.map(\.status)
    // After a failed message, nothing starts until a user decides.
    return statuses.contains(.queued)
      && !statuses.contains { $0.standsInFront && $0 != .running }
  }
}

extension FeedRequest {
  /// The data of a `turn_end`.
  var stop: HookSlots.Stop {
    var process: AgentProcess?
    if let agentProcess, let agentStart {
      process = AgentProcess(id: agentProcess, start: agentStart)
    }
    return HookSlots.Stop(
      followsBlock: stopHookActive, hookStart: hookStart, blocksMax: blocksMax, process: process,
      result: .succeeded(summary: summary ?? ""))
  }

  func event() throws -> Event { try Event(named: type) }
}

extension ConversationRequest {
  func checkType() throws { if let type { _ = try Event(named: type) } }
}

extension RawRepresentable where RawValue == String, Self: CaseIterable {
  /// - Throws: if no event has that name.
  fileprivate init(named name: String) throws {
    guard let event = Self(rawValue: name) else {
      throw APIProblem(
        .unprocessableContent, code: "invalidSignal",
        message: "There is no event \"\(name)\": choose from "
          + Self.allCases.map(\.rawValue).joined(separator: ", ") + ".", exitCode: ExitStatus.usage
      )
    }
    self = event
  }
}
