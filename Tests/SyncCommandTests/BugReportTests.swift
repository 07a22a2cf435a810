import Foundation
import Testing

@testable import SyncCommand

/// `cospool bugreport` holds no secret, no text and no name.
@Suite(.timeLimit(.minutes(5))) struct BugReportTests {
  private static let secrets = [
    "sk-ant-PLANTEDkey0123456789abcdef", "hunter2-planted", "the planted prompt",
    "planted-session", "planted-project", "planted.invalid", "ghp_PLANTED0123456789abcdefgh",
  ]

  @Test func whatIsPlantedIsNotInIt() async throws {
    try await CommandFixture.run { daemon in
      _ = await daemon.cospool(
        "send", "-s", "planted-session", "--project", "/planted-project", "the planted prompt")
      try #"{"server":"wss://planted.invalid:443","token":"00ff"}"#.write(
        toFile: daemon.directory + "/credentials.json", atomically: true, encoding: .utf8)
      for (name, value) in [
        ("command", "agent --key sk-ant-PLANTEDkey0123456789abcdef {}"),
        ("notifyCommand", "curl -u me:hunter2-planted https://planted.invalid"),
        ("agent", "command"),
      ] {
        let set = await daemon.cospool("config", "set", name, value)
        #expect(set.exitCode == 0, "\(set)")
      }
      // Where a person looks for its log.
      let bin = daemon.directory + "/bin"
      try FileManager.default.createDirectory(atPath: bin, withIntermediateDirectories: true)
      try """
      #!/bin/sh
      echo '2026-11-25T10:00:00+0000 cospoold[1]: sent "the planted prompt" of "planted-session"'
      echo '2026-11-25T10:00:01+0000 cospoold[1]: token=ghp_PLANTED0123456789abcdefgh at work'
      """.write(toFile: bin + "/journalctl", atomically: true, encoding: .utf8)
      try FileManager.default.setAttributes(
        [.posixPermissions: 0o755], ofItemAtPath: bin + "/journalctl")
      let report = await CommandFixture.cospool(
        ["bugreport"],
        variables: [
          "PATH": "\(bin):/usr/bin:/bin", "HOME": daemon.directory,
          "COSPOOL_DATA": daemon.directory,
        ])
      #expect(report.exitCode == 0, "\(report)")
      for section in ["== versions", "== doctor", "== status", "== settings", "== log"] {
        #expect(report.output.contains(section))
      }
      #expect(report.output.contains("messages 1"))
      #expect(report.output.contains("command is set"))
      #expect(report.output.contains("agent command"))
      #expect(report.output.contains("2026-11-25T10:00:01"))
      for secret in Self.secrets {
        #expect(!report.output.contains(secret), "\(secret) in \(report.output)")
      }
      #expect(!report.output.contains(daemon.directory))
    }
  }

  @Test func itIsShownBeforeItIsWritten() async throws {
    try await CommandFixture.run { daemon in
      let file = daemon.directory + "/report.txt"
      let unasked = await daemon.cospool("bugreport", "--output", file)
      #expect(unasked.exitCode == 2)
      #expect(!FileManager.default.fileExists(atPath: file))
      let written = await daemon.cospool("bugreport", "--output", file, "--yes")
      #expect(written.exitCode == 0, "\(written)")
      let text = try String(contentsOfFile: file, encoding: .utf8)
      #expect(text.contains("== doctor"))
      let again = await daemon.cospool("bugreport", "--output", file, "--yes")
      #expect(again.exitCode == 1)
    }
  }
}
