import Foundation
import Testing

extension EndToEnd {
  /// Refusals of devices; a refusal never costs local data.
  @Suite struct AccessTests {
    @Test func wrongTokenIsRefusedAndTheOutboxWaits() async throws {
      try await TestBed.run { bed in
        let server = try await bed.server()
        let (a, b) = (
          try await bed.device("a", of: server), try await bed.device("b", of: server)
        )
        try await a.send("s", "before")
        try await bed.agreement(a, b)
        try await a.stop()
        let right = try Credentials.read(a)
        try Credentials.write(right.with("token", changedIn: right), to: a)

        try await a.start()
        try await refused(a, ["unauthorized"], in: bed)
        try await a.send("s", "written while refused")
        #expect(try await a.contents("s") == ["before", "written while refused"])
        #expect(try await a.attempt("sync", "wait", "--timeout", "10").code == 3)
        #expect(try await a.status().outgoing > 0)

        try await a.stop()
        try Credentials.write(right, to: a)
        try await a.start()
        try await bed.agreement(a, b)
        #expect(try await b.contents("s") == ["before", "written while refused"])
      }
    }

    @Test func revokedDeviceIsCutOffWithinFiveSeconds() async throws {
      try await TestBed.run { bed in
        let server = try await bed.server()
        let (a, b) = (
          try await bed.device("a", of: server), try await bed.device("b", of: server)
        )
        try await a.send("s", "before")
        try await bed.agreement(a, b)
        // What it made before it could know stays, and is sent when it is paired again.
        try await a.cospool("sync", "off")
        try await a.send("s", "kept here")
        let device = try await a.status().device
        let listed = try await server.command(["devices", "--json"]).succeeded()
        #expect(listed.standardOutput.contains(device))
        _ = try await server.command(["revoke", device]).succeeded()
        try await a.cospool("sync", "on")
        try await bed.eventually("the live connection is refused", within: 60) {
          try await a.status().state == "refused"
        }
        #expect(try await a.status().refusalCode == "revoked")
        #expect(try await a.cospool("status").contains("to pair it again: cospool pair URL CODE"))
        for command in [
          ["send", "-s", "s", "lost"], ["queue", "pause", "-s", "s"], ["session", "delete", "s"],
        ] {
          let refused = try await a.attempt(command)
          #expect(refused.code == 3, "\(refused)")
          #expect(refused.standardError.contains("cospool pair URL CODE"), "\(refused)")
        }
        try await b.send("s", "not for a")
        try await b.synchronise()
        #expect(try await a.contents("s") == ["before", "kept here"])
        #expect(try await a.attempt("sync", "wait", "--timeout", "10").code == 3)
        // Pairing again restores it, with everything that it kept.
        try await a.pair(with: server)
        try await bed.agreement(a, b)
        #expect(Set(try await b.contents("s")) == ["before", "kept here", "not for a"])
      }
    }

    /// Root may set socket options that other accounts may not, and a device seldom runs as root.
    @Test func aDeviceOfAnOrdinaryAccountConnects() async throws {
      let setpriv = "/usr/bin/setpriv"
      guard geteuid() == 0, FileManager.default.isExecutableFile(atPath: setpriv) else { return }
      try await TestBed.run { bed in
        let server = try await bed.server()
        let home = bed.path("home")
        try FileManager.default.createDirectory(atPath: home, withIntermediateDirectories: true)
        #expect(chown(home, 65_534, 65_534) == 0 && chmod(bed.directory, 0o755) == 0)
        func launch(_ program: String, _ arguments: [String]) throws -> ChildProcess {
          let account = ["--reuid", "65534", "--regid", "65534", "--clear-groups"]
          return try bed.launch(
            setpriv, account + [try Executables.path(of: program)] + arguments, name: program,
            environment: ["HOME": home])
        }
        // The executables may be in a folder that only root can access.
        let reached = try await bed.finish(try launch("cospoold", ["--version"]), [])
        guard reached.isSuccess else { return }
        let other = bed.path("of root")
        #expect(mkdir(other, 0o755) == 0)
        let words = ["init", "--data", other]
        let refused = try await bed.finish(try launch("cospool", words), words)
        #expect(
          refused.code == 7 && refused.standardError.contains("Permission denied"), "\(refused)")
        let daemon = try launch("cospoold", [])
        _ = try await daemon.line(holding: "ready on")
        for arguments in [
          ["pair", server.url, try await server.code()], ["sync", "wait", "--timeout", "60"],
        ] {
          let output = try await bed.finish(try launch("cospool", arguments), arguments)
          #expect(output.isSuccess, "\(output)")
        }
      }
    }

