import Foundation
import Testing

extension EndToEnd {
  /// With `--json`, the server's commands answer in the language of the device's: times are ISO 8601,
  /// a workspace's id has its name beside it, and errors are JSON.
  @Suite struct ServerLanguageTests {
    private static let commands: [[String]] = [
      ["pair", "--role", "viewer", "--expires", "30d"], ["devices"], ["status"], ["doctor"],
      ["log"],
      ["workspace", "list"], ["workspace", "show", "default"],
      ["workspace", "quota", "default", "--daily", "9"],
      ["workspace", "rename", "default", "team"],
      ["backup", "create"], ["backup", "list"], ["backup", "verify"], ["push", "targets"],
      ["revoke", "a"], ["workspace", "delete", "team", "--yes"],
    ]

    /// What of an answer is not said in the language, with its place.
    private static func faults(of value: Any, at place: String) -> [String] {
      if let list = value as? [Any] {
        return list.enumerated().flatMap { faults(of: $1, at: "\(place)[\($0)]") }
      }
      guard let fields = value as? [String: Any] else { return [] }
      var found = fields.flatMap { faults(of: $1, at: "\(place).\($0)") }
      for (name, value) in fields {
        if name == "at" || name.hasSuffix("At") || name.hasSuffix("Since") {
          let isTime = (value as? String)?.wholeMatch(
            of: #/\d{4}(-\d\d){2}T\d\d(:\d\d){2}\.\d{3}Z/#)
          if isTime == nil { found.append("\(place).\(name) is \(value)") }
        } else if let number = value as? Double, number > 1e12, name != "diskFree" {
          found.append("\(place).\(name) is \(value)")
        }
      }
      if fields["workspace"] is String, fields["workspaceName"] == nil {
        found.append("\(place) names a workspace by its id alone")
      }
      return found
    }

    @Test func everyCommandAnswersInOneLanguage() async throws {
      try await TestBed.run { bed in
        let server = try await bed.server()
        let a = try await bed.device("a", of: server)
        try await a.send("s", "text")
        try await a.synchronise()
        var times = 0
        for words in Self.commands {
          let folder = words[0] == "backup" ? ["--folder", bed.path("backups")] : []
          let output = try await server.command(words + folder + ["--json"])
          let answer = try JSONSerialization.jsonObject(with: Data(output.standardOutput.utf8))
          #expect(answer is [String: Any] && output.standardError.isEmpty, "\(output)")
          // The disk of the machine may be full.
          #expect(output.isSuccess || words == ["doctor"], "\(output)")
          #expect(Self.faults(of: answer, at: words.joined(separator: " ")) == [])
          times += output.standardOutput.matches(of: #/\dT\d\d:\d\d/#).count
        }
        #expect(times > 12)
      }
    }

    /// A rule that finds nothing holds nothing.
    @Test func anotherLanguageIsFound() throws {
      let text = #"""
        {"list": [{"pairedAt": 1772357400125, "at": "2026-03-01"}], "workspace": "id",
        "number": 1772357400125}
        """#
      let wrong = try JSONSerialization.jsonObject(with: Data(text.utf8))
      #expect(Self.faults(of: wrong, at: "wrong").count == 4)
    }

    private struct Refusal: Decodable {
      struct Fault: Decodable {
        var code: String
        var message: String
        var exitCode: Int32
      }
      var error: Fault
    }

    @Test func errorsAreJSONAsWell() async throws {
      try await TestBed.run { bed in
        let server = try await bed.server()
        _ = try await server.code()
        for (words, code, said) in [
          (["workspace", "show", "absent"], "failed", "absent"),
          (["pair", "--workspace", "other"], "usage", "--new"),
          (["pair", "--role", "king"], "usage", "viewer"),
          (["devices", "--limit", "1"], "usage", "--limit"),
          (["log", "--limit", "0"], "usage", "--limit"), (["workspace"], "usage", "--json"),
        ] {
          let output = try await server.command(words + ["--json"])
          let fault = try JSONDecoder().decode(
            Refusal.self, from: Data(output.standardError.utf8)
          ).error
          #expect(fault.code == code && fault.exitCode == output.code, "\(output)")
          #expect(fault.message.contains(said) && !fault.message.contains("Usage:"), "\(output)")
          #expect(output.standardOutput.isEmpty && output.code != 0, "\(output)")
        }
        try await server.stop()
        let late = try await server.command(["pair", "--json"])
        #expect(late.code == 4 && late.standardError.contains(#""code":"unreachable""#), "\(late)")
      }
    }
  }
}
