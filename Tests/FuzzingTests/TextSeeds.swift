import Basics
import Fuzzing
import NetworkAddresses
import ServerCore

/// Seeds that people could have typed.
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
    case .deltas, .snapshots, .frames, .envelopes, .sequences: []
    }
  }

  static func isTaken(_ bytes: [UInt8], by target: FuzzTarget) -> Bool {
    switch target {
    case .json: (try? JSONReader.read(bytes)) != nil
    case .requests: (try? RequestTarget.decoded(bytes)).flatMap { $0 } != nil
    case .codes: PairingCode(typed: String(decoding: bytes, as: UTF8.self)) != nil
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

  /// Routes, and bodies that they take.
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
    ("setSetting", #"{"value": "ask"}"#),
    ("signal", #"{"type": "tool_use", "id": "1"}"#),
    ("cancel", #"{"ids": ["11111111-1111-4111-8111-111111111111"]}"#),
    ("pair", #"{"server": "wss://example.com", "code": "BCDF-GHJK"}"#),
  ]
}
