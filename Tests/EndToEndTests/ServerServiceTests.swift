import Foundation
import Testing

extension EndToEnd {
  /// `cospool-server service`, with a systemctl that records its calls; and root's commands.
  @Suite struct ServerServiceTests {
    private func server(
      _ arguments: [String], in bed: TestBed, environment: [String: String]? = nil
    ) async throws -> Output {
      let process = try bed.launch(
        try Executables.path(of: "cospool-server"), arguments, name: "cospool-server",
        environment: ["PATH": bed.path("programs") + ":/usr/bin:/bin"].merging(
          environment ?? ["XDG_CONFIG_HOME": bed.path("config")]
        ) { _, chosen in chosen })
      return try await bed.finish(process, arguments)
    }

    private func program(_ name: String, _ script: String, in bed: TestBed) throws {
      let folder = bed.path("programs")
      try FileManager.default.createDirectory(atPath: folder, withIntermediateDirectories: true)
      let path = folder + "/" + name
      try "#!/bin/sh\n\(script)\n".write(toFile: path, atomically: true, encoding: .utf8)
      try FileManager.default.setAttributes([.posixPermissions: 0o755], ofItemAtPath: path)
    }

    @Test func aPersonsServiceIsInstalledAndRemoved() async throws {
      try await TestBed.run { bed in
        let calls = bed.path("calls")
        try program("systemctl", "echo \"$@\" >> '\(calls)'", in: bed)
        let unit = bed.path("config/systemd/user/cospool-server.service")
        let shown = try await server(
          ["service", "install", "--user", "--dry-run", "--data", "/my data"], in: bed)
        #expect(shown.isSuccess && shown.standardOutput.contains(#""--data" "/my data""#))
        #expect(!shown.standardOutput.contains("User="), "\(shown)")
        #expect(!FileManager.default.fileExists(atPath: calls))
        for _ in 1...2 {
          let done = try await server(
            ["service", "install", "--user", "--", "--port", "7500"], in: bed)
          #expect(done.isSuccess && done.standardOutput.contains(unit), "\(done)")
        }
        let text = try String(contentsOfFile: unit, encoding: .utf8)
        #expect(text.contains(#""--port" "7500""#) && text.contains("Type=notify"))
        let removed = try await server(["service", "uninstall", "--user"], in: bed)
        #expect(removed.isSuccess && !FileManager.default.fileExists(atPath: unit))
        let again = try await server(["service", "uninstall", "--user"], in: bed)
        #expect(again.isSuccess && again.standardOutput.contains("nothing changed"))
        let lines = try String(contentsOfFile: calls, encoding: .utf8).split(separator: "\n")
        let installing = [
          "daemon-reload", "is-enabled --quiet cospool-server.service",
          "is-active --quiet cospool-server.service", "daemon-reload",
          "enable cospool-server.service", "restart cospool-server.service",
        ]
        let removing = ["disable --now cospool-server.service", "daemon-reload"]
        let expected = (installing + installing + removing).map { "--user " + $0 }
        #expect(lines.map(String.init) == expected)
      }
    }

    /// HOME is the folder of a user's units, as for all other programs.
    @Test func aUsersUnitIsInTheirHome() async throws {
      try await TestBed.run { bed in
        try program("systemctl", "exit 0", in: bed)
        let home = ["HOME": bed.path("home")]
        let unit = bed.path("home/.config/systemd/user/cospool-server.service")
        let done = try await server(["service", "install", "--user"], in: bed, environment: home)
        #expect(done.isSuccess && done.standardOutput.contains(unit), "\(done)")
        let text = try String(contentsOfFile: unit, encoding: .utf8)
        #expect(text.contains(bed.path("home/.local/share/cospool-server")), "\(text)")
        let removed = try await server(
          ["service", "uninstall", "--user"], in: bed, environment: home)
        #expect(removed.isSuccess && !FileManager.default.fileExists(atPath: unit), "\(removed)")
        let refused = try await server(
          ["service", "install", "--user"], in: bed, environment: ["HOME": "home"])
        #expect(refused.code == 2 && refused.standardError.contains("HOME is home"), "\(refused)")
      }
    }

