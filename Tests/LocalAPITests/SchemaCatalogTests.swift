import Basics
import QueueModel
import Testing

@testable import LocalAPI

/// The schemas that are derived from the types.
@Suite struct SchemaCatalogTests {
  private func properties(_ schema: JSONValue) -> [String: JSONValue] {
    if case .object(let members)? = schema["properties"] { members } else { [:] }
  }

  @Test func fieldsTypesAndNotesAreDerived() throws {
    let catalog = SchemaCatalog()
    #expect(catalog.schema(of: SendRequest.self) == ["$ref": "#/components/schemas/SendRequest"])
    let send = try #require(catalog.components["SendRequest"])
    #expect(send["required"] == ["text"])
    #expect(send["additionalProperties"] == false)
    let fields = properties(send)
    #expect(
      fields.keys.sorted() == [
        "attachments", "byAgent", "id", "interrupt", "later", "needs", "priority", "project",
        "text",
      ])
    #expect(fields["id"] == ["type": "string", "format": "uuid"])
    #expect(fields["priority"]?["enum"] == ["urgent", "normal"])
    #expect(fields["attachments"]?["items"]?["$ref"] == "#/components/schemas/AttachmentRequest")
    #expect(catalog.components["AttachmentRequest"] != nil)
  }

  @Test func answersMayGrow() throws {
    let catalog = SchemaCatalog()
    _ = catalog.schema(of: MessageAnswer.self)
    let message = try #require(catalog.components["Message"])
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
    let catalog = SchemaCatalog()
    _ = catalog.schema(of: TasksAnswer.self)
    let task = try #require(catalog.components["Task"])
    #expect(
      properties(task).keys.sorted() == [
        "alsoAwaits", "error", "lastUpdateTime", "moreRequests", "operation", "outcome",
        "project", "question", "request", "result", "session", "sessionName", "startTime", "status",
        "todoProgress",
      ])
    #expect(catalog.components["Tasks"]?["required"] == ["tasks"])
  }

  @Test func valuesInsideOfOthersAreWhole() {
    let catalog = SchemaCatalog()
    _ = catalog.schema(of: AttachedAnswer.self)
    #expect(catalog.components["Attached"]?["required"] == ["attachment", "isNew"])
    _ = catalog.schema(of: StatusAnswer.self)
    #expect(
      catalog.components["Status"]?["required"] == ["daemon", "queues", "sync", "unconsented"])
    _ = catalog.schema(of: SettingRequest.self)
    #expect(catalog.components["SettingRequest"]?["required"] == ["value"])
    _ = catalog.schema(of: WorkspaceDocument.self)
    #expect(
      catalog.components["Document"]?["required"] == ["format", "sessions", "threads", "version"])
  }

  /// An import accepts what is described: the times of both versions.
  @Test func timesOfADocumentHaveTwoForms() throws {
    let catalog = SchemaCatalog()
    _ = catalog.schema(of: WorkspaceDocument.self)
    let thread = catalog.components["Document"]?["properties"]?["threads"]?["items"]
    guard case .array(let choices)? = thread?["properties"]?["queuedAt"]?["anyOf"] else {
      Issue.record("\(String(describing: thread))")
      return
    }
    #expect(choices.map { $0["type"] } == ["string", "integer"])
  }

  @Test func namesOfFieldsAreKnown() {
    #expect(SchemaCatalog.fieldNames(of: PairServerRequest.self) == ["code", "insecure", "server"])
    #expect(SchemaCatalog.fieldNames(of: SettingRequest.self) == ["value"])
  }
}
