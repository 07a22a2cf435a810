import Foundation
import LocalAPI
import QueueModel
import Testing

@testable import SyncCommand

@Suite(.timeLimit(.minutes(10))) struct FileCommandTests {
  private static let id = "11111111-1111-4111-8111-111111111111"

  @Test func twoFilesOfOneNameAreNamedByTheirHashes() async throws {
    try await CommandFixture.run { fixture in
      let folder = URL.temporaryDirectory.appending(path: UUID().uuidString)
      try FileManager.default.createDirectory(at: folder, withIntermediateDirectories: false)
      defer { try? FileManager.default.removeItem(at: folder) }
      let path = folder.appending(path: "ch.txt").path(percentEncoded: false)
      _ = await fixture.cospool("send", "-s", "s", "--id", Self.id, "look")
      for text in ["one", "two"] {
        try Data(text.utf8).write(to: URL(filePath: path))
        #expect(await fixture.cospool("queue", "attach", "1111", path).exitCode == 0)
      }
      let list = await fixture.cospool("queue", "files", "1111").output
      let hashes = list.matches(of: #/\b[0-9a-f]{8}\b/#).map { String($0.output) }
      #expect(hashes.count == 2)
      for command in [["detach"], ["fetch"]] {
        let answer = await CommandFixture.cospool(
          ["queue"] + command + ["1111", "ch.txt"], variables: ["COSPOOL_DATA": fixture.directory])
        #expect(answer.exitCode == 5, "\(answer)")
        #expect(hashes.allSatisfy(answer.errors.contains), "\(answer)")
      }
      // A document has no files, and says so; so does its import where they are not.
      let document = await fixture.cospool("export", fixture.directory + "/all.json")
      #expect(document.errors.contains("2 files are not in the document: ch.txt, ch.txt"))
      try await CommandFixture.run { other in
        let brought = await other.cospool("import", fixture.directory + "/all.json")
        #expect(brought.errors.contains("2 files are not in the document, nor on this device"))
      }
    }
  }

  @Test func aMessageThatWasStartedBeforeIsImportedIntoAPausedSession() async throws {
    try await CommandFixture.run { fixture in
      let file =
        #"{"version":1,"sessionId":"s","messages":[{"id":"\#(Self.id)","content":"deploy","#
        + #""createdAt":"2026-01-01T00:00:00Z","attempts":1}]}"#
      let brought = await fixture.cospool("queue", "import", "-", input: file)
      #expect(brought.exitCode == 0, "\(brought)")
      #expect(brought.errors.contains("1 message was started before"), "\(brought)")
      #expect(brought.errors.contains("cospool queue resume -s s"), "\(brought)")
      let list = await fixture.cospool("queue", "list", "-s", "s").output
      #expect(list.contains("imported messages were started before"), "\(list)")
    }
  }

  @Test func anImportCountsWhatWaitsForOthersThatAreNotHere() async throws {
    try await CommandFixture.run { fixture in
      let file =
        #"{"version":1,"sessionId":"s","messages":[{"id":"\#(Self.id)","content":"deploy","#
        + #""createdAt":"2026-01-01T00:00:00Z","needs":["22222222-2222-4222-8222-222222222222"]}]}"#
      let warning = "1 message waits for others that are not here"
      let trial = await fixture.cospool("queue", "import", "-", "--dry-run", input: file)
      #expect(trial.exitCode == 0 && trial.errors.contains(warning), "\(trial)")
      let brought = await fixture.cospool("queue", "import", "-", input: file)
      #expect(brought.exitCode == 0 && brought.errors.contains(warning), "\(brought)")
    }
  }

  // C-12
  @Test func filesAreAttachedListedFetchedAndTakenAway() async throws {
    try await CommandFixture.run { fixture in
      // Files in the daemon's own directory are not attached.
      let folder = URL.temporaryDirectory.appending(path: UUID().uuidString)
      try FileManager.default.createDirectory(at: folder, withIntermediateDirectories: false)
      defer { try? FileManager.default.removeItem(at: folder) }
      let path = folder.appending(path: "my picture.png").path(percentEncoded: false)
      try Data([0x89, 0x50, 0x4E, 0x47]).write(to: URL(filePath: path))
      _ = await fixture.cospool("send", "-s", "s", "--id", Self.id, "look")
      #expect(await fixture.cospool("queue", "files", "1111").output == "no files")
      let attached = await fixture.cospool("queue", "attach", "1111", path)
      #expect(
        attached.output == #"attached my picture.png, 4 bytes, to "look" in s"#, "\(attached)")
      let again = await fixture.cospool("queue", "attach", "1111", path)
      #expect(again.output == #"my picture.png is attached already to "look" in s"#)
      let list = await fixture.cospool("queue", "files", "1111").output
      #expect(list.contains("image/png  here   my picture.png"), "\(list)")
      #expect(
        await fixture.cospool("queue", "show", "1111").output
          .contains("my picture.png (image/png, 4 bytes)"))
      let copy = fixture.directory + "/copy"
      let fetched = await fixture.cospool("queue", "fetch", "1111", "my picture.png", "-o", copy)
      #expect(fetched.exitCode == 0, "\(fetched)")
      #expect(try Data(contentsOf: URL(filePath: copy)) == Data([0x89, 0x50, 0x4E, 0x47]))
      let twice = await fixture.cospool("queue", "fetch", "1111", "my picture.png", "-o", copy)
      #expect(twice.exitCode == 1)
      #expect(twice.errors.contains("add --force"), "\(twice)")
      let forced = await fixture.cospool(
        "queue", "fetch", "1111", "my picture.png", "-o", copy, "--force")
      #expect(forced.exitCode == 0, "\(forced)")
      let binary = await fixture.cospool("queue", "fetch", "1111", "my picture.png", "-o", "-")
      #expect(binary.errors.contains("not text"), "\(binary)")
      #expect(
        await fixture.cospool("queue", "detach", "1111", "my picture.png").output
          == #"detached my picture.png from "look" in s"#)
      let gone = await fixture.cospool("queue", "detach", "1111", "my picture.png")
      #expect(gone.exitCode == 1)
      _ = await fixture.cospool("undo")
      #expect(await fixture.cospool("queue", "files", "1111").output.contains("my picture.png"))
      let link = fixture.directory + "/latest.png"
      try FileManager.default.createSymbolicLink(atPath: link, withDestinationPath: path)
      #expect(
        await fixture.cospool("send", "-s", "l", "--attach", link, "by link").output
          == "queued, position 1 of 1 in the new session l")
      #expect(
        await fixture.cospool("queue", "list", "-s", "l", "--json").output
          .contains("\"name\":\"latest.png\""))
      let missing = await fixture.cospool("queue", "attach", "1111", "/no/such/file")
      #expect(missing.exitCode == 1)
      #expect(missing.errors.contains("/no/such/file"))
      let sent = await fixture.cospool("send", "-s", "t", "--attach", path, "look here too")
      #expect(sent.output == "queued, position 1 of 1 in the new session t")
      #expect(
        await fixture.cospool("queue", "list", "-s", "t").output.contains("(1 file) look here"))
    }
  }

  @Test func aRestoredMessageWhoseFileIsGoneSaysSo() async throws {
    try await CommandFixture.run { fixture in
      let folder = URL.temporaryDirectory.appending(path: UUID().uuidString)
      try FileManager.default.createDirectory(at: folder, withIntermediateDirectories: false)
      defer { try? FileManager.default.removeItem(at: folder) }
      let path = folder.appending(path: "f.txt").path(percentEncoded: false)
      try Data("hello".utf8).write(to: URL(filePath: path))
      _ = await fixture.cospool("send", "-s", "s", "--id", Self.id, "--attach", path, "look")
      _ = await fixture.cospool("queue", "cancel", "1111")
      let whole = await fixture.cospool("queue", "restore", "1111")
      #expect(whole.errors.isEmpty, "\(whole)")
      _ = await fixture.cospool("queue", "cancel", "1111")
      try FileManager.default.removeItem(atPath: fixture.directory + "/attachments")
      let restored = await fixture.cospool("queue", "restore", "1111")
      #expect(restored.exitCode == 0, "\(restored)")
      #expect(restored.errors.contains("a file of it is gone: f.txt"), "\(restored)")
      let list = await fixture.cospool("queue", "files", "1111").output
      #expect(list.contains("text/plain  gone   f.txt"), "\(list)")
    }
  }

  // C-16
  @Test func queueFilesGoOutAndComeIn() async throws {
    try await CommandFixture.run { fixture in
      _ = await fixture.cospool("send", "-s", "s", "--id", Self.id, "--urgent", "one")
      let path = fixture.directory + "/queue-s.json"
      let exported = await fixture.cospool("queue", "export", "-s", "s", path)
      #expect(exported.exitCode == 0, "\(exported)")
      let known = await fixture.cospool("queue", "import", path)
      #expect(known.exitCode == 0, "\(known)")
      _ = await fixture.cospool("queue", "clear", "-s", "s")
      let list =
        #"[{"id":"22222222-2222-4222-8222-222222222222","content":"two","sessionId":"s","#
        + #""createdAt":"2024-01-15T10:30:00Z"}]"#
      let trial = await fixture.cospool("queue", "import", "-", "--dry-run", input: list)
      #expect(trial.output.contains("1 message"), "\(trial)")
      _ = await fixture.cospool("queue", "import", "-", "-s", "other", input: list)
      #expect(await fixture.cospool("queue", "list", "-s", "other").output.contains("two"))
      #expect(await fixture.cospool("queue", "import", "-", input: "[").exitCode == 6)
      #expect(await fixture.cospool("queue", "export", "-s", "nowhere").exitCode == 1)
    }
  }

  // I-38
  @Test func anImportFindsTheSessionAsSendDoes() async throws {
    try await CommandFixture.run { fixture in
      _ = await fixture.cospool("send", "-s", "review", "--new", "zero")
      _ = await fixture.cospool("session", "rename", "review", "login")
      let brought = await fixture.cospool(
        "queue", "import", "--lines", "-", "-s", "login", input: "one")
      #expect(brought.exitCode == 0, "\(brought)")
      #expect(await fixture.cospool("queue", "list", "-s", "review").output.contains("one"))
      let file =
        #"[{"id":"22222222-2222-4222-8222-222222222222","content":"two","#
        + #""createdAt":"2024-01-15T10:30:00Z"}]"#
      #expect(
        await fixture.cospool("queue", "import", "-", "-s", "login", input: file).exitCode == 0)
      #expect(await fixture.cospool("queue", "list", "-s", "review").output.contains("two"))
      let mistyped = ["queue", "import", "--lines", "-", "-s", "logni"]
      let refused = await CommandFixture.cospool(
        mistyped, variables: ["COSPOOL_DATA": fixture.directory], input: Array("x".utf8))
      #expect(refused.exitCode == 1 && refused.errors.contains("login"), "\(refused)")
      let made = await CommandFixture.cospool(
        mistyped + ["--new"], variables: ["COSPOOL_DATA": fixture.directory],
        input: Array("x".utf8))
      #expect(made.exitCode == 0, "\(made)")
      #expect(await fixture.cospool("queue", "list", "-s", "logni").output.contains("x"))
    }
  }

  // I-314: `<(…)` is the path of a pipe.
  @Test func documentsAreReadFromPipesAndDevices() async throws {
    try await CommandFixture.run { fixture in
      let pipe = fixture.directory + "/pipe"
      try #require(mkfifo(pipe, 0o600) == 0)
      // Opening waits for the reader.
      Thread.detachNewThread {
        let file = FileHandle(forWritingAtPath: pipe)
        try? file?.write(contentsOf: Data("one\ntwo\n".utf8))
        try? file?.close()
      }
      let brought = await fixture.cospool("queue", "import", "--lines", pipe, "-s", "a")
      #expect(brought.exitCode == 0 && brought.output.hasPrefix("imported 2 m"), "\(brought)")
      let nothing = await fixture.cospool("queue", "import", "--lines", "/dev/null", "-s", "a")
      #expect(nothing.exitCode == 0, "\(nothing)")
      #expect(await fixture.cospool("import", "/dev/null").exitCode == 6)
    }
  }

  @Test func theLinesOfAFileAreQueuedByOneCommand() async throws {
    try await CommandFixture.run { fixture in
      let text = "- first idea\r\n\n   \nsecond \"idea\"\n# third"
      let brought = await fixture.cospool("queue", "import", "--lines", "-", "-s", "a", input: text)
      #expect(
        brought.exitCode == 0 && brought.output.hasPrefix("imported 3 messages"), "\(brought)")
      let list = await fixture.cospool("queue", "list", "-s", "a", "--json").output
      let queues = try JSONDecoder().decode(QueuesAnswer.self, from: Data(list.utf8)).queues
      #expect(
        queues.flatMap(\.messages).map(\.content)
          == ["- first idea", "second \"idea\"", "# third"])
      // A second run makes further messages.
      _ = await fixture.cospool("queue", "import", "--lines", "-", "-s", "a", input: "# third")
      #expect(
        await fixture.cospool("queue", "list", "-s", "a").output.split(separator: "\n")
          .count(where: { $0.contains("# third") }) == 2)
      let nowhere = await fixture.cospool("queue", "import", "--lines", "-", input: text)
      #expect(nowhere.exitCode == 2 && nowhere.errors.contains("-s SESSION"), "\(nowhere)")
    }
  }
}
