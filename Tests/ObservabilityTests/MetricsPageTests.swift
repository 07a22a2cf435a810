import Foundation
import Logging
import Observability
import Synchronization
import Testing

@Suite struct MetricsPageTests {
  @Test func aPageIsWhatTheStandardSays() {
    var page = MetricsPage()
    page.build("x_build", version: "1.\"0\"")
    page.counter("x_things", "Things,\nall.", 3)
    page.counter("x_by", "By kind.", by: "kind", [("a", 1), ("b\\", 2)])
    page.gauge("x_level", "Level.", 0.25)
    page.gauge("x_none", "Not known.", nil)
    var histogram = Histogram(bounds: [0.5, 1])
    for value in [0.5, 0.75, 1, 9] { histogram.record(value) }
    page.histogram("x_seconds", "Times.", histogram)
    #expect(
      page.text == #"""
        # TYPE x_build info
        # HELP x_build The program.
        x_build_info{version="1.\"0\""} 1
        # TYPE x_things counter
        # HELP x_things Things,\nall.
        x_things_total 3
        # TYPE x_by counter
        # HELP x_by By kind.
        x_by_total{kind="a"} 1
        x_by_total{kind="b\\"} 2
        # TYPE x_level gauge
        # HELP x_level Level.
        x_level 0.25
        # TYPE x_none gauge
        # HELP x_none Not known.
        # TYPE x_seconds histogram
        # HELP x_seconds Times.
        x_seconds_bucket{le="0.5"} 1
        x_seconds_bucket{le="1"} 3
        x_seconds_bucket{le="+Inf"} 4
        x_seconds_sum 11.25
        x_seconds_count 4
        # EOF

        """#)
  }

  @Test func aLogLineIsAnObject() throws {
    let written = Mutex<[Data]>([])
    var handler = JSONLogHandler(label: "l") { line in written.withLock { $0.append(line) } }
    handler.logLevel = .info
    handler[metadataKey: "session"] = "s"
    var logger = Logger(label: "l") { _ in handler }
    logger.logLevel = .info
    logger.notice("two\nlines \"quoted\"", metadata: ["message": "m"])
    logger.debug("not this")
    let lines = written.withLock { $0 }
    #expect(lines.count == 1)
    let text = String(decoding: try #require(lines.first), as: UTF8.self)
    #expect(text.filter { $0 == "\n" }.count == 1 && text.hasSuffix("}\n"))
    let object = try #require(
      try JSONSerialization.jsonObject(with: Data(text.utf8)) as? [String: Any])
    #expect(object["message"] as? String == "two\nlines \"quoted\"")
    #expect(object["level"] as? String == "notice")
    #expect(object["metadata"] as? [String: String] == ["session": "s", "message": "m"])
    let time = try #require(object["time"] as? String)
    #expect(
      (try? Date(time, strategy: Date.ISO8601FormatStyle(includingFractionalSeconds: true))) != nil)
  }
}
