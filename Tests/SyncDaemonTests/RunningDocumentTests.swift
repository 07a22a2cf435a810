import Foundation
import LocalAPI
import QueueModel
import SyncClient
import Testing

@testable import SyncDaemon

/// RUNNING.md and the README have the figures and defaults of the code.
@Suite struct RunningDocumentTests {
  private func text(_ name: String = "RUNNING.md") throws -> String {
    try String(
      contentsOf: URL(filePath: #filePath).deletingLastPathComponent()
        .appending(path: "../../Client/SyncDaemon/\(name)"), encoding: .utf8)
  }

  @Test func limitsAreThoseOfTheCode() throws {
    let readme = try text("README.md").split(whereSeparator: \.isWhitespace).joined(separator: " ")
    let bodies = [Route.bodyBytesMax, Route.attachmentBodyBytesMax, Route.documentBytesMax]
      .map { $0 >> 20 }
    for phrase in [
      "at most \(bodies[0]) MiB (with files \(bodies[1]) MiB, documents \(bodies[2]) MiB)",
      "the latest 4,096 events, and at most about 8 MiB of texts",
      "A comment comes every \(EventStream.heartbeatPeriodDefault.components.seconds) seconds",
    ] {
      #expect(readme.contains(phrase), "\(phrase)")
    }
    let hooking = try text("HOOKING-UP.md").split(whereSeparator: \.isWhitespace)
      .joined(separator: " ")
    #expect(hooking.contains("at most \(OpencodeAgent.filesBytesMax >> 20) MiB"))
    #expect(hooking.contains("beyond \(HTTPCall.answerBytesMax >> 20) MiB"))
  }

  @Test func figuresAreThoseOfTheCode() throws {
    let text = try text().split(whereSeparator: \.isWhitespace).joined(separator: " ")
    let grace = LeaseTimes.stopGraceMilliseconds / 1_000
    let selfStop = LeaseTimes.selfStopMilliseconds / 1_000
    #expect(PromptFault.argumentBytesMax == 131_071 && OutputFolder.attemptBytesMax == 1 << 20)
    for phrase in [
      "more than 131,071 bytes", "the last MiB of an attempt, \(OutputFolder.attemptsMax) attempts",
      "has \(grace) seconds between SIGTERM and SIGKILL. The processes that it leaves then have one more",
      "stopped instead, \(selfStop) seconds after the server's last answer: SIGTERM, then SIGKILL \(grace)",
      "learns of it within \(LeaseTimes.workingRenewalMilliseconds / 1_000) seconds",
      "present for up to \(LeaseTimes.nextMilliseconds / 1_000) seconds",
      "waits at most \(LeaseTimes.leaseMilliseconds / 1_000) seconds",
      "waits for them, up to a minute",
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
    #expect(named.count == 10)
  }
}
