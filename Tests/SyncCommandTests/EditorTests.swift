import Foundation
import LocalAPI
import Testing

@testable import SyncCommand

/// `cospool queue edit` without a text: a person's editor, against a real daemon.
@Suite(.timeLimit(.minutes(10))) struct EditorTests {
  private static let message = "11111111-1111-4111-8111-111111111111"

  /// Writes an editor: a script that gets the file as `$1`.
  private func editor(_ lines: String, in house: CommandFixture) throws -> String {
    let path = house.directory + "/editor.sh"
    try Data("#!/bin/sh\n\(lines)\n".utf8).write(to: URL(filePath: path))
    try FileManager.default.setAttributes([.posixPermissions: 0o700], ofItemAtPath: path)
    return path
  }

  private func edit(
    with editor: String, in house: CommandFixture, temporary: String? = nil
  ) async -> CommandRunner.Outcome {
    var variables = ["COSPOOL_DATA": house.directory, "EDITOR": editor]
    variables["TMPDIR"] = temporary
    return await CommandFixture.cospool(["queue", "edit", Self.message], variables: variables)
  }

  private func content(in house: CommandFixture) async -> String {
    await house.cospool("queue", "show", Self.message, "--json").output
  }

  // S0-12
  @Test func theMessageIsHeldAndChangesOfOthersAreMerged() async throws {
    try await CommandFixture.run { house in
      _ = await house.cospool("send", "-s", "s", "--id", Self.message, "fix the test")
      let (opened, go) = (house.directory + "/opened", house.directory + "/go")
      let editor = try editor(
        """
        touch \(opened); while [ ! -e \(go) ]; do sleep 0.02; done
        printf '%s\\n' "fix the flaky test" > "$1"
        """, in: house)
      async let edited = edit(with: editor, in: house)
      while !FileManager.default.fileExists(atPath: opened) {
        try await Task.sleep(for: .milliseconds(10))
      }
      #expect(await content(in: house).contains("heldUntil"))
      let other = await house.cospool("queue", "edit", Self.message, "please fix the test")
      #expect(other.output == "edited")
      try Data().write(to: URL(filePath: go))
      #expect(await edited.output == "edited")
      let after = await content(in: house)
      #expect(after.contains("please fix the flaky test"))
      #expect(!after.contains("heldUntil"))
    }
  }

  @Test func anEditorThatFailsChangesNothing() async throws {
    try await CommandFixture.run { house in
      _ = await house.cospool("send", "-s", "s", "--id", Self.message, "as it was")
      let editor = try editor("echo lost > \"$1\"; exit 1", in: house)
      let outcome = await edit(with: editor, in: house)
      #expect(outcome.exitCode == 1 && outcome.errors.contains("failed, so nothing was changed"))
      let path = try #require(outcome.errors.firstMatch(of: /\/tmp\/cospool-\w+\/message\.md/))
      let kept = try String(contentsOfFile: String(path.output), encoding: .utf8)
      #expect(kept == "lost\n")
      let folder = URL(filePath: String(path.output)).deletingLastPathComponent()
      try FileManager.default.removeItem(at: folder)
      #expect(await content(in: house).contains("as it was"))
      #expect(await !content(in: house).contains("heldUntil"))
    }
  }

  @Test func theFileLiesWhereTemporaryFilesAreToLie() async throws {
    try await CommandFixture.run { house in
      _ = await house.cospool("send", "-s", "s", "--id", Self.message, "as it was")
      let editor = try editor("printf %s \"$1\" > \"$1\"", in: house)
      for temporary in [house.directory, house.directory + "/"] {
        let outcome = await edit(with: editor, in: house, temporary: temporary)
        #expect(outcome.output == "edited", "\(outcome)")
        #expect(await content(in: house).contains(house.directory + "/cospool-"))
      }
      let left = try FileManager.default.contentsOfDirectory(atPath: house.directory)
      #expect(!left.contains { $0.hasPrefix("cospool-") })
      let nowhere = await edit(with: editor, in: house, temporary: house.directory + "/none")
      #expect(nowhere.exitCode == 7 && nowhere.errors.contains("/none"))
    }
  }

  @Test func anEditorThatRemovesTheFileIsSaidToHaveFailed() async throws {
    try await CommandFixture.run { house in
      _ = await house.cospool("send", "-s", "s", "--id", Self.message, "as it was")
      let editor = try editor("rm \"$1\"", in: house)
      let outcome = await edit(with: editor, in: house, temporary: house.directory)
      #expect(outcome.exitCode == 1)
      #expect(
        outcome.errors
          == "cospool: The editor left no file that can be read, so nothing was changed.")
      let left = try FileManager.default.contentsOfDirectory(atPath: house.directory)
      #expect(!left.contains { $0.hasPrefix("cospool-") })
      #expect(await content(in: house).contains("as it was"))
    }
  }

  @Test func withoutAnEditorATextIsAskedFor() async throws {
    try await CommandFixture.run { house in
      _ = await house.cospool("send", "-s", "s", "--id", Self.message, "text")
      let outcome = await house.cospool("queue", "edit", Self.message)
      #expect(outcome.exitCode == 2 && outcome.errors.contains("set EDITOR"))
    }
  }
}
