import AgentFormats
import Foundation
import LocalAPI
import QueueModel
import Synchronization
import Testing

@testable import SyncDaemon

/// What agents learn about the files of a message.
struct TurnFilesTests {
  private func attachment(
    _ name: String, _ byte: UInt8 = 1, mediaType: String = "text/plain", size: Int = 1
  ) throws -> QueueModel.Attachment {
    let hash = try #require(ContentHash(bytes: Array(repeating: byte, count: 32)))
    return try QueueModel.Attachment(hash: hash, name: name, mediaType: mediaType, size: size)
  }

  private func turn(_ files: [TurnFiles.File]) throws -> AgentTurn {
    AgentTurn(
      session: try SessionID("review"), message: MessageID(high: 1, low: 2), attempt: 1,
      prompt: "look", dataDirectory: "/none",
      files: files.isEmpty ? nil : TurnFiles(folder: "/turns/1", files: files))
  }

  @Test func filesOfOneNameAreDistinguished() throws {
    let long = String(repeating: "x", count: 251) + ".png"
    let names = TurnFolders.names(of: [
      try attachment("a.png"), try attachment("A.png", 2), try attachment("b.png", 3),
      try attachment(long, 4), try attachment(long, 5),
    ])
    #expect(names.prefix(3) == ["a.png", "020202020202-A.png", "b.png"])
    #expect(names[3] == long)
    #expect(names[4].hasPrefix("050505050505-xx") && names[4].hasSuffix("x.png"))
    #expect(Set(names).count == 5 && names.allSatisfy { $0.utf8.count <= 255 })
  }

  @Test func filesAreThereUntilTheyAreRemoved() async throws {
    let directory = try TemporaryDirectory()
    defer { directory.remove() }
    let folders = TurnFolders(dataDirectory: directory.path)
    let message = MessageID(high: 1, low: 2)
    let none = try await folders.write([], of: message, attempt: 1) { _ in Data() }
    #expect(none == nil)
    let files = [try attachment("a.png"), try attachment("-b c.txt", 2)]
    for text in ["before", "after"] {
      let written = try #require(
        try await folders.write(files, of: message, attempt: 1) { attachment in
          Data((text + attachment.name).utf8)
        })
      #expect(written.files.map(\.attachment) == files)
      #expect(written.files.allSatisfy { $0.path.hasPrefix(written.folder + "/") })
      let read = try written.files.map { try String(contentsOfFile: $0.path, encoding: .utf8) }
      #expect(read == [text + "a.png", text + "-b c.txt"])
    }
    folders.remove(of: message, attempt: 2)
    #expect(try FileManager.default.contentsOfDirectory(atPath: folders.path).count == 1)
    folders.remove(of: message, attempt: 1)
    #expect(try FileManager.default.contentsOfDirectory(atPath: folders.path).isEmpty)
    folders.removeAll()
    #expect(!FileManager.default.fileExists(atPath: folders.path))
  }

  @Test func agentsThatReadFilesGetThePaths() throws {
    let files = [
      TurnFiles.File(attachment: try attachment("a.png"), path: "/turns/1/a.png"),
      TurnFiles.File(attachment: try attachment("b c.txt", 2), path: "/turns/1/b c.txt"),
    ]
    let prompt = "look\n\nAttached files:\n/turns/1/a.png\n/turns/1/b c.txt"
    let claude = try PresetAgents.claude(command: nil, timeoutSeconds: nil)
    let line = try claude.commandLine(try turn(files))
    #expect(line.input == prompt)
    #expect(line.words.suffix(2) == ["--add-dir", "/turns/1"])
    let codex = try PresetAgents.codex(command: nil, timeoutSeconds: nil)
    #expect(try codex.commandLine(try turn(files)).input == prompt)
    // Without files nothing is added.
    let plain = try claude.commandLine(try turn([]))
    #expect(plain.input == "look" && !plain.words.contains("--add-dir"))
    let command = try CommandAgent.agent(command: "agent {}", timeoutSeconds: nil)
    #expect(try command.commandLine(try turn(files)).words == ["agent", "look"])
    #expect(try turn(files).environment["COSPOOL_FILES"] == "/turns/1")
    #expect(try turn([]).environment["COSPOOL_FILES"] == nil)
  }

  @Test func opencodeGetsPicturesAndThePathsOfTheRest() throws {
    let directory = try TemporaryDirectory()
    defer { directory.remove() }
    let path = directory.path + "/a.png"
    try Data("abc".utf8).write(to: URL(filePath: path))
    let picture = TurnFiles.File(
      attachment: try attachment("a.png", mediaType: "image/png", size: 3), path: path)
    let archive = TurnFiles.File(
      attachment: try attachment("b.zip", 2, mediaType: "application/zip", size: 3), path: path)
    let sent: JSONTree = .object([
      "type": "file", "mime": "image/png", "filename": "a.png",
      "url": "data:image/png;base64,YWJj",
    ])
    let here = try OpencodeAgent(address: nil, timeoutSeconds: nil)
    #expect(try here.parts(of: try turn([])) == [.object(["type": "text", "text": "look"])])
    #expect(
      try here.parts(of: try turn([picture, archive])) == [
        .object(["type": "text", "text": .string("look\n\nAttached files:\n\(path)")]), sent,
      ])
    // A program on another machine cannot read them.
    let there = try OpencodeAgent(address: "http://192.0.2.1:4096", timeoutSeconds: nil)
    let parts = try there.parts(of: try turn([picture, archive]))
    #expect(parts.count == 3 && parts[0]["text"] == "look" && parts[2]["mime"] == "application/zip")
    var large = picture
    large.attachment = try attachment(
      "large.png", mediaType: "image/png", size: Limits.attachmentBytesMax)
    #expect(throws: OpencodeAgent.FilesFault.self) {
      try here.parts(of: try turn([large, large]))
    }
  }
}
