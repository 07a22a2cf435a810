import Foundation
import LocalAPI
import Testing

@testable import SyncCommand

/// `cospool queue edit` without a text: the user's editor, with a real daemon.
@Suite(.timeLimit(.minutes(10))) struct EditorTests {
  private static let message = "11111111-1111-4111-8111-111111111111"

  /// Writes an editor: a script that gets the file as `$1`.
  private func editor(_ lines: String, in fixture: CommandFixture) throws -> String {
    let path = fixture.directory + "/editor.sh"
    try Data("#!/bin/sh\n\(lines)\n".utf8).write(to: URL(filePath: path))
    try FileManager.default.setAttributes([.posixPermissions: 0o700], ofItemAtPath: path)
    return path
  }

  private func edit(
    with editor: String, in fixture: CommandFixture, temporary: String? = nil
  ) async -> CommandRunner.Outcome {
    var variables = ["COSPOOL_DATA": fixture.directory, "EDITOR": editor]
    variables["TMPDIR"] = temporary
    return await CommandFixture.cospool(["queue", "edit", Self.message], variables: variables)
  }

  private func content(in fixture: CommandFixture) async -> String {
    await fixture.cospool("queue", "show", Self.message, "--json").output
  }

  // S0-12
  @Test func theMessageIsHeldAndChangesOfOthersAreMerged() async throws {
    try await CommandFixture.run { fixture in
      _ = await fixture.cospool("send", "-s", "s", "--id", Self.message, "fix the test")
      let (opened, go) = (fixture.directory + "/opened", fixture.directory + "/go")
      let editor = try editor(
        """
        touch \(opened); while [ ! -e \(go) ]; do sleep 0.02; done
        printf '%s\\n' "fix the flaky test" > "$1"
        """, in: fixture)
      async let edited = edit(with: editor, in: fixture)
      while !FileManager.default.fileExists(atPath: opened) {
        try await Task.sleep(for: .milliseconds(10))
      }
      #expect(await content(in: fixture).contains("heldUntil"))
      let other = await fixture.cospool("queue", "edit", Self.message, "please fix the test")
      #expect(other.output == #"edited "please fix the test" in s"#)
      try Data().write(to: URL(filePath: go))
      let outcome = await edited
      #expect(outcome.output == #"edited "please fix the flaky test" in s"#)
      // The editor did not show the text that the other edit left.
      #expect(outcome.errors.contains("The message waits until you choose"), "\(outcome.errors)")
      let after = await content(in: fixture)
      #expect(after.contains("please fix the flaky test"))
      #expect(!after.contains("heldUntil"))
    }
  }

  @Test func anEditorThatFailsChangesNothing() async throws {
    try await CommandFixture.run { fixture in
      _ = await fixture.cospool("send", "-s", "s", "--id", Self.message, "as it was")
      let editor = try editor("echo lost > \"$1\"; exit 1", in: fixture)
      let outcome = await edit(with: editor, in: fixture)
      #expect(outcome.exitCode == 1 && outcome.errors.contains("failed, so nothing was changed"))
      let path = try #require(outcome.errors.firstMatch(of: /\/tmp\/cospool-\w+\/message\.md/))
      let kept = try String(contentsOfFile: String(path.output), encoding: .utf8)
      #expect(kept == "lost\n")
      let folder = URL(filePath: String(path.output)).deletingLastPathComponent()
      try FileManager.default.removeItem(at: folder)
      #expect(await content(in: fixture).contains("as it was"))
      #expect(await !content(in: fixture).contains("heldUntil"))
    }
  }

  @Test func theFileIsInTheFolderOfTemporaryFiles() async throws {
    try await CommandFixture.run { fixture in
      _ = await fixture.cospool("send", "-s", "s", "--id", Self.message, "as it was")
      let editor = try editor("printf %s \"$1\" > \"$1\"", in: fixture)
      for temporary in [fixture.directory, fixture.directory + "/"] {
        let outcome = await edit(with: editor, in: fixture, temporary: temporary)
        #expect(outcome.output.hasPrefix(#"edited ""#), "\(outcome)")
        #expect(await content(in: fixture).contains(fixture.directory + "/cospool-"))
      }
      let left = try FileManager.default.contentsOfDirectory(atPath: fixture.directory)
      #expect(!left.contains { $0.hasPrefix("cospool-") })
      let nowhere = await edit(with: editor, in: fixture, temporary: fixture.directory + "/none")
      #expect(nowhere.exitCode == 7 && nowhere.errors.contains("/none"))
    }
  }

  @Test func anEditorThatRemovesTheFileHasFailed() async throws {
    try await CommandFixture.run { fixture in
      _ = await fixture.cospool("send", "-s", "s", "--id", Self.message, "as it was")
      let editor = try editor("rm \"$1\"", in: fixture)
      let outcome = await edit(with: editor, in: fixture, temporary: fixture.directory)
      #expect(outcome.exitCode == 1)
      #expect(
        outcome.errors
          == "cospool: The file that the editor saved cannot be read, so nothing was changed.")
      let left = try FileManager.default.contentsOfDirectory(atPath: fixture.directory)
      #expect(!left.contains { $0.hasPrefix("cospool-") })
      #expect(await content(in: fixture).contains("as it was"))
    }
  }

  @Test func withoutAnEditorATextIsAskedFor() async throws {
    try await CommandFixture.run { fixture in
      _ = await fixture.cospool("send", "-s", "s", "--id", Self.message, "text")
      let outcome = await fixture.cospool("queue", "edit", Self.message)
      #expect(outcome.exitCode == 2 && outcome.errors.contains("set EDITOR"))
    }
  }
}
