import Foundation
import LocalAPI
import Testing

@testable import SyncCommand

/// Settings files of agents: Cospool's hooks are added and removed, and everything else keeps its
/// bytes.
@Suite struct HookSettingsTests {
  private static let handlers = [
    (event: "Stop", command: "/usr/bin/cospool hook --timeout 5", timeout: 10),
    (event: "PreToolUse", command: "/usr/bin/cospool hook --timeout 5", timeout: 10),
  ]

  private func installed(_ text: String) throws -> String {
    var settings = try HookSettings(Array(text.utf8))
    try settings.install(Self.handlers)
    return String(decoding: settings.bytes, as: UTF8.self)
  }

  private func uninstalled(_ text: String) throws -> String {
    var settings = try HookSettings(Array(text.utf8))
    try settings.uninstall()
    return String(decoding: settings.bytes, as: UTF8.self)
  }

  private static let others = """
    {
        "model": "opus",  "odd" : [1,2 ,3.50e+2],
        "hooks": {
            "Stop": [
                {
                    "matcher": "",
                    "hooks": [ { "type": "command", "command": "say done" } ]
                }
            ],
            "PostToolUse": [{"matcher": "Edit|Write", "hooks": [{"type": "command", "command": "fmt \\"$f\\" \\u00e9"}]}]
        },
        "permissions": { "allow": ["Bash(ls:*)"] }
    }

    """

