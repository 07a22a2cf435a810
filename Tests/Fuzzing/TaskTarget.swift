package import QueueModel

/// The report of a session's host: the register of its task and, after a zero byte, the text of a
/// request for which the register has no room.
package enum TaskTarget {
  package static func parts(of bytes: [UInt8]) -> (task: TaskText, whole: String) {
    let register = bytes.prefix { $0 != 0 }
    return (
      TaskText(text: String(decoding: register, as: UTF8.self)),
      String(decoding: bytes.dropFirst(register.count + 1), as: UTF8.self)
    )
  }

  static func run(_ bytes: [UInt8]) throws(FuzzFinding) {
    let (task, text) = parts(of: bytes)
    try require("too many requests", task.requests.count <= Limits.taskRequestsMax)
    try check(task)
    for case .approval(let request) in task.requests {
      guard let whole = request.whole(text) else { continue }
      try require("a text is shown as another", whole.text.utf8.elementsEqual(text.utf8))
      try require("a whole request is cut", !whole.isCut && whole.id == request.id)
    }
  }

  /// A written value is read as the same value, and fits the registers.
  static func check(_ task: TaskText) throws(FuzzFinding) {
    let written = task.text
    let read = TaskText(text: written)
    try require("\(read) is written as another", read.text.utf8.elementsEqual(written.utf8))
    try require(
      "\(task.requests) are read as \(read.requests)",
      read.requests.map(\.id) == task.requests.map(\.id))
    let pieces = task.pieces.map { if case .text(let piece) = $0 { piece } else { "" } }
    try require("\(written) does not fit", pieces.joined().utf8.elementsEqual(written.utf8))
    for (written, read) in zip(task.requests, read.requests) {
      guard case .approval(let written) = written, case .approval(let read) = read else { continue }
      try require(
        "\(written.text) is cut, and \(read) does not say so",
        read.isCut || read.text.utf8.elementsEqual(written.text.utf8))
    }
  }
}
