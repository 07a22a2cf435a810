import Foundation
import QueueModel
import Testing

@testable import SyncClient

/// A queue file as an app wrote it.
private enum Sample {
  static let image = Data([0x89, 0x50, 0x4E, 0x47, 9, 9])
  static let first = "11111111-1111-4111-8111-111111111111"
  static let second = "22222222-2222-4222-8222-222222222222"

  static func messages(_ session: String = "abc123") -> String {
    """
    [{"id": "\(first)", "content": "Run the tests", "projectPath": "/Users/dev/project",
      "sessionId": "\(session)", "priority": "normal", "createdAt": "2024-01-15T10:30:00Z",
      "imageData": null, "attempts": 0, "lastError": null},
     {"id": "\(second)", "content": "Fix the type errors", "projectPath": "/Users/dev/other",
      "sessionId": "\(session)", "priority": "urgent", "createdAt": "2024-01-15T10:31:00.250Z",
      "imageData": "\(image.base64EncodedString())", "attempts": 2, "lastError": "no network"}]
    """
  }
}

/// `queue-{sessionId}.json`, both forms, without loss.
@Suite(.timeLimit(.minutes(10))) struct QueueFileTests {
  // S0-43, S0-44, S0-45, S0-46, S0-47, S0-48, S0-49, S0-50, S0-51, S0-52, S0-53, S0-54, S0-55,
  // S0-56, C-16: both forms, and everything in them.
  @Test(arguments: [false, true])
  func bothFormsAreReadWithAllTheySay(isBare: Bool) async throws {
    try await ClientFixture.withServer { fixture in
      let client = try await fixture.open()
      let text =
        isBare
        ? Sample.messages()
        : "{\"version\": 1, \"sessionId\": \"ABC123\", \"messages\": \(Sample.messages())}"
      let trial = try await client.queues.importFile(Data(text.utf8), isTrial: true)
      #expect(trial.messages == 2)
      #expect(client.workspace().sessions().isEmpty)
      let counts = try await client.queues.importFile(Data(text.utf8))
      #expect(counts.messages == 2)
      #expect(counts.sessions == 1)
      let session = try SessionID("abc123")
      let queue = try client.workspace().messageQueue(session).messages
      // The urgent one comes first, whatever the order in the file.
      #expect(queue.map(\.content) == ["Fix the type errors", "Run the tests"])
      let failed = try #require(queue.first)
      #expect(failed.id.description == Sample.second)
      #expect(failed.attempts == 2)
      #expect(failed.lastError == "no network")
      #expect(failed.project == "/Users/dev/other")
      #expect(failed.createdAt == 1_705_314_660_250)
      let file = try #require(failed.attachments.first)
      #expect(file.name == "image.png")
      #expect(try await client.attachments.bytes(of: file.hash) == Sample.image)
      #expect(client.workspace().session(session)?.project == "/Users/dev/project")
      let again = try await client.queues.importFile(Data(text.utf8))
      #expect(again.messages == 0)
      #expect(again.known == 2)
      await client.close()
    }
  }

  @Test func exportsAreImportedUnchanged() async throws {
    try await ClientFixture.withServer { fixture in
      let session = try SessionID("abc123")
      let client = try await fixture.open()
      try await client.queues.importFile(Data(Sample.messages().utf8))
      let id = try #require(MessageID(Sample.first))
      let notes = try await client.attachments.keep(Data("notes\n".utf8), name: "my notes.txt")
      try await client.perform(.attach(id, [notes]))
      try await client.perform(.text("third, in front", 3, in: "abc123"))
      try await client.perform(
        .move([MessageID(high: 9, low: 3)], to: .before(id)))
      let exported = try await client.queues.exportFile(of: session)
      await client.close()
      let object = try #require(
        try JSONSerialization.jsonObject(with: exported) as? [String: Any])
      #expect(object["version"] as? Int == 1)
      #expect(object["sessionId"] as? String == "abc123")
      let rows = try #require(object["messages"] as? [[String: Any]])
      #expect(
        rows.map { $0["content"] as? String }
          == ["third, in front", "Run the tests", "Fix the type errors"])
      #expect(rows[0]["imageData"] is NSNull)
      #expect(rows[0]["lastError"] is NSNull)
      #expect(rows[0]["attempts"] as? Int == 0)
      #expect(rows[1]["createdAt"] as? String == "2024-01-15T10:30:00Z")
      #expect(rows[2]["createdAt"] as? String == "2024-01-15T10:31:00.250Z")
      #expect(rows[2]["imageData"] as? String == Sample.image.base64EncodedString())
      try FileManager.default.removeItem(atPath: fixture.directory)
      let other = try await fixture.open()
      try await other.queues.importFile(exported)
      #expect(try await other.queues.exportFile(of: session) == exported)
      let files = try other.workspace().message(id).attachments
      #expect(files == [notes])
      await other.close()
    }
  }

  @Test(arguments: ["production freeze", nil])
  func thePauseOfAQueueComesAlong(reason: String?) async throws {
    try await ClientFixture.withServer { fixture in
      let (session, target) = (try SessionID("a"), try SessionID("b"))
      let client = try await fixture.open()
      try await client.perform(.text("deploy", 1))
      try await client.perform(.pause(session, reason: reason))
      let file = try await client.queues.exportFile(of: session)
      try await client.perform(.cancel([MessageID(high: 9, low: 1)]))
      await client.close()
      try FileManager.default.removeItem(atPath: fixture.directory)
      let other = try await fixture.open()
      try await other.perform(.text("mine", 2, in: "b"))
      try await other.queues.importFile(file, into: target)
      let queue = try other.workspace().messageQueue(target)
      #expect(queue.paused && queue.pauseReasons == [reason].compactMap(\.self))
      await other.close()
    }
  }

  @Test func whatProtectsASessionComesAlong() async throws {
    try await ClientFixture.withServer { fixture in
      let (session, message) = (try SessionID("a"), MessageID(high: 9, low: 1))
      let client = try await fixture.open()
      var send = Command.Send(session: session, id: message, text: "deploy")
      send.byAgent = true
      try await client.perform(.send(send))
      try await client.perform(.text("by hand", 2))
      try await client.perform(.setOnLostServer(session, .stop))
      let file = try await client.queues.exportFile(of: session)
      await client.close()
      try FileManager.default.removeItem(atPath: fixture.directory)
      let other = try await fixture.open()
      try await other.queues.importFile(file)
      #expect(other.workspace().session(session)?.onLostServer == .stop)
      let queue = try other.workspace().messageQueue(session).messages
      #expect(queue.map(\.isByAgent) == [true, false])
      #expect(try await other.queues.exportFile(of: session) == file)
      await other.close()
    }
  }

  @Test func anEmptyFileMakesNoSession() async throws {
    try await ClientFixture.withServer { fixture in
      let client = try await fixture.open()
      let empty = Data(#"{"version":1,"sessionId":"s","messages":[]}"#.utf8)
      #expect(try await client.queues.importFile(empty) == ImportCounts())
      #expect(
        try await client.queues.importFile(empty, into: SessionID("other")) == ImportCounts())
      #expect(client.workspace().sessions().isEmpty)
      await client.close()
    }
  }

  @Test func aFileCanBeImportedIntoAnotherSession() async throws {
    try await ClientFixture.withServer { fixture in
      let client = try await fixture.open()
      let other = try SessionID("other")
      try await client.queues.importFile(Data(Sample.messages().utf8), into: other)
      #expect(client.workspace().sessions().map(\.id) == [other])
      #expect(try await client.queues.importFile(Data("[]".utf8)) == ImportCounts())
      await client.close()
    }
  }

  @Test(
    arguments: [
      ("[", "line 1"), ("{}", "version"), ("{\"version\": 2}", "version: 2 is unknown"),
      (
        "{\"version\":1,\"sessionId\":\"other\",\"messages\":\(Sample.messages())}",
        "messages[0].sessionId"
      ),
      (Sample.messages().replacing(Sample.first, with: "uuid-1"), "messages[0].id"),
      (
        Sample.messages().replacing("2024-01-15T10:30:00Z", with: "yesterday"),
        "messages[0].createdAt"
      ),
      (Sample.messages().replacing("\"urgent\"", with: "\"soon\""), "messages[1].priority"),
      (Sample.messages().replacing("Run the tests", with: "  "), "messages[0].content"),
      (
        Sample.messages().replacing(Sample.image.base64EncodedString(), with: "?"),
        "messages[1].imageData"
      ),
      (Sample.messages().replacing("\"attempts\": 2", with: "\"attempts\": -1"), "attempts"),
    ] as [(String, String)])
  func damagedFilesAreRefusedWithThePlace(text: String, place: String) async throws {
    try await ClientFixture.withServer { fixture in
      let client = try await fixture.open()
      let error = await #expect(throws: ClientError.self) {
        try await client.queues.importFile(Data(text.utf8))
      }
      #expect(error?.description.contains(place) == true, "\(error?.description ?? "")")
      #expect(error?.exitCode == 6)
      #expect(client.workspace().sessions().isEmpty)
      await client.close()
    }
  }
}

/// A faulty file is reported with its line, whatever the system's own parser reports.
@Suite struct FaultLineTests {
  @Test(arguments: [
    ("{\n \"a\": 12x4\n}", 2), ("{\"a\": 0x1F}", 1), ("[1,\n2,\n]\n", 3), ("", 1),
    ("{\n\"a\": \"\\ud800\"\n}\n", 2), ("{}\n\n7", 3),
  ])
  func theLineIsThatOfTheFault(_ text: String, _ line: Int) {
    #expect(DecodingError.line(ofFaultIn: Data(text.utf8)) == line)
  }
}
