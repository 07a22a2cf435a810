import Foundation
import Testing

extension EndToEnd {
  /// Packages and units, made from the executables of the tests.
  @Suite struct PackagingTests {
    /// The files of an installation, which does not change files of others.
    @Test func anInstallationHasAllThatBelongsToIt() async throws {
      try await TestBed.run { bed in
        let root = bed.path("root")
        let other = root + "/opt/c/share/other"
        try FileManager.default.createDirectory(
          atPath: root + "/opt/c/share", withIntermediateDirectories: true)
        try "other".write(toFile: other, atomically: true, encoding: .utf8)
        try FileManager.default.setAttributes([.posixPermissions: 0o600], ofItemAtPath: other)
        for package in ["cospool", "cospool-server"] {
          let output = try await run("stage.sh", [package, root, "/opt/c"], in: bed)
          #expect(output.isSuccess, "\(output)")
        }
        for file in [
          "bin/cospool", "bin/cospoold", "bin/cospool-server",
          "share/man/man1/cospool-setup.1.gz", "share/man/man1/cospoold.1.gz",
          "share/man/man1/cospool-server-service-install.1.gz",
          "share/bash-completion/completions/cospool",
          "share/bash-completion/completions/cospool-server",
          "share/zsh/site-functions/_cospoold", "share/fish/vendor_completions.d/cospool.fish",
          "share/doc/cospool/LICENSE", "share/doc/cospool/third-party-licences.txt",
          "share/doc/cospool-server/cospool-server.spdx.json",
          "lib/systemd/user/cospoold.service", "lib/systemd/system/cospool-server.service",
          "lib/systemd/system/cospool-backup.service", "lib/systemd/system/cospool-backup.timer",
        ] {
          let attributes = try FileManager.default.attributesOfItem(atPath: "\(root)/opt/c/\(file)")
          let mode = (attributes[.posixPermissions] as? NSNumber)?.intValue
          #expect(mode == (file.hasPrefix("bin/") ? 0o755 : 0o644), "\(file)")
          #expect((attributes[.size] as? NSNumber)?.intValue ?? 0 > 20, "\(file)")
          #expect(attributes[.modificationDate] as? Date == Date(timeIntervalSince1970: 1e9))
        }
        let kept = try FileManager.default.attributesOfItem(atPath: other)
        #expect((kept[.posixPermissions] as? NSNumber)?.intValue == 0o600)
        for unit in ["user/cospoold", "system/cospool-server", "system/cospool-backup"] {
          let text = try String(
            contentsOfFile: "\(root)/opt/c/lib/systemd/\(unit).service", encoding: .utf8)
          #expect(text.contains("/opt/c/bin/") && !text.contains("/usr/bin/"), "\(text)")
        }
        for prefix in ["/opt/my dir", "/opt/a&b", "/opt/a|b", "opt"] {
          let refused = try await run("stage.sh", ["cospool", root, prefix], in: bed)
          #expect(refused.code == 2 && refused.standardError.contains("PREFIX"), "\(refused)")
        }
        let list = try Data(
          contentsOf: URL(filePath: root + "/opt/c/share/doc/cospool/cospool.spdx.json"))
        let document = try JSONDecoder().decode(PartsList.self, from: list)
        #expect(document.spdxVersion == "SPDX-2.3")
        let names = Set(document.packages.map(\.name))
        #expect(names.isSuperset(of: ["cospool", "swift-runtime", "swift-nio", "grdb.swift"]))
        #expect(document.packages.allSatisfy { $0.licenseDeclared != "NOASSERTION" }, "\(document)")
      }
    }

    private struct PartsList: Decodable {
      struct Part: Decodable {
        var name: String
        var licenseDeclared: String
      }
      var spdxVersion: String
      var packages: [Part]
    }

