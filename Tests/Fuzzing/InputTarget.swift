import AgentFormats
import QueueModel

/// An agent's input for a tool, on its way to the user who allows it.
enum InputTarget {
  static func run(_ bytes: [UInt8]) throws(FuzzFinding) {
    try InputReading.check(bytes)
    guard let input = JSONTree(bytes, isShown: true) else { return }
    let shown = ToolInput(input)
    guard let read = ShownInput.read(shown.details) else {
      throw FuzzFinding("\(input.line) is shown as \(shown.details)")
    }
    // By bytes, because Swift compares texts by Unicode equivalence.
    try require(
      "\(input.line) is shown as \(shown.details), which says \(read.line)",
      read.line.utf8.elementsEqual(input.line.utf8))
    try checkLine(shown, of: input)
    try checkLength(shown, of: bytes.count)
    try checkUnseen(shown)
    let request = ApprovalRequest(
      id: RequestID(high: 1, low: 2), toolName: "Bash", summary: shown.subject + shown.remainder,
      details: shown.details)
    try TaskTarget.check(
      TaskText(status: .awaitingApproval(request), start: 0, milliseconds: 0))
    try require(
      "\(request.text) does not say the whole request",
      request.whole(request.text)?.text.utf8.elementsEqual(request.text.utf8) == true)
  }

  /// The line contains the whole input, or the size of what it omits.
  private static func checkLine(_ shown: ToolInput, of input: JSONTree) throws(FuzzFinding) {
    guard shown.subject != input.line else { return }
    let more = shown.fields.count - 1
    try require(
      "\(shown.subject)\(shown.remainder) hides fields of \(input.line)",
      more < 1 || shown.remainder.contains("\(more) more field"))
    let first: JSONTree?
    if case .object(let members) = input {
      first = shown.fields.first.flatMap { members[$0.name] }
    } else {
      first = input
    }
    let lines = first?.text?.split(whereSeparator: \.isNewline).count ?? 0
    try require(
      "\(shown.subject)\(shown.remainder) hides lines of \(input.line)",
      lines < 2 || shown.remainder.contains("\(lines - 1) more line"))
  }

  /// No byte of an input becomes more than six, as an escape does.
  private static func checkLength(_ shown: ToolInput, of count: Int) throws(FuzzFinding) {
    for text in [shown.details, shown.subject] {
      try require("\(count) bytes become \(text.utf8.count)", text.utf8.count <= 6 * count)
    }
    try require("the remainder \(shown.remainder) is long", shown.remainder.utf8.count <= 80)
  }

  private static func checkUnseen(_ shown: ToolInput) throws(FuzzFinding) {
    let isLine = !shown.subject.contains(where: \.isNewline)
    try require("\(shown.subject) has several lines", isLine)
    for scalar in (shown.subject + shown.remainder + shown.details).unicodeScalars {
      let isSeen =
        switch scalar {
        case "\n", "\r", "\t", "\u{85}", "\u{200C}", "\u{200D}": true
        default: ![.control, .format].contains(scalar.properties.generalCategory)
        }
      try require("U+\(String(scalar.value, radix: 16)) is not seen", isSeen)
    }
  }
}