  @Test func aNewFileIsWrittenAsAPersonWould() throws {
    let text = try installed("")
    #expect(
      text == """
        {
          "hooks": {
            "Stop": [
              {
                "hooks": [
                  {"type": "command", "command": "/usr/bin/cospool hook --timeout 5", "timeout": 10}
                ]
              }
            ],
            "PreToolUse": [
              {
                "hooks": [
                  {"type": "command", "command": "/usr/bin/cospool hook --timeout 5", "timeout": 10}
                ]
              }
            ]
          }
        }

        """)
    let object = try JSONSerialization.jsonObject(with: Data(text.utf8))
    #expect((object as? [String: Any])?.keys.sorted() == ["hooks"])
    #expect(try uninstalled(text) == "{}\n")
  }

  @Test(arguments: [
    others, "{}", "{ }\n", #"{"a":1}"#, #"{"a":1,"hooks":{"Stop":[{"hooks":[{"command":"x"}]}]}}"#,
    "{\n\t\"a\": {\n\t\t\"b\": []\n\t}\n}", "{\r\n  \"a\": 1\r\n}\r\n",
    #"{"hooks": {"Stop" : [ {"hooks" : [ {"command" : "x"} ]} , {"hooks":[]} ]}}"#,
  ])
  func puttingInAndTakingOutGivesTheSameBytes(_ text: String) throws {
    let with = try installed(text)
    #expect(with != text)
    _ = try JSONSerialization.jsonObject(with: Data(with.utf8))
    // A second time changes nothing.
    #expect(try installed(with) == with)
    let back = try uninstalled(with)
    #expect(back == (text == "{ }\n" ? "{}\n" : text))
  }

  @Test func everythingElseKeepsItsBytes() throws {
    let with = try installed(Self.others)
    // The addition is one piece after existing text; the rest of the text is unchanged.
    var rest = Self.others[...]
    for line in with.split(separator: "\n", omittingEmptySubsequences: false) {
      guard let found = rest.range(of: line) else { continue }
      if rest[..<found.lowerBound].allSatisfy({ $0.isWhitespace || $0 == "\n" }) {
        rest = rest[found.upperBound...]
      }
    }
    #expect(try HookSettings(Array(with.utf8)).installed.map(\.event) == ["Stop", "PreToolUse"])
    #expect(with.contains("\"odd\" : [1,2 ,3.50e+2]"))
    #expect(with.contains(#""command": "fmt \"$f\" \u00e9""#))
    #expect(with.contains("say done"))
  }

  @Test func olderEntriesAreReplacedWhereverTheyAre() throws {
    let text = """
      {"hooks":{"Stop":[{"hooks":[{"command":"a"},{"command":"'/opt/old path/cospool' hook"},{"command":"b"}]}],
      "Gone":[{"hooks":[{"command":"cospool hook"}]}],"PreToolUse":[{"hooks":[{"command":"env X=1 cospool hook"}]},{"hooks":[{"command":"c"}]}]}}
      """
    let with = try installed(text)
    let settings = try HookSettings(Array(with.utf8))
    #expect(settings.installed.map(\.event) == ["Stop", "PreToolUse"])
    #expect(settings.installed.allSatisfy { $0.command == "/usr/bin/cospool hook --timeout 5" })
    #expect(!with.contains("Gone") && !with.contains("old path"))
    for other in ["\"a\"", "\"b\"", "\"c\""] { #expect(with.contains(other)) }
  }

  @Test func onlyOwnCommandsCount() {
    for own in [
      "cospool hook", "/usr/bin/cospool hook --feed", "'/opt/a/cospool' hook", "X=1 cospool hook",
      "'/opt/my tools/cospool' hook --timeout 5", "env A='b c' cospool --data '/my data' hook",
      "cospool --json --data=/d hook",
    ] { #expect(HookSettings.isOwn(own), "\(own)") }
    for other in [
      "", "cospool", "hook", "mycospool hook", "cospool-hook", "notify cospool", "hook cospool",
      "git hook run", "git -C ~/src/cospool hook run pre-commit", "make -C /srv/cospool hook",
      "npm --prefix ~/cospool run hook", "cospool queue list -s hook", "echo 'cospool hook'",
    ] { #expect(!HookSettings.isOwn(other), "\(other)") }
  }

  @Test(arguments: [
    ("{\n  \"a\": 1,\n}", 3), ("[]", 1), ("{\n// comment\n}", 2), ("{\"a\":1}{}", 1),
    ("{\n\n\"hooks\": []}", 3), ("{\"hooks\":{\n\"Stop\": {}}}", 2), ("{\"a\": 01}", 1),
    ("{\"a\":1,\n\"a\":2}", 2), ("{\"a\": \"\n\"}", 1), ("{\"a\": \"\\ud800\"}", 1), ("nul", 1),
  ])
  func invalidSettingsFilesAreRefusedWithTheirLine(_ text: String, _ line: Int) {
    #expect {
      _ = try HookSettings(Array(text.utf8))
    } throws: { error in
      (error as? HookSettings.Fault)?.line == line
    }
  }

  @Test func bytesThatAreNotTextAreRefused() {
    #expect(throws: HookSettings.Fault.self) {
      _ = try HookSettings(Array("{\"a\": \"".utf8) + [0xFF] + Array("\"}".utf8))
    }
    let deep = String(repeating: "[", count: 10_000)
    #expect(throws: HookSettings.Fault.self) {
      _ = try HookSettings(Array("{\"a\": \(deep)".utf8))
    }
  }

  /// Agents and users write the file, too, between its being read and written.
  @Test func changesWrittenMeanwhileAreKept() throws {
    let path = "/tmp/csp-settings-\(UInt32.random(in: .min ... .max)).json"
    defer {
      for name in [path, path + HookFile.backupSuffix] {
        try? FileManager.default.removeItem(atPath: name)
      }
    }
    try Data("{}\n".utf8).write(to: URL(filePath: path))
    var rounds = 0
    let change = try HookFile(path: path).change { settings in
      rounds += 1
      if rounds == 1 { try Data(Self.others.utf8).write(to: URL(filePath: path)) }
      try settings.install(Self.handlers)
    }
    #expect(rounds == 2 && change.isWritten)
    let text = try String(contentsOfFile: path, encoding: .utf8)
    #expect(text == (try installed(Self.others)))
    let copy = try String(contentsOfFile: path + HookFile.backupSuffix, encoding: .utf8)
    #expect(copy == Self.others)
  }

  @Test func aFileThatCannotBeReadIsNotToldAsOneToWrite() throws {
    let path = "/tmp/csp-settings-\(UInt32.random(in: .min ... .max)).json"
    try FileManager.default.createDirectory(atPath: path, withIntermediateDirectories: false)
    defer { try? FileManager.default.removeItem(atPath: path) }
    let failure = #expect(throws: CommandFailure.self) { try HookFile(path: path).settings() }
    #expect(failure?.code == "unreadableFile" && failure?.exitCode == 1)
    #expect(failure?.message == "\(path) cannot be read: Is a directory.")
    #expect(
      CommandFailure.unreadable("/x", because: POSIXError(.EACCES)).message
        == "/x cannot be read: Permission denied. Give yourself permission to read it.")
  }

  /// Like the links of a program that keeps settings in a repository.
  @Test func aReadOnlyFileIsNotChanged() throws {
    let path = "/tmp/csp-settings-\(UInt32.random(in: .min ... .max)).json"
    try Data("{}\n".utf8).write(to: URL(filePath: path))
    defer { try? FileManager.default.removeItem(atPath: path) }
    try FileManager.default.setAttributes([.posixPermissions: 0o444], ofItemAtPath: path)
    let failure = #expect(throws: CommandFailure.self) {
      try HookFile(path: path).change { try $0.install(Self.handlers) }
    }
    #expect(failure?.code == "unwritableFile" && failure?.message.contains("permission") == true)
    #expect(try String(contentsOfFile: path, encoding: .utf8) == "{}\n")
    #expect(!FileManager.default.fileExists(atPath: path + HookFile.backupSuffix))
  }

  @Test func aFileThatKeepsChangingIsNotChanged() throws {
    let path = "/tmp/csp-settings-\(UInt32.random(in: .min ... .max)).json"
    defer {
      for name in [path, path + HookFile.backupSuffix] {
        try? FileManager.default.removeItem(atPath: name)
      }
    }
    var rounds = 0
    #expect {
      try HookFile(path: path).change { settings in
        rounds += 1
        try Data("{\"round\": \(rounds)}".utf8).write(to: URL(filePath: path))
        try settings.install(Self.handlers)
      }
    } throws: { error in
      (error as? CommandFailure)?.message.contains("keeps changing") == true
    }
    #expect(try String(contentsOfFile: path, encoding: .utf8) == "{\"round\": \(rounds)}")
  }
}
