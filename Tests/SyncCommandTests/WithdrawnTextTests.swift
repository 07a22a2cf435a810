import ArgumentParser
import LocalAPI
import QueueModel
import Testing

import struct Foundation.Data

@testable import SyncCommand

/// The command line's texts for a message that was stopped, and for a merged text of which nothing
/// is left.
@Suite struct WithdrawnTextTests {
  private static let id = "11111111-1111-4111-8111-111111111111"

  private func message(_ fields: String, _ content: String = "Deploy") -> String {
    #"{"id":"\#(Self.id)","content":"\#(content)","priority":"normal","position":1,"#
      + #""createdAt":"2026-01-01T00:00:00.000Z","device":"desk",\#(fields)}"#
  }

  @Test(arguments: [
    ("stopping", "[stopping] Deploy", "its agent is stopping"),
    (
      "hostAway", "[its device is away: it stops when it is back] Deploy",
      "its device is away, and stops its agent when it is back"
    ),
    ("cancelled", "[running, to be cancelled] Deploy", "as it started"),
  ])
  func aPendingStopIsShown(_ withdrawn: String, _ row: String, _ field: String) throws {
    let json = message(#""status":"running","withdrawn":"\#(withdrawn)""#)
    let queue =
      #"{"session":"s","paused":false,"pauseReasons":[],"messages":[\#(json)]}"#
    let list = QueueText.list(
      try Answer(json: Data(queue.utf8)).decoded(QueueAnswer.self), style: .plain)
    #expect(list.contains(row), "\(list)")
    let show = QueueText.show(
      try Answer(json: Data(json.utf8)).decoded(MessageAnswer.self), style: .plain)
    #expect(show.contains(field) && show.contains("counts as cancelled"), "\(show)")
  }

  @Test func aBlankMergedTextIsRefused() throws {
    let json = message(
      #""status":"queued","merged":true,"base":"seen","editions":[{"bytes":1,"device":"desk","#
        + #""savedAt":"2026-01-01T00:00:00.000Z","text":"a"}]"#, " ")
    let shown = try Answer(json: Data(json.utf8)).decoded(MessageAnswer.self)
    var command = try QueueCommands.Resolve.parse(
      ["1111", "--take", SeenVersions(of: shown).marked("merged")])
    let environment = Environment(
      variables: [:], input: StandardInput { [] }, style: .plain, watching: .none)
    #expect(throws: QueueError.mergedTextBlank(id: Self.id)) {
      try command.lookUp(shown, environment)
    }
    #expect(command.chosen == nil)
  }
}
