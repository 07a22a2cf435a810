import Basics
import Foundation
import LocalAPI
import QueueModel
import SyncClient
import Testing

@testable import SyncDaemon

/// A message that interrupts stops the turn that its sender saw, on this device.
@Suite(.timeLimit(.minutes(10))) struct DaemonInterruptTests {
  private static let running = "11111111-1111-4111-8111-111111111111"
  private static let next = "22222222-2222-4222-8222-222222222222"

  /// Session `s` runs here; message `running` is at work, and others wait.
  private func scene(_ body: @escaping @Sendable (RunningDaemon) async throws -> Void) async throws
  {
    try await RunningDaemon.run { daemon in
      _ = try await daemon.request("POST", "/v1/sessions", #"{"id":"s"}"#)
      for (name, value) in [("command", "sleep 1000"), ("agent", "command")] {
        let set = try await daemon.request(
          "PUT", "/v1/settings/\(name)", #"{"value":"\#(value)"}"#)
        #expect(set.status == 200, "\(set.body)")
      }
      _ = try await daemon.request("PUT", "/v1/sessions/s/host", #"{"device":"this"}"#)
      _ = try await send(#"{"text":"one","id":"\#(Self.running)"}"#, to: daemon)
      try await waits(for: .running, of: Self.running, on: daemon)
      _ = try await send(#"{"text":"two"}"#, to: daemon)
      try await body(daemon)
      _ = try await daemon.request("DELETE", "/v1/sessions/s")
    }
  }

  private func send(_ body: String, to daemon: RunningDaemon) async throws -> SentAnswer {
    let reply = try await daemon.request("POST", "/v1/sessions/s/queue", body)
    #expect(reply.status == 201, "\(reply.body)")
    return try reply.decoded(SentAnswer.self)
  }

  private func status(of id: String, on daemon: RunningDaemon) async throws -> MessageStatus {
    try await daemon.request("GET", "/v1/messages/\(id)").decoded(MessageAnswer.self).status
  }

  private func waits(
    for wanted: MessageStatus, of id: String, on daemon: RunningDaemon
  ) async throws {
    while try await status(of: id, on: daemon) != wanted {
      try await Task.sleep(for: .milliseconds(20))
    }
  }

  // I-400: what runs is stopped, and the message starts before what waited.
  @Test func whatRunsIsStoppedAndTheMessageStarts() async throws {
    try await scene { daemon in
      let sent = try await send(
        #"{"text":"now","id":"\#(Self.next)","interrupt":{}}"#, to: daemon)
      #expect(sent.position == 2 && sent.count == 3)
      #expect(sent.stop?.stopped == true && sent.stop?.message?.text == "one", "\(sent)")
      #expect(sent.stop?.device == nil && sent.stop?.note == nil)
      try await waits(for: .cancelled, of: Self.running, on: daemon)
      try await waits(for: .running, of: Self.next, on: daemon)
      // Sent again after a lost answer, it does not stop itself, or what runs after it.
      let again = try await send(
        #"{"text":"now","id":"\#(Self.next)","interrupt":{}}"#, to: daemon)
      #expect(again.stop?.stopped != true, "\(again)")
      #expect(try await status(of: Self.next, on: daemon) == .running)
    }
  }

  // I-401: a turn that its user named is meant, or none.
  @Test func onlyTheTurnThatWasSeenIsStopped() async throws {
    try await scene { daemon in
      for named in [
        #"{"message":"\#(Self.next)"}"#, #"{"message":"\#(Self.running)","attempts":2}"#,
      ] {
        let sent = try await send(#"{"text":"now","interrupt":\#(named)}"#, to: daemon)
        #expect(sent.position == 2, "\(sent)")
        #expect(
          sent.stop
            == StopAnswer(
              stopped: false, note: "Nothing was stopped: no such turn is running."))
      }
      #expect(try await status(of: Self.running, on: daemon) == .running)
      let sent = try await send(
        #"{"text":"now","interrupt":{"message":"\#(Self.running)","attempts":1}}"#, to: daemon)
      #expect(sent.stop?.stopped == true, "\(sent)")
      try await waits(for: .cancelled, of: Self.running, on: daemon)
    }
  }

  // I-402: nothing is stopped for a message that cannot start, and the answer says why.
  @Test func aMessageThatCannotStartStopsNothing() async throws {
    try await scene { daemon in
      let time = ISOTime.text(milliseconds: 4_000_000_000_000)
      let later = try await send(
        #"{"text":"tomorrow","later":"\#(time)","interrupt":{}}"#, to: daemon)
      #expect(later.stop?.note?.hasPrefix("Nothing was stopped: the message waits until ") == true)
      let needy = try await send(
        #"{"text":"after it","needs":["\#(Self.running)"],"interrupt":{}}"#, to: daemon)
      #expect(
        needy.stop?.note == "Nothing was stopped: the message waits for “one” in s.", "\(needy)")
      let pause = #"{"reason":"on holiday"}"#
      _ = try await daemon.request("PUT", "/v1/sessions/s/pause", pause)
      let paused = try await send(#"{"text":"now","interrupt":{}}"#, to: daemon)
      #expect(
        paused.stop?.note
          == "Nothing was stopped: the session is paused. To resume it: cospool queue resume -s s.")
      #expect(
        paused.warning
          == "s is paused (on holiday). To resume it: cospool queue resume -s s")
      #expect(try await status(of: Self.running, on: daemon) == .running)
    }
  }

  // I-404: an agent interrupts nothing.
  @Test func anAgentInterruptsNothing() async throws {
    try await scene { daemon in
      let reply = try await daemon.request(
        "POST", "/v1/sessions/s/queue", #"{"text":"now","byAgent":true,"interrupt":{}}"#)
      #expect(reply.status == 403 && reply.body.contains("agentInterrupts"), "\(reply)")
      let queue = try await daemon.request("GET", "/v1/sessions/s/queue").decoded(QueueAnswer.self)
      #expect(queue.messages.map(\.content) == ["one", "two"])
    }
  }
}
