import Foundation
import Operations
import Testing

@Suite struct HealthCheckTests {
  private typealias Check = HealthCheck<String>

  @Test func findingsComeInTheOrderOfTheChecks() async {
    let checks = (0..<20).map { number in
      Check.local("c\(number)") { [.ok("c\(number)", $0)] }
    }
    let findings = await Check.findings(of: checks, looking: "x", within: .seconds(60))
    #expect(findings.map(\.code) == (0..<20).map { "c\($0)" })
    #expect(findings.allSatisfy { $0.what == "x" })
  }

  @Test func aBusyServerIsNotAFaultOfItsProxy() throws {
    let address = try #require(DoctorAddress("ws://127.0.0.1:1"))
    let severities = [101, 400, 426, 502, 503].map {
      ServerProbe.upgradeFinding(status: $0, at: address).severity
    }
    #expect(severities == [.ok, .error, .error, .error, .warning])
  }

  @Test func anAddressHasAHostAndAPortThatThereAre() {
    for text in [
      "wss://a:99999", "wss://a:0", "wss://a;b", "wss://a'b", "wss://a b", "wss://a%20b",
    ] {
      #expect(DoctorAddress(text) == nil, "\(text)")
    }
    #expect(DoctorAddress("wss://a-1.example.org")?.port == 443)
    #expect(DoctorAddress("ws://[::1]:65535")?.hostField == "[::1]:65535")
  }

  /// Nothing answers at this address, as if something in front of the server blocked it.
  @Test func aWebSocketWithoutAnAnswerIsReported() async throws {
    let address = try #require(DoctorAddress("ws://127.0.0.1:1"))
    let finding = await ServerProbe(address: address, connectSeconds: 5).upgradeFinding()
    #expect(finding.code == "serverUpgrade" && finding.severity == .warning)
  }

  @Test func aCheckThatHangsIsNamedAndHoldsNothingUp() async {
    let checks = [
      Check(code: "hangs") { _ in
        // It waits until it is cancelled.
        try? await Task.sleep(for: .seconds(3_600))
        return []
      },
      Check.local("works") { [.ok("works", $0)] },
    ]
    let findings = await Check.findings(of: checks, looking: "x", within: .milliseconds(200))
    #expect(findings.first?.code == "hangs")
    #expect(findings.first?.severity == .warning)
    #expect(findings.last?.code == "works")
  }

  /// A peer that is asked and does not answer is at fault, however the connection was made.
  @Test func silenceIsAnError() async {
    let check = Check(code: "asks", late: .silence(of: "the server", fix: "restart it")) { _ in
      try? await Task.sleep(for: .seconds(3_600))
      return []
    }
    let findings = await Check.findings(of: [check], looking: "x", within: .milliseconds(200))
    #expect(findings.map(\.severity) == [.error])
    #expect(findings.first?.what == "the server did not answer within 0.2 seconds")
    #expect(findings.first?.fix == "restart it")
    #expect(DoctorReport(findings).isBad(strict: false))
  }

  @Test func repeatedChecksHaveTheRemainingTime() async throws {
    let path = NSTemporaryDirectory() + "cospool-again-" + UUID().uuidString
    defer { try? FileManager.default.removeItem(atPath: path) }
    #expect(FileManager.default.createFile(atPath: path, contents: nil))
    let wrong = DoctorFinding.error("a", "b", fix: "c", repair: .mode(path: path, bits: 0o600))
    var limits: [Duration] = []
    let report = await DoctorReport.looking(repairing: true, within: .milliseconds(1_500)) {
      limits.append($0)
      if limits.count == 1 { try? await Task.sleep(for: .seconds(1)) }
      return limits.count == 1 ? [wrong] : []
    }
    #expect(limits == [.milliseconds(1_500), .seconds(1)])
    #expect(report.repaired == ["b"] && report.findings.isEmpty)
  }

  private static let found: [DoctorFinding] = [
    .ok("a", "fine"), .warning("b", "odd\u{1B}[2J", fix: "look"), .error("c", "bad", fix: "mend"),
  ]

  @Test func theWorstIsFirst() {
    let text = DoctorReport(HealthCheckTests.found, repaired: ["d"]).text(
      showsAll: true, marked: \.rawValue
    ) { $0.filter { $0 != "\u{1B}" } }
    #expect(
      text == """
        corrected  d
        error    c: bad
                 mend
        warning  b: odd[2J
                 look
        ok       a: fine
        1 error, 1 warning, 0 info, 1 ok
        """)
  }

  @Test func theReportIsJSON() throws {
    let report = DoctorReport(HealthCheckTests.found)
    #expect(report.worst == .error)
    let json = try report.json()
    #expect(json.contains(#""worst":"error""#))
    #expect(json.contains(#""code":"c","fix":"mend","severity":"error","what":"bad""#))
    #expect(DoctorReport([]).worst == .ok)
  }

  @Test func aRepairTakesRightsFromOthers() throws {
    let path = NSTemporaryDirectory() + "cospool-repair-" + UUID().uuidString
    defer { try? FileManager.default.removeItem(atPath: path) }
    #expect(
      FileManager.default.createFile(
        atPath: path, contents: nil, attributes: [.posixPermissions: 0o644]))
    #expect(DoctorFinding.Repair.mode(path: path, bits: 0o600).done())
    let mode = try FileManager.default.attributesOfItem(atPath: path)[.posixPermissions]
    #expect((mode as? NSNumber)?.intValue == 0o600)
    #expect(!DoctorFinding.Repair.mode(path: path + ".none", bits: 0o600).done())
  }

  /// Anyone who may write to the folder may have replaced the file with a link since it was
  /// checked.
  @Test func aRepairFollowsNoLink() throws {
    let folder = NSTemporaryDirectory() + "cospool-repair-" + UUID().uuidString
    defer { try? FileManager.default.removeItem(atPath: folder) }
    try FileManager.default.createDirectory(
      atPath: folder, withIntermediateDirectories: false, attributes: [.posixPermissions: 0o755])
    func mode(_ name: String) throws -> Int? {
      let found = try FileManager.default.attributesOfItem(atPath: folder + name)
      return (found[.posixPermissions] as? NSNumber)?.intValue
    }
    #expect(
      FileManager.default.createFile(
        atPath: folder + "/foreign", contents: nil, attributes: [.posixPermissions: 0o644]))
    let link = folder + "/own"
    try FileManager.default.createSymbolicLink(
      atPath: link, withDestinationPath: folder + "/foreign")
    _ = DoctorFinding.Repair.mode(path: link, bits: 0o600).done()
    #expect(try mode("/foreign") == 0o644)
    #expect(OwnFile(at: link) == .other(what: "a symbolic link to \(folder)/foreign"))
    #expect(OwnFile(at: folder + "/foreign") == .file(rights: 0o644))
    #expect(OwnFile(at: folder) == .other(what: "a folder"))
    #expect(OwnFile(at: folder + "/none") == .absent)
    // The path of a data directory may be a link.
    let place = folder + "/place"
    try FileManager.default.createSymbolicLink(atPath: place, withDestinationPath: folder)
    #expect(DoctorFinding.Repair.mode(path: place + "/.", bits: 0o700).done())
    #expect(try mode("") == 0o700)
  }

  @Test func wordsOfUnitsAreQuoted() {
    #expect(UnitText.word(#"/a "b"/$HOME/100%\"#) == #""/a \"b\"/$$HOME/100%%\\""#)
    #expect(UnitText.canHold("ä b") && !UnitText.canHold("a\nb") && !UnitText.canHold("\u{7F}"))
  }
}
