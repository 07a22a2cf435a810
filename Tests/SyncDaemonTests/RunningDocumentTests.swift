import Foundation
import QueueModel
import SyncClient
import Testing

@testable import SyncDaemon

/// RUNNING.md has the figures and defaults that the code has.
@Suite struct RunningDocumentTests {
  private func text() throws -> String {
    try String(
      contentsOf: URL(filePath: #filePath).deletingLastPathComponent()
        .appending(path: "../../Client/SyncDaemon/RUNNING.md"), encoding: .utf8)
  }

  @Test func figuresAreThoseOfTheCode() throws {
    let text = try text().split(whereSeparator: \.isWhitespace).joined(separator: " ")
    let grace = LeaseTimes.stopGraceMilliseconds / 1_000
    let selfStop = LeaseTimes.selfStopMilliseconds / 1_000
    #expect(PromptFault.argumentBytesMax == 131_071 && OutputFolder.attemptBytesMax == 1 << 20)
    for phrase in [
      "more than 131,071 bytes", "the last MiB of an attempt, \(OutputFolder.attemptsMax) attempts",
      "has \(grace) seconds between SIGTERM and SIGKILL",
      "stopped \(selfStop) seconds after the server's last answer: SIGTERM, then SIGKILL \(grace)",
      "present for up to \(LeaseTimes.nextMilliseconds / 1_000) seconds",
      "at most \(LeaseTimes.leaseMilliseconds / 1_000) seconds later",
      "waited for, up to a minute",
    ] {
      #expect(text.contains(phrase), "\(phrase)")
    }
    #expect(AgentService.filePatience == .seconds(60))
  }

  @Test func defaultsAreThoseOfTheSettings() throws {
    var named: Set<SettingName> = []
    for line in try text().split(separator: "\n") where line.hasPrefix("| `") {
      let cells = line.split(separator: "|", omittingEmptySubsequences: false)
        .map { $0.trimmingCharacters(in: .whitespaces) }
      guard let setting = SettingName(rawValue: cells[1].trimmingCharacters(in: ["`"])) else {
        Issue.record("\(line) is about no setting")
        continue
      }
      named.insert(setting)
      guard let standard = setting.standard else { continue }
      #expect(cells[cells.count - 2].trimmingCharacters(in: ["`"]) == "\(standard)", "\(line)")
    }
    #expect(named.count == 9)
  }
}
