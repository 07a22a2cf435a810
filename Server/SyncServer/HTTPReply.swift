import NIOHTTP1

/// The answer to a plain HTTP request.
struct HTTPReply: Sendable {
  var status: HTTPResponseStatus
  /// Text for users, unless it is a file.
  var body: [UInt8] = []
  var isFile = false
  /// The length in the answer to a HEAD request.
  var length: Int?
  /// Headers in addition to those of every reply.
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
