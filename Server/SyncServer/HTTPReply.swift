import NIOHTTP1

/// What a plain HTTP request is answered with.
struct HTTPReply: Sendable {
  var status: HTTPResponseStatus
  /// For people, unless it is a file.
  var body: [UInt8] = []
  var isFile = false
  /// The length that a HEAD is told.
  var length: Int?
  /// Besides those that every reply has.
  var headers: [(String, String)] = []

  init(_ status: HTTPResponseStatus, text: String = "") {
    self.status = status
    body = text.isEmpty ? [] : Array((text + "\n").utf8)
  }

  init(file: [UInt8]) {
    status = .ok
    body = file
    isFile = true
  }
}
