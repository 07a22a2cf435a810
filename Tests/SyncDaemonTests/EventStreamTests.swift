import Foundation
import LocalAPI
import QueueModel
import SyncClient
import Testing

@testable import SyncDaemon

@Suite(.timeLimit(.minutes(10))) struct EventStreamTests {
  private static let first = "11111111-1111-4111-8111-111111111111"
  private static let second = "22222222-2222-4222-8222-222222222222"

  private func send(
    _ text: String, id: String? = nil, to daemon: RunningDaemon, session: String = "review"
  ) async throws {
    let id = id.map { #""id":"\#($0)","# } ?? ""
    let reply = try await daemon.request(
      "POST", "/v1/sessions/\(session)/queue", #"{\#(id)"text":"\#(text)"}"#)
    #expect(reply.status == 201, "\(reply.body)")
  }

  private func resume(_ event: EventReader.Event?) throws -> ResumeEvent {
    let event = try #require(event)
    #expect(event.name == "resume")
    return try event.decoded(ResumeEvent.self)
  }

  // S0-73.
  @Test(arguments: ["/v1/events", "/events"])
  func streamBeginsWithTheWholeStateAndGoesOnWithChanges(path: String) async throws {
    try await RunningDaemon.run { daemon in
      try await send("early", id: Self.first, to: daemon)
      let reader = try await EventReader(daemon, path: path)
      let state = try await reader.events(through: "present")
      #expect(try resume(state.first) == ResumeEvent(resume: .gap, reason: "start"))
      #expect(state.dropLast().allSatisfy { ($0.id ?? "").isEmpty })
      #expect(state.contains { $0.name == "sync" })
      #expect(!reader.lastID.isEmpty)
      var mirror = EventMirror()
      try mirror.take(state)
      #expect(try mirror.contents() == ["early"])
      try await send("late", id: Self.second, to: daemon)
      _ = try await daemon.request("POST", "/v1/messages/cancel", #"{"ids":["1111"]}"#)
      while try mirror.contents() != ["late"] { try mirror.take(try await reader.next()) }
    }
  }

  @Test(arguments: [true, false])
  func readerThatComesBackGetsWhatItMissedAndNothingTwice(isHeader: Bool) async throws {
    try await RunningDaemon.run { daemon in
      var mirror = EventMirror()
      var cursor = ""
      do {
        let reader = try await EventReader(daemon)
        try mirror.take(try await reader.events(through: "present"))
        try await send("one", id: Self.first, to: daemon)
        while try mirror.contents() != ["one"] { try mirror.take(try await reader.next()) }
        cursor = reader.lastID
      }
      try await send("two", id: Self.second, to: daemon)
      _ = try await daemon.request("DELETE", "/v1/messages/x")
      _ = try await daemon.request("POST", "/v1/messages/cancel", #"{"ids":["1111"]}"#)
      let reader =
        isHeader
        ? try await EventReader(daemon, path: "/v1/events?cursor=0-0", lastEventID: cursor)
        : try await EventReader(daemon, path: "/v1/events?cursor=\(cursor)")
      let answer = try await reader.next()
      #expect(try resume(answer) == ResumeEvent(resume: .ok))
      // There is nothing after the cursor yet, so the reader keeps it.
      #expect(answer.id == nil)
      while try mirror.contents() != ["two"] {
        let event = try await reader.next()
        #expect(event.name != "present")
        #expect(event.id?.isEmpty == false)
        try mirror.take(event)
      }
    }
  }

  @Test func aDeviceThatWasAwayForLongGetsTheWholeState() async throws {
    try await RunningDaemon.run { daemon in
      var cursor = ""
      do {
        let reader = try await EventReader(daemon)
        _ = try await reader.events(through: "present")
        cursor = reader.lastID
      }
      // Nine texts of a megabyte are more than the event log can hold.
      let text = String(repeating: "t", count: 1_000_000)
      for number in 1...9 { try await send("\(number)\(text)", to: daemon) }
      let reader = try await EventReader(daemon, lastEventID: cursor)
      let state = try await reader.events(through: "present")
      #expect(try resume(state.first) == ResumeEvent(resume: .gap, reason: "overrun"))
      #expect(state.first?.id == "")
      var mirror = EventMirror()
      try mirror.take(state)
      #expect(try mirror.contents().map { $0.prefix(1) } == (1...9).map { "\($0)" })
    }
  }

  @Test func cursorOfAnEarlierDaemonIsAGap() async throws {
    let directory = try TemporaryDirectory()
    defer { directory.remove() }
    let (cursors, keep) = AsyncStream<String>.makeStream()
    try await RunningDaemon.run(directory: directory) { daemon in
      let reader = try await EventReader(daemon)
      _ = try await reader.events(through: "present")
      try await send("kept", to: daemon)
      keep.yield(reader.lastID)
      keep.finish()
    }
    try await RunningDaemon.run(directory: directory) { daemon in
      for await cursor in cursors {
        let reader = try await EventReader(daemon, lastEventID: cursor)
        let state = try await reader.events(through: "present")
        #expect(try resume(state.first) == ResumeEvent(resume: .gap, reason: "restarted"))
        var mirror = EventMirror()
        try mirror.take(state)
        #expect(try mirror.contents() == ["kept"])
      }
    }
  }

  @Test(arguments: ["nonsense", "%00", "1-2-3", "-", "ffffffffffffffffff-1"])
  func invalidCursorsAreAGap(cursor: String) async throws {
    try await RunningDaemon.run { daemon in
      let reader = try await EventReader(daemon, path: "/v1/events?cursor=\(cursor)")
      #expect(try resume(try await reader.next()).resume == .gap)
    }
  }

  @Test func readerThatTakesNothingIsCutOff() async throws {
    try await RunningDaemon.run(queueSizeMax: 20) { daemon in
      let reader = try await EventReader(daemon)
      _ = try await reader.events(through: "present")
      let text = String(repeating: "t", count: 1_000_000)
      for number in 1...16 { try await send("\(number)\(text)", to: daemon) }
      // Reading continues only now: the stream ends in the middle, not with HTTP's last chunk.
      let rest = try await reader.readToEnd()
      #expect(rest.contains("\"1tttt"))
      #expect(!rest.contains("\"16tttt"))
      #expect(!rest.hasSuffix("0\r\n\r\n"))
      // The reader connects again and gets everything.
      let again = try await EventReader(daemon, lastEventID: reader.lastID)
      let state = try await again.events(through: "present")
      #expect(try resume(state.first) == ResumeEvent(resume: .gap, reason: "overrun"))
    }
  }

  // S2-95, C-7.
  @Test func userIsNotifiedOfFullQueuesAndReadyThreads() async throws {
    try await RunningDaemon.run(queueSizeMax: 5) { daemon in
      let reader = try await EventReader(daemon)
      _ = try await reader.events(through: "present")
      var warnings: [WarningEvent] = []
      for number in 1...5 { try await send("\(number)", to: daemon) }
      while warnings.count < 2 {
        let event = try await reader.next()
        #expect(event.name != "threadReady")
        if event.name == "warning" { warnings.append(try event.decoded(WarningEvent.self)) }
      }
      #expect(warnings.map(\.count) == [4, 5])
      #expect(warnings[0].message == "The queue of review is nearly full (4/5).")
      #expect(warnings[1].message == "The queue of review is full (5/5).")
      _ = try await daemon.request("DELETE", "/v1/threads/review/lock")
      let ready = try #require(try await reader.events(through: "threadReady").last)
      #expect(try ready.decoded(ThreadAnswer.self).session.rawValue == "review")
      // After another send, the thread is in work; when the work ends, it is ready again.
      _ = try await daemon.request("DELETE", "/v1/sessions/review/queue")
      try await send("again", to: daemon)
      _ = try await daemon.request("DELETE", "/v1/threads/review/lock")
      let events = try await reader.events(through: "threadReady")
      #expect(!events.contains { $0.name == "warning" })
    }
  }

  // S4-21, S4-24
  @Test func anAgentsWorkIsSentAsItsTask() async throws {
    try await RunningDaemon.run { daemon in
      try await send("one", to: daemon)
      let reader = try await EventReader(daemon)
      _ = try await reader.events(through: "present")
      let signals = "/v1/sessions/review/signals"
      _ = try await daemon.request("POST", signals, #"{"type":"turn_start"}"#)
      let began = try #require(try await reader.events(through: "task").last)
      #expect(try began.decoded(TaskStateAnswer.self).state.status == .processing(operation: nil))
      _ = try await daemon.request("POST", signals, #"{"type":"error","message":"no network"}"#)
      let ended = try #require(try await reader.events(through: "task").last)
      #expect(
        try ended.decoded(TaskStateAnswer.self).state.status
          == .completed(.failure(error: "no network")))
      // A later reader gets it with the state.
      let state = try await EventReader(daemon).events(through: "present")
      #expect(state.contains { $0.name == "task" })
    }
  }

  @Test func heartbeatsShowThatTheConnectionLives() async throws {
    try await RunningDaemon.run(heartbeatPeriod: .milliseconds(20)) { daemon in
      let feed = try RawConnection(path: daemon.socket)
      defer { feed.close() }
      try await feed.write(RawReply.request("GET", "/v1/events"))
      _ = try await feed.read(through: "event: present")
      for _ in 1...3 { _ = try await feed.read(through: ": heartbeat") }
    }
    #expect(EventStream.heartbeatPeriodDefault == .seconds(30))
  }

  @Test func readersBeyondTheLimitAreRefusedUntilOneGoes() async throws {
    try await RunningDaemon.run(heartbeatPeriod: .milliseconds(50)) { daemon in
      var readers: [EventReader] = []
      for _ in 0..<EventReaders.countMax {
        let reader = try await EventReader(daemon)
        _ = try await reader.next()
        readers.append(reader)
      }
      let refused = try await daemon.request("GET", "/v1/events")
      #expect(refused.status == 503)
      #expect(try refused.decoded(RefusalAnswer.self).error.code == "tooManyReaders")
      readers.removeAll()
      // The daemon notices at the next heartbeats; the suite's time limit bounds the wait.
      while true {
        let connection = try RawConnection(path: daemon.socket)
        defer { connection.close() }
        try await connection.write(RawReply.request("GET", "/v1/events"))
        if try await connection.read(through: "\r\n").contains(" 200 ") { break }
      }
    }
  }

  @Test func streamEndsProperlyWithTheDaemon() async throws {
    let directory = try TemporaryDirectory()
    defer { directory.remove() }
    let (feeds, keep) = AsyncStream<EventReader>.makeStream()
    try await RunningDaemon.run(directory: directory, stopGrace: .seconds(60)) { daemon in
      let reader = try await EventReader(daemon)
      _ = try await reader.events(through: "present")
      keep.yield(reader)
      keep.finish()
    }
    for await reader in feeds { #expect(try await reader.readToEnd().hasSuffix("0\r\n\r\n")) }
  }
}