    @Test func codesDieAfterWrongGuesses() async throws {
      try await TestBed.run { bed in
        let server = try await bed.server()
        let a = Device(bed, "a")
        try await a.start()
        try await a.send("s", "local")
        let code = try await server.code()
        for guess in Self.wrongCodes(5, besides: code) {
          let output = try await a.attempt("pair", server.url, guess)
          #expect(output.code == 3, "\(output)")
        }
        let sixth = try await a.attempt("pair", server.url, Self.wrongCodes(6, besides: code)[5])
        #expect([3, 75].contains(sixth.code), "\(sixth)")
        #expect(sixth.standardError.lowercased().contains("too many"), "\(sixth)")
        // The code itself has ended now.
        let right = try await a.attempt("pair", server.url, code)
        #expect([3, 75].contains(right.code), "\(right)")
        #expect(try await a.status().state == "notPaired")
        #expect(try await a.contents("s") == ["local"])
      }
    }

    @Test func codesWorkOnce() async throws {
      try await TestBed.run { bed in
        let server = try await bed.server()
        let code = try await server.code()
        let (a, b) = (Device(bed, "a"), Device(bed, "b"))
        try await a.start()
        try await b.start()
        // As a user types it: lower case, without the dash.
        let typed = code.lowercased().replacing("-", with: "")
        try await a.pair(url: server.url, code: typed)
        let second = try await b.attempt("pair", server.url, code)
        #expect(second.code == 3, "\(second)")
      }
    }

    @Test func workspacesDoNotSeeEachOther() async throws {
      try await TestBed.run { bed in
        let server = try await bed.server()
        let mine = try await bed.device("a", of: server, workspace: "mine")
        let other = try await bed.device("b", of: server, workspace: "other")
        try await mine.send("s", "mine")
        try await other.send("s", "theirs")
        try await mine.synchronise()
        try await other.synchronise()
        #expect(try await mine.contents("s") == ["mine"])
        #expect(try await other.contents("s") == ["theirs"])

        // A device that asks for the other workspace with its own token.
        let own = try Credentials.read(other)
        let wanted = try Credentials.read(mine)
        try await other.stop()
        try Credentials.write(own.with("workspace", of: wanted), to: other)
        try await other.start()
        try await refused(other, ["wrongWorkspace", "unauthorized"], in: bed)
        #expect(try await other.contents("s") == ["theirs"])
        try await other.send("s", "kept")
        #expect(try await other.contents("s") == ["theirs", "kept"])
        try await mine.synchronise()
        #expect(try await mine.contents("s") == ["mine"])
      }
    }

    private func refused(_ device: Device, _ codes: [String], in bed: TestBed) async throws {
      try await bed.eventually("\(device.name) is refused") {
        try await device.status().state == "refused"
      }
      let status = try await device.status()
      #expect(codes.contains(status.refusalCode ?? ""), "\(status)")
    }

    private static func wrongCodes(_ count: Int, besides right: String) -> [String] {
      let letters = Array("BCDFGHJKLM")
      return letters.map { String(repeating: $0, count: 4) + "-" + String(repeating: $0, count: 4) }
        .filter { $0 != right }.prefix(count).map { $0 }
    }
  }
}

/// `credentials.json` as plain values.
struct Credentials {
  var values: [String: String]

  static func read(_ device: Device) throws -> Credentials {
    let data = try Data(contentsOf: URL(filePath: device.credentials))
    return Credentials(values: try JSONDecoder().decode([String: String].self, from: data))
  }

  static func write(_ credentials: Credentials, to device: Device) throws {
    try JSONEncoder().encode(credentials.values).write(to: URL(filePath: device.credentials))
  }

  /// With another value, of the same form, under `key`.
  func with(_ key: String, changedIn other: Credentials) throws -> Credentials {
    var changed = self
    let old = try #require(other.values[key])
    changed.values[key] = old.replacing(#/[0-9a-fA-F]/#) { $0.output == "0" ? "1" : "0" }
    #expect(changed.values[key] != old)
    return changed
  }

  func with(_ key: String, of other: Credentials) throws -> Credentials {
    var changed = self
    let value = try #require(other.values[key])
    changed.values[key] = value
    return changed
  }
}
