import Foundation
import Hummingbird
import LocalAPI
import NIOCore

/// The files of the page, from `Client/WebPage`; `make page` writes the table.
enum WebPage {
  struct File: Sendable {
    /// The path below the page's root.
    var path: String
    var mediaType: String
    /// The file in gzip's format, as base64.
    var packed: String

    /// The bytes that are sent.
    var bytes: Data { Data(base64Encoded: packed) ?? Data() }
  }

  /// The file for the root path.
  static let index = "index.html"

  /// The paths that are served without a key.
  static let paths = Set(files.map(path(of:)))

  private static func path(of file: File) -> String {
    file.path == index ? "/" : "/" + file.path
  }

  static func addRoutes(to router: Router<APIHandlers.Context>) {
    for file in files {
      let bytes = ByteBuffer(bytes: file.bytes)
      let answer: APIHandlers.Handler = { _, _ in
        Response(
          status: .ok,
          headers: [.contentType: file.mediaType, .contentEncoding: "gzip"],
          body: ResponseBody(byteBuffer: bytes))
      }
      router.get(RouterPath(path(of: file)), use: answer)
    }
  }
}
