import ArgumentParser
import Foundation
import LocalAPI
import Testing

@testable import SyncCommand

/// The output of `cospool queue cancel`, `clear` and `edit` if they were too late, or if that is
/// unknown.
@Suite(.timeLimit(.minutes(10))) struct WithdrawalTests {
  private static let first = "11111111-1111-4111-8111-111111111111"
  private static let second = "22222222-2222-4222-8222-222222222222"

  /// The output on stdout and stderr, and the exit code.
  private func outcome(_ arguments: [String], of json: String) throws -> CommandRunner.Outcome {
    let command = try #require(try Cospool.parseAsRoot(arguments) as? any DaemonCommand)
    let answer = Answer(json: Data(json.utf8))
    return CommandRunner.Outcome(
      exitCode: command.exitCode(of: answer), output: try command.text(of: answer, style: .plain),
      errors: command.warning(of: answer) ?? "")
  }

  private func answer(_ outcomes: String...) -> String {
    let items = zip([Self.first, Self.second], outcomes).map { id, outcome in
      #"{"id":"\#(id)","outcome":"\#(outcome)"}"#
    }
    return #"{"count":\#(outcomes.count),"outcomes":[\#(items.joined(separator: ","))],"#
      + #""result":"affected"}"#
  }

  private static let commands = [["queue", "cancel", "1", "2"], ["queue", "clear", "-s", "a"]]

  private static func place(_ arguments: [String]) -> String {
    arguments.contains("clear") ? " in a" : ""
  }

  @Test(arguments: commands) func withdrawalsInTimeAreCounted(arguments: [String]) throws {
    #expect(
      try outcome(arguments, of: answer("cancelled", "cancelled"))
        == .init(output: "cancelled 2 messages" + Self.place(arguments)))
  }

  @Test(arguments: commands) func lateWithdrawalsDoNotCancel(arguments: [String]) throws {
    let late = "cospool: too late for \(Self.first): its agent has it already."
    #expect(
      try outcome(arguments, of: answer("invoked", "cancelled"))
        == .init(
          exitCode: 5, output: "cancelled 1 message" + Self.place(arguments), errors: late))
    #expect(try outcome(arguments, of: answer("invoked")) == .init(exitCode: 5, errors: late))
    // A message that was finished before is late, too.
    let done = answer("invoked").replacing(#""affected""#, with: #""unchanged""#)
    #expect(
      try outcome(arguments, of: done) == .init(exitCode: 5, output: "unchanged", errors: late))
  }

  @Test(arguments: commands) func unconfirmedWithdrawalsAreReported(arguments: [String]) throws {
    #expect(
      try outcome(arguments, of: answer("unconfirmed"))
        == .init(
          errors: "cospool: not confirmed for \(Self.first) by the server (cospool status). It is "
            + "cancelled unless its agent started meanwhile."))
    let both = try outcome(arguments, of: answer("unconfirmed", "invoked"))
    #expect(both.exitCode == 5 && both.errors.split(separator: "\n").count == 2)
  }

  @Test func anUnconfirmedEditIsReported() throws {
    let edit = ["queue", "edit", "1", "new"]
    #expect(try outcome(edit, of: #"{"result":"done"}"#) == .init(output: "edited"))
    let unconfirmed = try outcome(edit, of: #"{"result":"done","unconfirmed":true}"#)
    #expect(unconfirmed.exitCode == 0 && unconfirmed.output == "edited")
    #expect(unconfirmed.errors.contains("not confirmed"))
  }

  @Test func anEditNamesTheTextOfAnotherDeviceThatItReplaced() throws {
    let replaced = try outcome(
      ["queue", "edit", "1", "new"],
      of: #"{"result":"done","replaced":{"bytes":9,"device":"desk","text":"Bump to 2","#
        + #""savedAt":"2026-01-01T00:00:00.000Z"}}"#)
    #expect(replaced.exitCode == 0 && replaced.output == "edited")
    #expect(replaced.errors.contains(#"it replaced "Bump to 2", which desk saved"#))
    #expect(replaced.errors.contains("cospool undo"))
  }

  /// With a real daemon, whose agent had the message.
  @Test func withdrawingAReceivedMessageIsTooLate() async throws {
    try await CommandFixture.run { fixture in
      for (name, value) in [("command", "true"), ("agent", "command")] {
        #expect(await fixture.cospool("config", "set", name, value).exitCode == 0)
      }
      #expect(await fixture.cospool("session", "add", "s").exitCode == 0)
      #expect(await fixture.cospool("session", "host", "s", "this").exitCode == 0)
      #expect(await fixture.cospool("send", "-s", "s", "--id", Self.first, "one").exitCode == 0)
      while await !fixture.cospool("queue", "show", Self.first).output.contains("succeeded") {
        try await Task.sleep(for: .milliseconds(20))
      }
      let late = await fixture.cospool("queue", "cancel", Self.first)
      #expect(late.exitCode == 5, "\(late)")
      #expect(!late.output.contains("cancelled") && late.errors.contains("too late"), "\(late)")
      let refused = await fixture.cospool("queue", "cancel", Self.first, "--json")
      #expect(
        refused.exitCode == 5 && refused.output.contains(#""outcome":"invoked""#), "\(refused)")
    }
  }
}