    /// `ServiceTests` has the cases of the unit that both programs share.
    @Test func aServiceThatDoesNotStartIsNotKept() async throws {
      try await TestBed.run { bed in
        try program("journalctl", "exit 1", in: bed)
        try program(
          "systemctl", #"case "$2" in restart) echo 'Job failed.'; exit 1;; esac"#, in: bed)
        let failed = try await server(["service", "install", "--user"], in: bed)
        #expect(failed.code == 1, "\(failed)")
        for words in [
          "Job failed.", "service logs --user", "could not be restored", "service uninstall --user",
        ] {
          #expect(failed.standardError.contains(words), "\(words): \(failed)")
        }
        let unit = bed.path("config/systemd/user/cospool-server.service")
        #expect(!FileManager.default.fileExists(atPath: unit))
      }
    }

    /// Its account could not listen there.
    @Test func theMachinesServiceTakesNoPortOfRoot() async throws {
      let file = "/proc/sys/net/ipv4/ip_unprivileged_port_start"
      let first = (try? String(contentsOfFile: file, encoding: .utf8))
        .flatMap { Int($0.trimmingCharacters(in: .whitespacesAndNewlines)) }
      guard first ?? 1_024 > 443 else { return }
      try await TestBed.run { bed in
        for options in [["--port", "443"], ["--metrics", "80"]] {
          let refused = try await server(
            ["service", "install", "--dry-run", "--"] + options, in: bed)
          #expect(refused.code == 2 && refused.standardError.contains("proxy"), "\(refused)")
        }
        for scope in [["--user", "--", "--port", "443"], ["--", "--port", "0"]] {
          let shown = try await server(["service", "install", "--dry-run"] + scope, in: bed)
          #expect(shown.isSuccess, "\(shown)")
        }
      }
    }

    /// The unit does not run in the folder of the user who writes it.
    @Test func filesOfServeAreNamedFromTheRootOn() async throws {
      try await TestBed.run { bed in
        try program("systemctl", "exit 0", in: bed)
        let options = ["--certificate", "chain.pem", "--key=key.pem"]
        let absent = try await server(
          ["service", "install", "--user", "--"] + options, in: bed)
        #expect(absent.code == 2 && absent.standardError.contains("chain.pem"), "\(absent)")
        #expect(!FileManager.default.fileExists(atPath: bed.path("config")))
        let shown = try await server(
          ["service", "install", "--user", "--dry-run", "--"] + options, in: bed)
        #expect(shown.standardOutput.contains(#/"--certificate" "/[^ ]*/chain.pem"/#), "\(shown)")
        #expect(shown.standardOutput.contains(#/"--key=/[^ ]*/key.pem"/#), "\(shown)")
      }
    }

    @Test func theMachinesServiceRunsNothingInAHome() async throws {
      try await TestBed.run { bed in
        try program("systemctl", "exit 1", in: bed)
        let refused = try await server(
          ["service", "install", "--program", "/home/ada/.local/bin/cospool-server"], in: bed)
        #expect(refused.code == 2 && refused.standardError.contains("--user"), "\(refused)")
      }
    }

    @Test func optionsThatServeWouldRefuseAreRefusedAtOnce() async throws {
      try await TestBed.run { bed in
        try program("systemctl", "exit 0", in: bed)
        for options in [
          ["--host", "0.0.0.0"], ["--port", "70000"], ["--unknown"], ["--data", "/x"], ["a\nb"],
          ["--url", "cospool.example.org"], ["--url", "wss://a b"],
          ["--url", "wss://a/b?c"], ["--url", "wss://me:password@a"],
          ["--url", "wss://a:99999"], ["--url", "wss://a;b"], ["--url", "wss://a'b"],
          ["--url", "wss://a%20b"],
        ] {
          let refused = try await server(["service", "install", "--user", "--"] + options, in: bed)
          #expect(refused.code == 2, "\(refused)")
        }
        let both = try await server(["service", "install", "--data", "/x"], in: bed)
        #expect(both.code == 2, "\(both)")
        #expect(!FileManager.default.fileExists(atPath: bed.path("config")))
        try program("systemctl", "echo 'Failed to connect to bus'; exit 1", in: bed)
        let absent = try await server(["service", "install", "--user"], in: bed)
        #expect(absent.code == 1 && absent.standardError.contains("bus"), "\(absent)")
        #expect(!FileManager.default.fileExists(atPath: bed.path("config")))
      }
    }

    /// `sudo cospool-server pair` must not leave files that the server cannot open.
    @Test func filesOfRootsCommandsBelongToTheServer() async throws {
      guard geteuid() == 0 else { return }
      try await TestBed.run { bed in
        let data = bed.path("data")
        try FileManager.default.createDirectory(
          atPath: data, withIntermediateDirectories: true,
          attributes: [.posixPermissions: 0o700])
        let nobody: uid_t = 65_534
        #expect(chown(data, nobody, nobody) == 0)
        #expect(chmod(bed.directory, 0o755) == 0)
        try await Server(bed, data: data).start()
        let granted = try await bed.run("cospool-server", ["pair", "--data", data])
        #expect(granted.isSuccess, "\(granted)")
        let files = try FileManager.default.contentsOfDirectory(atPath: data)
        #expect(files.contains("cospool.sqlite"))
        for file in files {
          let owner = try FileManager.default.attributesOfItem(atPath: data + "/" + file)
          #expect((owner[.ownerAccountID] as? NSNumber)?.uint32Value == nobody, "\(file)")
        }
      }
    }
  }
}
