import ArgumentParser
import Foundation
import Testing

@testable import SyncCommand

@Suite struct TextTests {
  private func answer(_ json: String) -> Answer { Answer(json: Data(json.utf8)) }

  private func text(
    _ arguments: String..., of json: String, style: TextStyle = .plain
  ) throws -> String {
    let command = try #require(try Cospool.parseAsRoot(arguments) as? any DaemonCommand)
    return try command.text(of: answer(json), style: style)
  }

  private static let queue = #"""
    {"queues":[{"messages":[
      {"content":"Stop\nnow","createdAt":"2026-01-01T23:59:20.000Z","device":"desk",
       "id":"11111111-1111-4111-8111-111111111111","position":1,"priority":"urgent",
       "status":"queued"},
      {"content":"Fix the flaky test in the parser","createdAt":"2026-01-01T21:00:00.000Z",
       "device":null,"id":"11111111-2222-4111-8111-111111111111","position":2,
       "priority":"normal","status":"queued"}],
     "paused":true,"pauseReasons":["holiday"],"session":"review","new":"field"}]}
    """#

  /// The daemon's answer contains a name that another device chose.
  @Test func errorsSteerNoTerminal() {
    let failure = CommandFailure(
      code: "answeredAlready", message: "\u{1B}]52;c;eA==\u{7} was faster.\n\u{9B}2J\u{202E}Look.",
      exitCode: 1)
    #expect(
      failure.text
        == "cospool: \u{FFFD}]52;c;eA==\u{FFFD} was faster.\n\u{FFFD}2J\u{FFFD}Look.")
  }

  @Test func anEndedTaskSaysHow() throws {
    func list(_ result: String) throws -> String {
      try text(
        "task", "list",
        of: #"{"tasks":[{"session":"s","project":"","status":"completed","#
          + #""result":\#(result)}]}"#)
    }
    #expect(try list(#"{"kind":"success","summary":"did it"}"#).contains("completed"))
    #expect(try list(#"{"kind":"failure","error":"exit code 3"}"#).contains("failed"))
    #expect(try list(#"{"kind":"cancelled"}"#).contains("cancelled"))
  }

  @Test func queueIsATable() throws {
    #expect(
      try text("queue", "list", "-s", "review", of: Self.queue) == """
        paused: holiday
        #  ID          PRIORITY  AGE  DEVICE  CONTENT
        1  11111111-1  urgent    40s  desk    Stop now
        2  11111111-2  normal     3h  -       Fix the flaky test in the parser
        """)
  }

  @Test func tableFitsTheTerminal() throws {
    var style = TextStyle.plain
    style.width = 60
    let lines = try text("queue", "list", "-s", "review", of: Self.queue, style: style)
      .split(separator: "\n")
    #expect(lines.allSatisfy { CharacterWidth.columns($0) <= 60 })
    #expect(lines.last?.hasSuffix("…") == true)
  }

  @Test func colourIsForTerminalsAlone() throws {
    var style = TextStyle.plain
    #expect(
      try !text("queue", "list", "-s", "review", of: Self.queue, style: style).contains("\u{1B}"))
    style.hasColour = true
    #expect(
      try text("queue", "list", "-s", "review", of: Self.queue, style: style)
        .contains("\u{1B}[31murgent\u{1B}[0m"))
  }

  @Test func emptyQueueIsReported() throws {
    #expect(
      try text(
        "queue", "list", "-s", "review",
        of: #"{"queues":[{"messages":[],"paused":false,"pauseReasons":[],"session":"review"}]}"#)
        == "nothing waits in review")
  }

  private static let threads = #"""
    {"enabled":true,"threads":[
      {"locked":true,"sessionName":"a","position":1,"project":"","queuedAt":"2026-01-01T23:00:00.000Z",
       "session":"a"},
      {"locked":false,"sessionName":"Docs","position":2,"project":"/src",
       "queuedAt":"2026-01-01T00:00:00.000Z","session":"b"}]}
    """#

  @Test func lockedThreadsAreHiddenAndCounted() throws {
    #expect(
      try text("thread", "list", of: Self.threads) == """
        #  SESSION  AGE  STATE  NAME  PROJECT
        2  b         1d  ready  Docs  /src
        1 locked thread hidden; --all shows them
        """)
    #expect(
      try text("thread", "list", "--all", of: Self.threads) == """
        #  SESSION  AGE  STATE   NAME  PROJECT
        1  a         1h  locked
        2  b         1d  ready   Docs  /src
        """)
    #expect(
      try text("thread", "list", of: #"{"enabled":true,"threads":[]}"#) == "no thread needs you")
    #expect(
      try text("thread", "list", of: #"{"enabled":false,"threads":[]}"#)
        .contains("cospool config set queueEnabled on"))
  }

  /// Words for use in other commands are never cut, even if a narrow terminal has little room for
  /// the rest.
  @Test(arguments: [nil, 100, 60]) func namesAreNotCut(width: Int?) throws {
    var style = TextStyle.plain
    style.width = width
    let id = "3f2a91c0-1111-4111-8111-111111111111"
    let topic = "ntfy+https://ntfy.example.org/a-topic-that-nobody-guesses"
    let push = try text(
      "push", "list",
      of:
        #"{"targets":[{"id":"\#(id)","kind":"ntfy","address":"\#(topic)","valid":true,"reason":"","person":true}]}"#,
      style: style)
    #expect(push.contains(id), "\(push)")
    #expect(width != nil || push.contains(topic))
    let threads = try text(
      "thread", "list",
      of: #"{"enabled":true,"threads":[{"session":"\#(id)","sessionName":"Review","project":"/p","#
        + #""position":1,"queuedAt":"2026-01-01T00:00:00.000Z","locked":false}]}"#,
      style: style)
    #expect(threads.contains(id), "\(threads)")
    let tasks = try text(
      "task", "list",
      of: #"{"tasks":[{"session":"\#(id)","project":"","status":"processing"}]}"#,
      style: style)
    #expect(tasks.contains(id), "\(tasks)")
  }

  // S-41
  @Test func jsonOnATerminalSteersNothingAndIsTheSame() throws {
    let text = "{\"a\":\"\u{9B}31m \u{202E}x\u{7F} é\"}\n"
    let escaped = TextStyle.json(text)
    #expect(escaped == "{\"a\":\"\\u009b31m \\u202ex\\u007f é\"}\n")
    let decoder = JSONDecoder()
    #expect(
      try decoder.decode([String: String].self, from: Data(text.utf8))
        == decoder.decode([String: String].self, from: Data(escaped.utf8)))
    var terminal = TextStyle.plain
    terminal.width = 80
    #expect(terminal.document(text.utf8) == escaped)
    #expect(TextStyle.plain.document(text.utf8) == text)
    let failure = CommandFailure(code: "x", message: "\u{9B}31m", exitCode: 1)
    #expect(failure.json.contains("\\u009b31m"))
  }

  @Test func aFileOnATerminalSteersNothing() throws {
    let command = try #require(
      try Cospool.parseAsRoot(["queue", "fetch", "1111", "f", "-o", "-"]) as? any DaemonCommand)
    let answer = Answer(json: Data("a\u{1B}[31m\u{202E}b\n".utf8))
    var terminal = TextStyle.plain
    terminal.width = 80
    #expect(try command.text(of: answer, style: terminal) == "a\u{FFFD}[31m\u{FFFD}b\n")
    #expect(try command.text(of: answer, style: .plain) == "a\u{1B}[31m\u{202E}b\n")
  }

  @Test func receiptsSayWhatWasDone() throws {
    #expect(
      try text("queue", "move", "1", "--to", "2", of: #"{"position":2,"result":"moved"}"#)
        == "moved, position 2")
    #expect(
      try text("queue", "cancel", "1", of: #"{"count":1,"result":"affected"}"#)
        == "cancelled 1 message")
    #expect(
      try text("queue", "clear", "-s", "a", of: #"{"count":3,"result":"affected"}"#)
        == "cancelled 3 messages")
    #expect(try text("queue", "cancel", "1", of: #"{"result":"unchanged"}"#) == "unchanged")
    #expect(
      try text("queue", "restore", "1", of: #"{"count":5,"position":2,"result":"queued"}"#)
        == "restored, position 2 of 5")
    #expect(
      try text(
        "send", "-s", "a", "x",
        of: #"{"count":3,"id":"11111111-1111-4111-8111-111111111111","position":2,"#
          + #""session":"a","status":"queued"}"#)
        == "queued, position 2 of 3")
  }

  // I-11
  @Test func receiptsNameWhatWasChanged() throws {
    func message(_ text: String, _ session: String) -> String {
      #"{"id":"11111111-1111-4111-8111-111111111111","session":"\#(session)","text":"\#(text)"}"#
    }
    let one = message("production hotfix", "other")
    #expect(
      try text(
        "queue", "cancel", "1111",
        of:
          #"{"count":1,"messages":[\#(one)],"outcomes":[{"id":"11111111-1111-4111-8111-111111111111","#
          + #""outcome":"cancelled"}],"result":"affected"}"#)
        == #"cancelled "production hotfix" in other"#)
    #expect(
      try text(
        "queue", "move", "1111", "2222", "--to", "2",
        of: #"{"messages":[\#(one),\#(message("two", "b"))],"position":2,"result":"moved"}"#)
        == "moved 2 messages:\n  \"production hotfix\" in other\n  \"two\" in b, position 2")
    #expect(
      try text(
        "queue", "priority", "1111", "urgent", of: #"{"messages":[\#(one)],"result":"done"}"#)
        == #"made urgent: "production hotfix" in other"#)
  }

  @Test func warningGoesBesidesTheAnswer() throws {
    let command = try #require(
      try Cospool.parseAsRoot(["send", "-s", "a", "x"]) as? any DaemonCommand)
    let full = answer(
      #"{"count":8,"id":"11111111-1111-4111-8111-111111111111","position":8,"session":"a","#
        + #""status":"queued","warning":"full soon"}"#)
    #expect(command.warning(of: full) == "cospool: full soon")
  }

  @Test func statusIsOneScreen() throws {
    let json = #"""
      {"certificateEndsAt":"2026-01-09T23:06:40.000Z","oldestUnsentAt":"2026-01-01T23:59:50.000Z",
       "daemon":{"dataDirectory":"/d","diskFree":5242880,"page":"http://127.0.0.1:7421",
        "processID":7,"queueSizeMax":10,"socket":"/d/s","startedAt":"2026-01-01T22:00:00.000Z",
        "threadQueue":true,"version":"0.1.0"},
       "queues":{"awaited":0,"messages":4,"sessions":1,"threads":3,"threadsReady":2},
       "sync":{"connectedSince":"2026-01-01T23:59:00.000Z","device":"11111111-1111-4111-8111-111111111111",
        "deviceName":"desk","devices":[{"connected":true,
        "id":"22222222-2222-4222-8222-222222222222","name":"phone",
        "seenEverything":false}],"lastSyncedAt":"2026-01-01T23:59:55.000Z","outgoing":1,"repairs":0,
        "server":"ws://h:1","state":"connected","synced":false,"workspace":"w"},
       "unconsented":[]}
      """#
    #expect(
      try text("status", of: json) == """
        device       desk (11111111)
        daemon       version 0.1.0, process 7, up for 2h
        data         /d, 5 MiB free on the disk
        sync         connected for 1m
        server       ws://h:1, not encrypted
        certificate  of the server, good for 7 days
        page         http://127.0.0.1:7421
        workspace    w
        changes      1 change to send, the oldest from 10s ago, last in sync 5s ago
        queues       1 session, 4 messages waiting, 3 threads (2 ready, 1 locked)
        devices      phone: connected, catching up
        """)
  }

  @Test func filesThatTheServerLacksAreInTheStatus() throws {
    let json = #"""
      {"daemon":{"dataDirectory":"/d","processID":7,"queueSizeMax":10,"socket":"/d/s",
        "startedAt":"2026-01-01T22:00:00.000Z","threadQueue":true,"version":"0.1.0"},
       "queues":{"awaited":0,"messages":1,"sessions":1,"threads":0,"threadsReady":0},
       "sync":{"device":"11111111-1111-4111-8111-111111111111","deviceName":"desk","devices":[],
        "outgoing":0,"repairs":0,"server":"ws://h:1","state":"connected","synced":true},
       "unconsented":[],"unsentFiles":2,"unsentFilesProblem":"The server is full."}
      """#
    let status = try text("status", of: json)
    #expect(status.contains("all sent, 2 files to send"), "\(status)")
    #expect(status.contains("The server is full."), "\(status)")
  }

  @Test func nothingSteersTheTerminal() throws {
    #expect(
      TextStyle.line(" a\n\tb\u{1B}[31m\u{202E}c\u{7} ") == "a b\u{FFFD}[31m\u{FFFD}c\u{FFFD}")
    #expect(TextStyle.block("a\n\tb\u{1B}\r\u{9B}") == "a\n\tb\u{FFFD}\u{FFFD}\u{FFFD}")
    // A carriage return that ends a line, as on Windows.
    #expect(TextStyle.block("a\r\nb\r\r\n") == "a\nb\u{FFFD}\n")
  }

  @Test func columnsCountWideAndCombiningCharacters() {
    #expect(CharacterWidth.columns("abc") == 3)
    #expect(CharacterWidth.columns("日本") == 4)
    #expect(CharacterWidth.columns("e\u{301}") == 1)
    #expect(CharacterWidth.columns("👩‍👩‍👧") == 2)
    #expect(TextStyle.cut("日本語", toColumns: 4) == "日…")
    #expect(TextStyle.cut("abcd", toColumns: 4) == "abcd")
    #expect(TextStyle.cut("abcde", toColumns: 4) == "abc…")
    #expect(TextStyle.cut("abc", toColumns: 0) == "")
  }

  @Test(arguments: [
    ("2026-01-02T00:00:00.000Z", "now"), ("2027-01-01T00:00:00.000Z", "now"),
    ("2026-01-01T23:59:59.000Z", "1s"), ("2026-01-01T23:00:01.000Z", "59m"),
    ("2026-01-01T00:00:01.000Z", "23h"), ("2025-12-01T00:00:00.000Z", "32d"),
    ("no time", "no time"),
  ])
  func agesAreShort(timestamp: String, age: String) {
    #expect(TextStyle.plain.age(timestamp) == age)
  }

  @Test func idsAreShortenedAsFarAsTheyDiffer() {
    #expect(QueueText.shortened(["aaaaaaaa-1", "bbbbbbbb-1"]) == ["aaaaaaaa", "bbbbbbbb"])
    #expect(QueueText.shortened(["aaaaaaaa-1", "aaaaaaaa-2"]) == ["aaaaaaaa-1", "aaaaaaaa-2"])
    #expect(QueueText.shortened([]) == [])
  }

  @Test func answerOfAnotherProgramIsExplained() {
    let failure = #expect(throws: CommandFailure.self) {
      try text("status", of: #"{"hello":1}"#)
    }
    #expect(failure?.code == "unexpectedAnswer")
    #expect(failure?.exitCode == 1)
  }
}
