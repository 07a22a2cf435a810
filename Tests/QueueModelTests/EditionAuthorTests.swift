import Foundation
import QueueModel
import QueueOracle
import SequenceCRDT
import SyncTestSupport
import Testing

/// The author of a version is the device that saved it, even if another device adds it again.
struct EditionAuthorTests {
  private static func authors(_ device: TestDevice) throws -> [String?] {
    try device.workspace.message(EditionTests.id).versions.map(\.device)
  }

  @Test func anUndoneChoiceKeepsTheAuthors() throws {
    var pair = try EditionTests.Pair("Use a file", "Use SQLite", "Use MySQL")
    let times = try pair.one.workspace.message(EditionTests.id).versions.map(\.savedAt)
    for _ in 0..<2 {
      try pair.one.perform(.edit(EditionTests.id, content: "Use Redis", base: nil))
      try pair.one.perform(.undo)
      try pair.meet()
      for device in pair.devices {
        #expect(try Self.authors(device) == ["device 1", "device 2"])
        let message = try device.workspace.message(EditionTests.id)
        #expect(message.versions.map(\.savedAt) == times)
      }
      // The other device undoes its own choice.
      try pair.other.perform(.edit(EditionTests.id, content: "Use Postgres", base: nil))
      try pair.other.restart()
      try pair.other.perform(.undo)
      try pair.meet()
      #expect(try Self.authors(pair.one) == ["device 1", "device 2"])
    }
  }

  @Test func anImportKeepsTheAuthors() throws {
    let pair = try EditionTests.Pair("Use a file", "Use SQLite", "Use MySQL")
    var elsewhere = TestDevice(3)
    for part in pair.one.workspace.document().parts {
      try elsewhere.perform(.importDocument(part))
    }
    #expect(try Self.authors(elsewhere) == ["device 1", "device 2"])
    let times = try pair.one.workspace.message(EditionTests.id).versions.map(\.savedAt)
    #expect(try elsewhere.workspace.message(EditionTests.id).versions.map(\.savedAt) == times)
    // A second time.
    var further = TestDevice(4)
    for part in elsewhere.workspace.document().parts {
      try further.perform(.importDocument(part))
    }
    #expect(try Self.authors(further) == ["device 1", "device 2"])
  }

  /// A session that runs merged texts also runs them after an import.
  @Test(arguments: MergePolicy.allCases)
  func anImportKeepsTheSetting(_ policy: MergePolicy) throws {
    var pair = try EditionTests.Pair("Use a file", "Use SQLite", "Use MySQL")
    try pair.one.perform(.setOnMerge(.named("s"), policy))
    let data = try JSONEncoder().encode(pair.one.workspace.document())
    #expect(String(decoding: data, as: UTF8.self).contains("onMerge") == (policy == .run))
    let document = try JSONDecoder().decode(WorkspaceDocument.self, from: data)
    var elsewhere = TestDevice(3)
    for part in document.parts { try elsewhere.perform(.importDocument(part)) }
    #expect(elsewhere.workspace.session(.named("s"))?.onMerge == policy)
    // A value that only a later version knows makes them wait.
    let other = String(decoding: data, as: UTF8.self).replacing("\"run\"", with: "\"later\"")
    let read = try JSONDecoder().decode(WorkspaceDocument.self, from: Data(other.utf8))
    #expect(read.sessions[0].onMerge == nil)
  }

  /// A blank text cannot be chosen, so it is not offered.
  @Test func aBlankVersionIsNotOffered() throws {
    var document = try EditionTests.Pair("Use a file", "Use SQLite", "Use MySQL").one.workspace
      .document()
    document.sessions[0].messages[0].editions?[0].content = " \n"
    var device = TestDevice(3)
    try device.perform(.importDocument(document))
    let message = try device.workspace.message(EditionTests.id)
    // The merged text contains the other one.
    #expect(message.isMerged && message.versions.map(\.text) == [message.content, "Use MySQL"])
    #expect(try message.text(choosing: .version(2)) == "Use MySQL")
    // A blank text from a peer is not offered, too.
    let reference = try device.workspace.editBase(EditionTests.id).content
    _ = try device.workspace.merge([
      QueueModel.Operation(
        id: OperationID(replica: ReplicaID(rawValue: 77), seq: 1),
        body: .addTag(element: reference, field: .edition, clears: [], note: "1  "))
    ])
    #expect(
      try device.workspace.message(EditionTests.id).versions.count == 2)
  }

  /// Notes that no device writes are read and kept unchanged.
  @Test(arguments: [
    "1@", "1@3:ab", "1@1:é x", "1@0: x", "1@99999999999999999999:a x", "1@2:ab!", "1!70000 x",
    "!1 x", "1!1", "x",
    "1@3:abc!2#9#f", "",
  ])
  func oddNotesAreRead(note: String) throws {
    var pair = try EditionTests.Pair("Use a file", "Use SQLite", "Use MySQL")
    let reference = try pair.one.workspace.editBase(EditionTests.id).content
    let odd = QueueModel.Operation(
      id: OperationID(replica: ReplicaID(rawValue: 77), seq: 1),
      body: .addTag(element: reference, field: .edition, clears: [], note: note))
    _ = try pair.one.workspace.merge([odd])
    let oracle = SlowWorkspace(pair.one.made + pair.other.made + [odd]).state()
    #expect(oracle.differences(from: pair.one.workspace) == [])
    #expect(try pair.one.workspace.message(EditionTests.id).isMerged)
  }
}
