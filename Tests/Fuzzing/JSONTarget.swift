import Basics

/// JSON as the daemon, the settings and the documents read it.
enum JSONTarget {
  static func run(_ bytes: [UInt8]) throws(FuzzFinding) {
    let json: PositionedJSON
    do {
      json = try JSONReader.read(bytes)
    } catch {
      return try check(error.position, in: bytes)
    }
    try check(json, in: bytes)
    let value = JSONValue(json)
    try require("what a value's bytes say is another value") {
      let again = try JSONReader.read(Array(bytes[json.range]))
      guard JSONValue(again) == value else { throw FuzzFinding("\(again)") }
    }
  }

  private static func check(_ json: PositionedJSON, in bytes: [UInt8]) throws(FuzzFinding) {
    try check(json.position, in: bytes)
    try require("bytes past the text", json.range.upperBound <= bytes.count)
    switch json.value {
    case .null, .boolean, .number, .string: return
    case .array(let elements):
      for element in elements { try check(element, in: bytes) }
    case .object(let members):
      try require("a key twice", Set(members.map(\.key)).count == members.count)
      for member in members {
        try check(member.position, in: bytes)
        try check(member.value, in: bytes)
      }
    }
  }

  private static func check(_ position: TextPosition, in bytes: [UInt8]) throws(FuzzFinding) {
    let lines = bytes.reduce(1) { $0 + ($1 == UInt8(ascii: "\n") ? 1 : 0) }
    try require(
      "\(position) is not a place of the text",
      (1...lines).contains(position.line) && (1...bytes.count + 1).contains(position.column))
  }
}
