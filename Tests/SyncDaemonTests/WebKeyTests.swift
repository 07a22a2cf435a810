import CZlib
import Foundation
import Testing

@testable import SyncDaemon

/// Tickets and keys by themselves, and the table of the page's files.
@Suite struct WebKeyTests {
  @Test func ticketEndsAfterAMinute() throws {
    let directory = try TemporaryDirectory()
    defer { directory.remove() }
    let keys = WebKeys(dataDirectory: directory.path)
    let (ticket, end) = keys.makeTicket(at: 1_000)
    #expect(end == 61_000)
    #expect(try keys.redeem(ticket, name: "a", at: end) == nil)
    #expect(try keys.redeem(ticket, name: "a", at: 2_000) == nil)
    #expect(try keys.redeem("", name: "a", at: 2_000) == nil)
  }

  @Test func aBrowserIsRenamedAndNamesStayDistinct() throws {
    let directory = try TemporaryDirectory()
    defer { directory.remove() }
    let keys = WebKeys(dataDirectory: directory.path)
    let browsers = try ["a", "b"].map { name in
      try #require(try keys.redeem(keys.makeTicket(at: 0).ticket, name: name, at: 1)).browser
    }
    #expect(try keys.setName("phone", of: "a") && keys.setName("my phone", of: browsers[0].id))
    #expect(try keys.setName("my phone", of: "my phone") && !keys.setName("c", of: "a"))
    #expect(throws: APIProblem.self) { try keys.setName("my phone", of: "b") }
    for name in ["", " ", "a\nb", String(repeating: "n", count: 65), browsers[0].id] {
      #expect(throws: APIProblem.self, "\(name)") { try keys.setName(name, of: "b") }
    }
    let stored = WebKeys(dataDirectory: directory.path).list(at: 1).map(\.name)
    #expect(stored.sorted() == ["b", "my phone"])
  }

  @Test func oldestOfTooManyTicketsEnds() throws {
    let directory = try TemporaryDirectory()
    defer { directory.remove() }
    let keys = WebKeys(dataDirectory: directory.path)
    let tickets = (0...WebKeys.ticketsMax).map { _ in keys.makeTicket(at: 0).ticket }
    #expect(Set(tickets).count == tickets.count)
    #expect(try keys.redeem(tickets[0], name: "a", at: 1) == nil)
    #expect(try keys.redeem(tickets[1], name: "a", at: 1) != nil)
  }

  @Test func keyLastsThirtyDaysFromItsLastUse() throws {
    let directory = try TemporaryDirectory()
    defer { directory.remove() }
    let keys = WebKeys(dataDirectory: directory.path)
    let ticket = keys.makeTicket(at: 0).ticket
    let key = try #require(try keys.redeem(ticket, name: "a", at: 0)).key
    let day: Int64 = 86_400_000
    #expect(keys.browser(withKey: key, at: 29 * day) != nil)
    #expect(WebKeys(dataDirectory: directory.path).browser(withKey: key, at: 58 * day) != nil)
    #expect(keys.browser(withKey: key, at: 89 * day) == nil)
    #expect(keys.browser(withKey: key + "a", at: 0) == nil)
  }

  @Test func thereAreTwentyBrowsersAtMost() throws {
    let directory = try TemporaryDirectory()
    defer { directory.remove() }
    let keys = WebKeys(dataDirectory: directory.path)
    var made: [String] = []
    for time in 0...Int64(WebKeys.browsersMax) {
      let ticket = keys.makeTicket(at: time).ticket
      made.append(try #require(try keys.redeem(ticket, name: "a\u{7}\n", at: time)).key)
    }
    let list = keys.list(at: 100)
    #expect(list.count == WebKeys.browsersMax)
    #expect(Set(list.map(\.name)).count == list.count)
    #expect(keys.browser(withKey: made[0], at: 100) == nil)
    #expect(made.dropFirst().allSatisfy { keys.browser(withKey: $0, at: 100) != nil })
  }

  // MARK: - The page's files

  private static let folder = URL(filePath: #filePath)
    .deletingLastPathComponent().appending(path: "../../Client/WebPage").standardizedFileURL

  @Test func tableHasTheFilesOfTheFolder() throws {
    let endings = ["html", "css", "js", "svg", "png", "webmanifest"]
    let present = try FileManager.default.contentsOfDirectory(
      atPath: Self.folder.path(percentEncoded: false)
    ).filter { name in endings.contains { name.hasSuffix("." + $0) } }
    #expect(WebPage.files.map(\.path) == present.sorted(), "run make page")
    for file in WebPage.files {
      let data = try Data(contentsOf: Self.folder.appending(path: file.path))
      let isCode = file.path.hasSuffix(".js") || file.path.hasSuffix(".css")
      var text = String(decoding: data, as: UTF8.self).replacing(Self.unsent, with: "")
      if file.path.hasSuffix(".css") { text = Self.withoutBlanks(text) }
      let sent = isCode ? Data(text.utf8) : data
      #expect(try unpacked(file.bytes) == sent, "\(file.path): run make page")
    }
  }

  /// `make page` strips comments and indentation, so no text of the page may have an indented line.
  private static var unsent: Regex<Substring> {
    #/^[ \t]*(?:\/\/[^\n]*\n|\/\*(?:[^*]|\*(?!\/))*\*\/[ \t]*\n)|^[ \t]+/#
      .anchorsMatchLineEndings()
  }

  /// It also strips the blanks and semicolons of a stylesheet that separate nothing.
  private static func withoutBlanks(_ style: String) -> String {
    style.replacing(#/([;{]) +/#) { $0.1 }.replacing(#/ +([{}])/#) { $0.1 }
      .replacing(#/([a-z]:) ([^"])/#) { "\($0.1)\($0.2)" }.replacing(";}", with: "}")
  }

  @Test func pageIsSmall() {
    let bytes = WebPage.files.reduce(0) { $0 + $1.bytes.count }
    #expect(bytes <= 90_000, "the page has \(bytes) bytes")
  }

  @Test func textsGoInAsText() throws {
    let markup = ["innerHTML", "outerHTML", "insertAdjacentHTML", "document.write", "eval("]
    for file in WebPage.files where file.path.hasSuffix(".js") {
      let text = try String(contentsOf: Self.folder.appending(path: file.path), encoding: .utf8)
      for word in markup { #expect(!text.contains(word), "\(file.path) uses \(word)") }
      let hosts = text.replacing("http://www.w3.org/2000/svg", with: "")
      #expect(!hosts.contains("http:") && !hosts.contains("https:"), "\(file.path) names a host")
    }
  }

  private func unpacked(_ packed: Data) throws -> Data {
    var stream = z_stream()
    // 31: a window of 32 KiB, and gzip's format.
    let size = Int32(MemoryLayout<z_stream>.size)
    try #require(inflateInit2_(&stream, 31, ZLIB_VERSION, size) == Z_OK)
    defer { inflateEnd(&stream) }
    var input = [UInt8](packed)
    var output = [UInt8](repeating: 0, count: 1 << 20)
    let count = input.withUnsafeMutableBufferPointer { input in
      output.withUnsafeMutableBufferPointer { output in
        stream.next_in = input.baseAddress
        stream.avail_in = UInt32(input.count)
        stream.next_out = output.baseAddress
        stream.avail_out = UInt32(output.count)
        return inflate(&stream, Z_FINISH) == Z_STREAM_END ? Int(stream.total_out) : 0
      }
    }
    return Data(output[..<count])
  }
}
