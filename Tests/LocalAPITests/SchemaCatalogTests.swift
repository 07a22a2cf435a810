import Basics
import QueueModel
import Testing

@testable import LocalAPI

/// What is derived from the types.
@Suite struct SchemaCatalogTests {
  private func properties(_ schema: JSONValue) -> [String: JSONValue] {
    if case .object(let members)? = schema["properties"] { members } else { [:] }
  }

  @Test func fieldsTypesAndNotesAreDerived() throws {
    let book = SchemaCatalog()
    #expect(book.schema(of: SendRequest.self) == ["$ref": "#/components/schemas/SendRequest"])
    let send = try #require(book.components["SendRequest"])
    #expect(send["required"] == ["text"])
    #expect(send["additionalProperties"] == false)
    let fields = properties(send)
    #expect(
      fields.keys.sorted() == ["attachments", "byAgent", "id", "priority", "project", "text"])
    #expect(fields["id"] == ["type": "string", "format": "uuid"])
    #expect(fields["priority"]?["enum"] == ["urgent", "normal"])
    #expect(fields["attachments"]?["items"]?["$ref"] == "#/components/schemas/AttachmentRequest")
    #expect(book.components["AttachmentRequest"] != nil)
  }

  @Test func answersMayGrow() throws {
    let book = SchemaCatalog()
    _ = book.schema(of: MessageAnswer.self)
    let message = try #require(book.components["Message"])
    #expect(message["additionalProperties"] == nil)
    let fields = properties(message)
    #expect(fields["device"]?["type"] == ["string", "null"])
    #expect(fields["status"]?["enum"] != nil)
    #expect(fields["createdAt"]?["format"] == "date-time")
    guard case .array(let required)? = message["required"] else {
      Issue.record("nothing is required")
      return
    }
    #expect(required.contains("device"))
    #expect(!required.contains("base"))
  }

  @Test func fieldsOfTasksAreAllShown() throws {
    let book = SchemaCatalog()
    _ = book.schema(of: TasksAnswer.self)
    let task = try #require(book.components["Task"])
    #expect(
      properties(task).keys.sorted() == [
        "alsoAwaits", "error", "lastUpdateTime", "moreRequests", "operation", "outcome",
        "projectPath", "question", "request", "result", "sessionId", "startTime", "status",
        "todoProgress",
      ])
    #expect(book.components["Tasks"]?["required"] == ["tasks"])
  }

  @Test func valuesInsideOfOthersAreWhole() {
    let book = SchemaCatalog()
    _ = book.schema(of: AttachedAnswer.self)
    #expect(book.components["Attached"]?["required"] == ["attachment", "isNew"])
    _ = book.schema(of: StatusAnswer.self)
    #expect(
      book.components["Status"]?["required"] == ["daemon", "queues", "sync", "unconsented"])
    _ = book.schema(of: SettingRequest.self)
    #expect(book.components["SettingRequest"]?["required"] == ["value"])
    _ = book.schema(of: WorkspaceDocument.self)
    #expect(
      book.components["Document"]?["required"] == ["format", "sessions", "threads", "version"])
  }

  @Test func namesOfFieldsAreKnown() {
    #expect(SchemaCatalog.fieldNames(of: PairServerRequest.self) == ["code", "insecure", "server"])
    #expect(SchemaCatalog.fieldNames(of: SettingRequest.self) == ["value"])
  }
}
