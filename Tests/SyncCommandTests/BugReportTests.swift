import Foundation
import Testing

@testable import SyncCommand

/// `cospool bugreport` holds no secret, no text and no name.
@Suite(.timeLimit(.minutes(5))) struct BugReportTests {
  private static let secrets = [
    "sk-ant-PLANTEDkey0123456789abcdef", "hunter2-planted", "the planted prompt",
    "planted-session", "planted-project", "planted.invalid", "Planted.invalid",
    "ghp_PLANTED0123456789abcdefgh",
    "takeover", "planted-notifier", "planted-agent", "plantedword",
  ]

  /// The journal's content, at the level debug and in both formats.
  private static let log = #"""
    2026-11-25T10:00:00+0000 systemd[1]: Started cospoold.service - Cospool.
    2026-11-25T10:00:01+0000 cospoold[1]: 2026-11-25T10:00:01+0000 info cospoold: attempt=1 session="planted-session" [SyncDaemon] an attempt ended: failed
    2026-11-25T10:00:02+0000 cospoold[1]: 2026-11-25T10:00:02+0000 debug cospoold: session="a" [SyncDaemon] plantedword of an agent
    2026-11-25T10:00:03+0000 cospoold[1]: plantedword on its second line
    2026-11-25T10:00:03+0000 cospoold[1]: an info on [its] plantedword
    2026-11-25T10:00:04+0000 cospoold[1]: 2026-11-25T10:00:04+0000 debug cospoold: [SyncDaemon] PUT /v1/sessions/planted-session/pause: sessionNotFound
    2026-11-25T10:00:05+0000 cospoold[1]: {"label":"cospoold","level":"warning","message":"held \"the planted prompt\" of 3\" and \"planted-session\" back","metadata":{"session":"\"planted-session\""},"time":"2026-11-25T10:00:05.000Z"}
    2026-11-25T10:00:06+0000 cospoold[1]: {"label":"cospoold","level":"trace","message":"plantedword","time":"2026-11-25T10:00:06.000Z"}
    2026-11-25T10:00:07+0000 cospoold[1]: {"label":"cospoold","level":"notice","message":"plantedword, cut
    2026-11-25T10:00:08+0000 cospoold[1]: 2026-11-25T10:00:08+0000 error cospoold: session="a\" [b] plantedword" [SyncDaemon] token=ghp_PLANTED0123456789abcdefgh at work
    2026-11-25T10:00:09+0000 cospoold[1]: 2026-11-25T10:00:09+0000 warning cospoold: [SyncDaemon] cannot be read: /srv/acme takeover/chain.pem
    2026-11-25T10:00:10+0000 cospoold[1]: 2026-11-25T10:00:10+0000 notice cospoold: [SyncClient] connected to wss://planted.invalid:443
    2026-11-25T10:00:11+0000 systemd[1]: cospoold.service: Main process exited, code=exited, status=2/INVALIDARGUMENT
    2026-11-25T10:00:12+0000 systemd[1]: cospoold.service: Failed at step CHDIR spawning /srv/acme-takeover/cospoold
    """#

  @Test func plantedSecretsAreNotInIt() async throws {
    try await CommandFixture.run { daemon in
      _ = await daemon.cospool(
        "send", "-s", "planted-session", "--project", "/planted-project", "the planted prompt")
      try #"{"server":"wss://Planted.invalid:443","token":"00ff"}"#.write(
        toFile: daemon.directory + "/credentials.json", atomically: true, encoding: .utf8)
      for (name, value) in [
        ("command", "/srv/planted-agent --key sk-ant-PLANTEDkey0123456789abcdef {}"),
        ("notifyCommand", "planted-notifier -u me:hunter2-planted https://planted.invalid"),
        ("agent", "command"), ("projectRoots", "/srv/acme-takeover"),
      ] {
        let set = await daemon.cospool("config", "set", name, value)
        #expect(set.exitCode == 0, "\(set)")
      }
      // The place where a user looks for its log.
      let bin = daemon.directory + "/bin"
      try FileManager.default.createDirectory(atPath: bin, withIntermediateDirectories: true)
      try Self.log.write(toFile: bin + "/log", atomically: true, encoding: .utf8)
      try "#!/bin/sh\nexec cat \(bin)/log\n".write(
        toFile: bin + "/journalctl", atomically: true, encoding: .utf8)
      try FileManager.default.setAttributes(
        [.posixPermissions: 0o755], ofItemAtPath: bin + "/journalctl")
      let report = await CommandFixture.cospool(
        ["bugreport"],
        variables: [
          "PATH": "\(bin):/usr/bin:/bin", "HOME": daemon.directory,
          "COSPOOL_DATA": daemon.directory, "DB_PASS": "hunter2-planted",
        ])
      #expect(report.exitCode == 0, "\(report)")
      for section in ["== versions", "== doctor", "== status", "== settings", "== log"] {
        #expect(report.output.contains(section))
      }
      #expect(report.output.contains("messages 1"))
      #expect(report.output.contains("command is set"))
      #expect(report.output.contains("agent command"))
      for code in ["projectRoots", "notifyCommand", "agent"] {
        let line = report.output.split(separator: "\n").first { $0.hasSuffix(" \(code)") }
        #expect(line != nil, "\(code) in \(report.output)")
      }
      let shown = report.output.split(separator: "\n").filter { $0.hasPrefix("2026-11-25T") }
      #expect(
        shown.map { $0.dropFirst(25) } == [
          "systemd[1]: Started cospoold.service - Cospool.",
          "cospoold[1]: info: an attempt ended: failed",
          #"cospoold[1]: warning: held "…" back"#,
          "cospoold[1]: error: token=[redacted] at work",
          "cospoold[1]: warning: cannot be read: …",
          "cospoold[1]: notice: connected to URL",
          "systemd[1]: cospoold.service: Main process exited, code=exited, status=2/INVALIDARGUMENT",
          "systemd[1]: cospoold.service: Failed at step CHDIR spawning …",
        ])
      for secret in Self.secrets {
        #expect(!report.output.contains(secret), "\(secret) in \(report.output)")
      }
      #expect(!report.output.contains(daemon.directory))
    }
  }

  /// As `cospool setup` starts one without systemd.
  @Test func theLogOfADaemonWithoutAServiceIsInIt() async throws {
    try await CommandFixture.run { daemon in
      try """
      ready on \(daemon.directory)/cospool.sock
      2026-11-25T10:00:01+0000 notice cospoold: [SyncClient] connected to wss://planted.invalid:443
      2026-11-25T10:00:02+0000 debug cospoold: [SyncDaemon] plantedword
      {"label":"cospoold","level":"info","message":"stopping","time":"2026-11-25T10:00:03.000Z"}
      """.write(
        toFile: daemon.directory + "/cospoold.log", atomically: true, encoding: .utf8)
      let report = await CommandFixture.cospool(
        ["bugreport", "--json"],
        variables: [
          "PATH": daemon.directory, "HOME": daemon.directory, "COSPOOL_DATA": daemon.directory,
        ])
      #expect(report.exitCode == 0, "\(report)")
      let answer = try JSONDecoder().decode([String: String].self, from: Data(report.output.utf8))
      let text = try #require(answer["report"])
      #expect(text.contains("2026-11-25T10:00:01+0000 cospoold[-]: notice: connected to URL\n"))
      #expect(text.contains("2026-11-25T10:00:03.000Z cospoold[-]: info: stopping\n"))
      #expect(!text.contains("planted") && !text.contains("ready on"), "\(text)")
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
      let mode = try FileManager.default.attributesOfItem(atPath: file)[.posixPermissions]
      #expect((mode as? NSNumber)?.intValue == 0o600)
      let again = await daemon.cospool("bugreport", "--output", file, "--yes")
      #expect(again.exitCode == 1 && again.errors.contains("exists already"), "\(again)")
      // The target of a link is not created, either.
      let link = daemon.directory + "/link"
      try FileManager.default.createSymbolicLink(
        atPath: link, withDestinationPath: daemon.directory + "/elsewhere")
      let linked = await daemon.cospool("bugreport", "--output", link, "--yes")
      #expect(linked.exitCode == 1 && linked.errors.contains("exists already"), "\(linked)")
      #expect(!FileManager.default.fileExists(atPath: daemon.directory + "/elsewhere"))
      let nowhere = await daemon.cospool(
        "bugreport", "--output", daemon.directory + "/none/report.txt", "--yes")
      #expect(nowhere.exitCode == 7 && nowhere.errors.contains("cannot be written"), "\(nowhere)")
    }
  }
}
