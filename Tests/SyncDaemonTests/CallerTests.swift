import Foundation
import LocalAPI
import QueueModel
import Testing

@testable import SyncDaemon

/// S-28, S-32: what callers other than the person may not do.
@Suite struct CallerTests {
  /// A file of this test, and a message to attach it to.
  private static func message(in daemon: RunningDaemon) async throws -> String {
    let sent = try await daemon.request("POST", "/v1/sessions/review/queue", #"{"text":"one"}"#)
    return try sent.decoded(SentAnswer.self).id
  }

  @Test func browserNamesNoFileOfTheMachine() async throws {
    try await RunningDaemon.run { daemon in
      let page = try await OpenPage(of: daemon)
      let id = try await Self.message(in: daemon)
      let file = "/etc/hostname"
      for (path, body) in [
        ("/v1/messages/\(id)/attachments", #"{"path":"\#(file)"}"#),
        ("/v1/sessions/review/queue", #"{"text":"two","attachments":[{"path":"\#(file)"}]}"#),
        ("/v1/messages/\(id)/attachments", #"{"path":"/no/such/file"}"#),
      ] {
        let reply = try await page.request("POST", path, body)
        #expect(reply.status == 403 && reply.body.contains("notOverTheWeb"), "\(reply.body)")
        #expect(!reply.body.contains(file) && !reply.body.contains("/no/such"))
      }
      let queue = try await daemon.request("GET", "/v1/sessions/review/queue")
      #expect(try queue.decoded(QueueAnswer.self).messages.map(\.content) == ["one"])
      // What it brings itself, it may attach.
      let brought = #"{"data":"aGk=","name":"hi.txt"}"#
      let reply = try await page.request("POST", "/v1/messages/\(id)/attachments", brought)
      #expect(reply.status == 201, "\(reply.body)")
    }
  }

  @Test func theDaemonsOwnFilesAreNotAttached() async throws {
    let directory = try TemporaryDirectory()
    defer { directory.remove() }
    let data = directory.path + "/data"
    try FileManager.default.createDirectory(atPath: data, withIntermediateDirectories: true)
    let link = directory.path + "/link", around = directory.path + "/around"
    try FileManager.default.createSymbolicLink(
      atPath: link, withDestinationPath: data + "/credentials.json")
    try FileManager.default.createSymbolicLink(atPath: around, withDestinationPath: data)
    let beside = directory.path + "/data.txt"
    for path in [data + "/credentials.json", beside] {
      try Data("secret".utf8).write(to: URL(filePath: path))
    }
    try await RunningDaemon.run(directory: directory, dataDirectory: data) { daemon in
      let id = try await Self.message(in: daemon)
      for path in [
        data + "/credentials.json", data + "/../data/credentials.json", link,
        around + "/credentials.json", data + "/no-such-file",
      ] {
        let body = #"{"path":"\#(path)"}"#
        let reply = try await daemon.request("POST", "/v1/messages/\(id)/attachments", body)
        #expect(reply.status == 403 && reply.body.contains("fileOfDaemon"), "\(path): \(reply.body)")
        let send = #"{"text":"two","attachments":[\#(body)]}"#
        let sent = try await daemon.request("POST", "/v1/sessions/review/queue", send)
        #expect(sent.status == 403, "\(path): \(sent.body)")
      }
      let body = #"{"path":"\#(beside)"}"#
      let reply = try await daemon.request("POST", "/v1/messages/\(id)/attachments", body)
      #expect(reply.status == 201, "\(reply.body)")
    }
  }
}