    /// systemd finds no fault in the units, and little that the server's unit leaves open.
    @Test func unitsAreAcceptedAndTheServersIsConfined() async throws {
      guard FileManager.default.isExecutableFile(atPath: "/usr/bin/systemd-analyze") else { return }
      try await TestBed.run { bed in
        let server = try Executables.path(of: "cospool-server")
        for scope in [[], ["--user"]] {
          let path = bed.path("cospool-server.service")
          let written = try await bed.run(
            "cospool-server",
            ["service", "install", "--dry-run", "--program", server] + scope
              + ["--", "--host", "10.0.0.5"]
          ).succeeded().standardOutput
          #expect(written.contains(#""--host" "10.0.0.5""#))
          try written.write(toFile: path, atomically: true, encoding: .utf8)
          let verified = try await analyze(["verify", "--man=no", path], in: bed)
          #expect(
            verified.isSuccess && !verified.description.contains(".service:"), "\(verified)")
          guard scope.isEmpty else { continue }
          let exposure = try await analyze(
            ["security", "--offline=true", "--threshold=20", "--no-pager", path], in: bed)
          #expect(exposure.isSuccess, "\(exposure)")
        }
      }
    }

    /// The command after a backup runs a foreign program with the server's account: it has no more
    /// permissions than the server.
    @Test func backupsAreConfinedAsTheServerIs() async throws {
      let folder = Executables.root.appending(path: "Server/Packaging")
      let unit = try String(
        contentsOf: folder.appending(path: "cospool-backup.service"), encoding: .utf8)
      let timer = try String(
        contentsOf: folder.appending(path: "cospool-backup.timer"), encoding: .utf8)
      try await TestBed.run { bed in
        let server = try await bed.run("cospool-server", ["service", "install", "--dry-run"])
          .succeeded().standardOutput
        #expect(server.contains("\nMemoryMax="))
        let lines = Set(unit.split(separator: "\n"))
        let confinement = try #require(server.firstRange(of: "\nUser="))
        let words = server[confinement.lowerBound...].prefix { $0 != "[" }.split(separator: "\n")
        #expect(words.count > 25)
        for word in words where !word.hasPrefix("StateDirectory=") {
          #expect(lines.contains(word), "\(word)")
        }
        #expect(unit.contains("\nStateDirectory=cospool-server cospool-backup\n"))
        // Only a user starts it.
        #expect(!unit.contains("[Install]") && timer.contains("\nWantedBy=timers.target\n"))
        let start = try #require(lines.first { $0.hasPrefix("ExecStart=") })
        for name in ["COSPOOL_BACKUP_THEN", "COSPOOL_BACKUP_OPTIONS"] {
          #expect(start.contains(name))
        }
        guard FileManager.default.isExecutableFile(atPath: "/usr/bin/systemd-analyze") else {
          return
        }
        let path = bed.path("cospool-backup.service")
        try unit.replacing("/usr/bin/", with: "\(try Executables.path(of: "cospool-server"))#")
          .replacing("#cospool-server", with: "").write(
            toFile: path, atomically: true, encoding: .utf8)
        try timer.write(
          toFile: bed.path("cospool-backup.timer"), atomically: true, encoding: .utf8)
        for file in [path, bed.path("cospool-backup.timer")] {
          let verified = try await analyze(["verify", "--man=no", file], in: bed)
          #expect(
            verified.isSuccess && !verified.description.contains(".service:"), "\(verified)")
        }
        let exposure = try await analyze(
          ["security", "--offline=true", "--threshold=20", "--no-pager", path], in: bed)
        #expect(exposure.isSuccess, "\(exposure)")
      }
    }

    private func analyze(_ words: [String], in bed: TestBed) async throws -> Output {
      let process = try bed.launch("/usr/bin/systemd-analyze", words, name: "systemd-analyze")
      return try await bed.finish(process, words)
    }

    /// The unit in the package of the device, and the one that `cospool service install` writes.
    @Test func bothUnitsOfTheDaemonAgree() async throws {
      try await TestBed.run { bed in
        let packaged = try String(
          contentsOf: Executables.root.appending(path: "Client/Packaging/cospoold.service"),
          encoding: .utf8)
        let own = try await bed.run("cospool", ["service", "install", "--dry-run"])
          .succeeded().standardOutput
        func directives(_ text: String) -> [String] {
          text.split(separator: "\n").map(String.init).filter {
            !$0.hasPrefix("#") && !$0.hasPrefix("ExecStart=") && !$0.hasPrefix("Environment=")
          }
        }
        #expect(directives(packaged) == directives(own))
      }
    }

    /// The commands of the image and of compose.yaml exist: `make dist-check` runs them in the
    /// image's root.
    @Test func containersStartWhatTheServerTakes() async throws {
      try await TestBed.run { bed in
        let folder = Executables.root.appending(path: "Server/Packaging")
        func text(_ name: String) throws -> String {
          try String(contentsOf: folder.appending(path: name), encoding: .utf8)
        }
        func words(_ kind: String) async throws -> [String] {
          let script = Executables.root.appending(path: "Tests/Scripts/image_words.py").path
          let process = try bed.launch("/usr/bin/env", ["python3", script, kind], name: kind)
          return try await bed.finish(process, [kind]).succeeded().standardOutput
            .split(separator: "\n").map(String.init)
        }
        let program = "/usr/bin/cospool-server"
        #expect(try await words("entrypoint") == [program])
        #expect(try await words("health") == [program, "health"])
        #expect(try await bed.run("cospool-server", ["health", "--help"]).isSuccess)
        // Only the configuration behind a proxy listens unencrypted on all addresses, never the
        // default.
        #expect(try await words("command") == ["serve"])
        for kind in ["command", "compose"] {
          let command = try await words(kind)
          #expect(command.first == "serve")
          let checked = try await bed.run(
            "cospool-server",
            ["service", "install", "--user", "--dry-run", "--"] + command.dropFirst())
          #expect(checked.isSuccess, "\(kind): \(checked)")
        }
        // Caddy connects to the port inside the container, which is fixed.
        #expect(try text("Caddyfile").contains("{$COSPOOL_HOST} {\n\treverse_proxy server:7420\n"))
        #expect(try text("Dockerfile").contains("EXPOSE 7420\n"))
        let compose = try text("compose.yaml")
        #expect(compose.contains("\n  server:\n") && !compose.contains("--port"))
        let help = try await bed.run("cospool-server", ["serve", "--help"])
        #expect(help.standardOutput.contains("7420"), "\(help)")
      }
    }

    /// A served release is checked and unpacked; a damaged one is not.
    @Test func theInstallerChecksWhatItInstalls() async throws {
      guard ["/usr/bin/curl", "/usr/bin/xz"].allSatisfy(FileManager.default.isExecutableFile) else {
        return
      }
      try await TestBed.run { bed in
        let made = try await run("dist.sh", [], in: bed)
        #expect(made.isSuccess, "\(made)")
        let words = [bed.path("out/install.sh"), "--from", "file://\(bed.path("out"))"]
        let target = ["--prefix", bed.path("target")]
        func install(_ more: [String]) async throws -> Output {
          let process = try bed.launch("/bin/sh", words + more, name: "install.sh")
          return try await bed.finish(process, words + more)
        }
        let said = try await install(target + ["--dry-run"])
        #expect(said.isSuccess && said.standardOutput.contains("would run"), "\(said)")
        #expect(said.standardOutput.hasSuffix("next: \(bed.path("target/bin/cospool")) setup\n"))
        #expect(!FileManager.default.fileExists(atPath: bed.path("target")))
        // Whatever root's umask is, others can run the installed programs.
        let closed = ["-c", "umask 077; exec sh \"$@\"", "sh"] + words + target + ["--server"]
        let done = try await bed.finish(
          try bed.launch("/bin/sh", closed, name: "install.sh"), closed)
        #expect(done.isSuccess, "\(done)")
        for file in ["bin", "bin/cospool-server", "share/doc", "share/man/man1"] {
          let attributes = try FileManager.default.attributesOfItem(
            atPath: bed.path("target/\(file)"))
          #expect((attributes[.posixPermissions] as? NSNumber)?.intValue == 0o755, "\(file)")
        }
        let version = try bed.launch(
          bed.path("target/bin/cospool-server"), ["--version"], name: "installed")
        #expect(try await bed.finish(version, []).isSuccess)

        // A running one is replaced, and continues.
        let serving = try bed.launch(
          bed.path("target/bin/cospool-server"),
          ["serve", "--port", "0", "--data", bed.path("data")], name: "serving")
        _ = try await serving.line(holding: "listening on")
        let again = try await install(target + ["--server"])
        #expect(again.isSuccess && serving.exit == nil, "\(again)")
        serving.send(SIGTERM)
        #expect(try await serving.ended() == .code(0))

        // The available version against the installed one.
        func check(_ prefix: String) async throws -> Output {
          try await install(["--prefix", bed.path(prefix), "--server", "--check"])
        }
        let none = try await check("elsewhere")
        #expect(none.code == 1 && none.standardError.contains("is not installed in"), "\(none)")
        let same = try await check("target")
        #expect(same.code == 0 && same.standardOutput.contains("is installed"), "\(same)")
        let sums = bed.path("out/SHA256SUMS")
        let known = try String(contentsOfFile: sums, encoding: .utf8)
        try known.replacing("cospool-server-", with: "cospool-server-1000.")
          .write(toFile: sums, atomically: true, encoding: .utf8)
        #expect(try await check("target").code == 10)
        try known.write(toFile: sums, atomically: true, encoding: .utf8)

        let files = try FileManager.default.contentsOfDirectory(atPath: bed.path("out"))
        let archive = try #require(files.first { $0.hasPrefix("cospool-server-") })
        let handle = try FileHandle(forWritingTo: URL(filePath: bed.path("out/\(archive)")))
        try handle.seek(toOffset: 1_000)
        try handle.write(contentsOf: Data("damaged".utf8))
        try handle.close()
        try FileManager.default.removeItem(atPath: bed.path("target"))
        let refused = try await install(target + ["--server"])
        #expect(refused.code == 1, "\(refused)")
        #expect(refused.standardError.contains("nothing was installed"), "\(refused)")
        #expect(!FileManager.default.fileExists(atPath: bed.path("target")))
        #expect(try await install(["--unknown"]).code == 2)
      }
    }

    @Test func scriptsAreWellFormed() async throws {
      try await TestBed.run { bed in
        let folders = ["Client/Packaging", "Server/Packaging", "Server/Packaging/debian"]
        var scripts: [String] = []
        for folder in folders {
          let base = Executables.root.appending(path: folder).path
          for file in try FileManager.default.contentsOfDirectory(atPath: base) {
            let text = try? String(contentsOfFile: "\(base)/\(file)", encoding: .utf8)
            if text?.hasPrefix("#!/bin/sh") == true { scripts.append("\(base)/\(file)") }
          }
        }
        #expect(scripts.count == 5)
        for script in scripts {
          let process = try bed.launch("/bin/sh", ["-n", script], name: script)
          let output = try await bed.finish(process, [])
          #expect(output.isSuccess, "\(output)")
        }
        let lines = try String(
          contentsOf: Executables.root.appending(path: "Client/Packaging/install.sh"),
          encoding: .utf8
        ).split(separator: "\n", omittingEmptySubsequences: false)
        #expect(lines.count <= 180)
      }
    }

    private func run(_ name: String, _ arguments: [String], in bed: TestBed) async throws -> Output
    {
      let bin = URL(filePath: try Executables.path(of: "cospool")).deletingLastPathComponent()
      let script = Executables.root.appending(path: "Tests/Scripts/\(name)").path
      let checkouts = Executables.root.appending(path: ".build/checkouts").path
      let process = try bed.launch(
        "/bin/bash", [script] + arguments, name: name,
        environment: [
          "BIN": bin.path, "CHECKOUTS": checkouts, "OUT": bed.path("out"), "XZ_LEVEL": "0",
          "SOURCE_DATE_EPOCH": "1000000000", "SWIFT_VERSION": "6",
        ])
      return try await bed.finish(process, arguments, within: 300)
    }
  }
}
