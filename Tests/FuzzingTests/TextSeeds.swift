import AgentFormats
import Basics
import Fuzzing
import NetworkAddresses
import QueueModel
import ServerCore

/// Seeds that users could have typed.
enum TextSeeds {
  static func seeds(of target: FuzzTarget) -> [FuzzFiles.Input] {
    switch target {
    case .json: texts.map { FuzzFiles.Input(name: $0, bytes: Array($1.utf8)) }
    case .requests:
      requests.map { FuzzFiles.Input(name: $0, bytes: Array("\($0)\n\($1)".utf8)) }
    case .addresses:
      addresses.enumerated().map { index, text in
        FuzzFiles.Input(name: "address-\(index)", bytes: Array(text.utf8))
      }
    case .codes:
      codes.enumerated().map { index, text in
        FuzzFiles.Input(name: "code-\(index)", bytes: Array(text.utf8))
      }
    case .inputs: inputs.map { FuzzFiles.Input(name: $0, bytes: Array($1.utf8)) }
    case .tasks: tasks.map { FuzzFiles.Input(name: $0, bytes: Array($1.utf8)) }
    case .deltas, .snapshots, .frames, .envelopes, .sequences: []
    }
  }

  static func isTaken(_ bytes: [UInt8], by target: FuzzTarget) -> Bool {
    switch target {
    case .json: (try? JSONReader.read(bytes)) != nil
    case .requests: (try? RequestTarget.decoded(bytes)).flatMap { $0 } != nil
    case .codes: PairingCode(typed: String(decoding: bytes, as: UTF8.self)) != nil
    case .inputs: JSONTree(bytes, isShown: true) != nil
    case .tasks: TaskTarget.parts(of: bytes).task.status.request != nil
    default:
      AddressRange(String(decoding: bytes, as: UTF8.self)) != nil
        || bytes.contains(UInt8(ascii: ","))
    }
  }

  private static let texts = [
    ("settings", #"{ "agent" : "claude",   "hosts" : "ask", "agentTimeout" : 600 }"#),
    ("escapes", #"{"text": "a\u00e9\ud83d\ude00\"\\\/\b\f\n\r\t", "b": [true, false, null]}"#),
    ("numbers", "[0, -0, 1.5, 1e9, -12.25E-3, 9223372036854775807, 18446744073709551616]"),
    ("nested", String(repeating: "[", count: 99) + "0" + String(repeating: "]", count: 99)),
    ("letters", "{\"ключ\": \"значение\", \"🙂\": {}}"),
  ]

  private static let addresses = [
    "127.0.0.1", "10.0.0.0/8", "2001:db8::/32", "::ffff:192.0.2.1", "fe80::1%eth0", "::",
    "1:2:3:4:5:6:1.2.3.4", "203.0.113.9, 10.0.0.7", "203.0.113.9:80, [2001:db8::1]:443,192.0.2.1",
  ]

  private static let codes = [
    "BCDF-GHJK", "bcdf ghjk", "B.C_D-F\tG H\nJK", "\u{FB06}\u{FB06}xxxx",
  ]

  /// Routes, and bodies that they accept.
  private static let requests = [
    ("send", #"{"text": "Fix the flaky test", "priority": "urgent", "byAgent": true}"#),
    ("ask", #"{"kind": "approval", "toolName": "Bash", "summary": "ls", "patienceSeconds": 60}"#),
    ("setProgress", #"{"completed": 1, "total": 3, "currentTask": "tests"}"#),
    (
      "answer",
      #"{"verdict": "allowed", "digest": "\#(String(repeating: "1f", count: 32))"}"#
    ),
    ("setHost", #"{"device": "this"}"#), ("takeOver", #"{"device": "this"}"#),
    ("setOnLostServer", #"{"onLostServer": "stop"}"#), ("setOnMerge", #"{"onMerge": "run"}"#),
    ("setLater", #"{"later": "2100-01-01T00:00:00Z"}"#),
    ("setNeeds", #"{"needs": ["1111", "11111111-1111-4111-8111-111111111111"]}"#),
    ("setSetting", #"{"value": "ask"}"#),
    ("signal", #"{"type": "tool_use", "id": "1"}"#),
    ("cancel", #"{"ids": ["11111111-1111-4111-8111-111111111111"]}"#),
    ("pair", #"{"server": "wss://example.com", "code": "BCDF-GHJK"}"#),
  ]

  /// Inputs that agents give to tools, and some that look like something else.
  private static let inputs = [
    ("command", #"{"command": "make test", "description": "Tests", "timeout": 600000}"#),
    ("lines", #"{"command": "cat <<E\na: b\n  c\r\nE\u2028\u0085", "sandbox": false}"#),
    ("alone", #"{"command": "ls -l"}"#), ("named", #"{"command": "a: b"}"#),
    ("values", #"{"a": "5", "b": 5, "c": [1.5, null, {"d": "\"x\""}], "e f": "true", "": {}}"#),
    (
      "unseen",
      #"{"command": "ls \u202e\u200b\u001b", "a\u200f": "\ud83d\udc68\u200d\ud83d\udc69"}"#
    ),
    ("list", #"["rm", "-rf", "x"]"#), ("text", #""ls""#), ("nothing", "{}"),
    ("numbers", #"{"a": [9223372036854775807, 1e20, -1.50e-7, 0.30000000000000004, -0]}"#),
  ]

  /// Registers; one of them has the text of its request after it.
  private static let tasks = [
    ("processing", "status processing\nstart 1\nat 2\noperation builds\ntodo 1 3 tests"),
    (
      "approval",
      "status awaitingApproval\nstart 1\nat 2\nmore 2\nrequest \(id(1))\nexpires 60002\n"
        + "digest \(String(repeating: "1f", count: 32))\ntool Bash\nsummary ls (and 1 more field)\n"
        + "details command: ls\\ntimeout: 5\nalso status awaitingAnswer\\nrequest \(id(2))\\n"
        + "question Which?\\noption A\\noption B\\\\\\\\n"
    ),
    (
      "cut",
      "status awaitingApproval\nrequest \(id(3))\ncut 1\ntool Bash\nsummary l\0"
        + "Bash\nls\ncommand: ls\nx: 1"
    ),
    (
      "question",
      "status awaitingAnswer\nstart 1\nat 2\noutcome \(id(4)) allowed \(id(5))\nrequest \(id(6))\n"
        + "question Which one?\noption This\noption That"
    ),
    ("completed", "status completed\nstart 1\nat 2\nresult success\nsummary done"),
  ]

  private static func id(_ low: UInt64) -> RequestID { RequestID(high: 7, low: low) }
}
