import Crypto
import Foundation
import NIOCore
import QueueModel
import ServerCore
import SyncServer
import Testing

/// Files of attachments over plain HTTP, against a real server.
@Suite(.timeLimit(.minutes(10))) struct BlobTests {
  private struct Reply {
    var status: Int
    var body: String

    init(_ text: String) {
      status = Int(text.split(separator: " ").dropFirst().first ?? "") ?? 0
      body = text.components(separatedBy: "\r\n\r\n").dropFirst().joined(separator: "\r\n\r\n")
    }
  }

  private static func hash(_ text: String) -> String {
    SHA256.hash(data: Data(text.utf8)).map {
      String($0 >> 4, radix: 16) + String($0 & 15, radix: 16)
    }
    .joined()
  }

  private func request(
    _ method: String, _ hash: String, body: String? = nil, token: [UInt8]?,
    _ fixture: ServerFixture
  ) async throws -> Reply {
    var text = "\(method) /v1/blobs/\(hash) HTTP/1.1\r\nHost: x\r\nConnection: close\r\n"
    if let token {
      let digits = token.map { String($0 >> 4, radix: 16) + String($0 & 15, radix: 16) }.joined()
      text += "Authorization: Bearer \(digits)\r\n"
    }
    if let body { text += "Content-Length: \(body.utf8.count)\r\n" }
    return Reply(
      try await PlainRequest.send(text + "\r\n" + (body ?? ""), fixture.server.port))
  }

  @Test func aFileIsStoredFoundGivenAndRemoved() async throws {
    try await ServerFixture.with { fixture in
      let device = try await fixture.pair(1)
      let hash = Self.hash("hello")
      #expect(try await request("HEAD", hash, token: device.token, fixture).status == 404)
      #expect(
        try await request("PUT", hash, body: "hello", token: device.token, fixture).status == 201)
      #expect(
        try await request("PUT", hash, body: "hello", token: device.token, fixture).status == 200)
      #expect(try await request("HEAD", hash, token: device.token, fixture).status == 200)
      try await fixture.restart()
      let got = try await request("GET", hash, token: device.token, fixture)
      #expect(got.status == 200)
      #expect(got.body == "hello")
      #expect(try await request("DELETE", hash, token: device.token, fixture).status == 200)
      #expect(try await request("GET", hash, token: device.token, fixture).status == 404)
    }
  }

  @Test func smallFilesCountAsTheirBlocks() async throws {
    try await ServerFixture.with({ $0.files.quotaBytes = 3 * 4_096 }) { fixture in
      let token = try await fixture.pair(1).token
      for text in ["a", "b", "c"] {
        #expect(
          try await request("PUT", Self.hash(text), body: text, token: token, fixture).status == 201
        )
      }
      #expect(
        try await request("PUT", Self.hash("d"), body: "d", token: token, fixture).status == 507)
      try await fixture.restart()
      #expect(
        try await request("PUT", Self.hash("d"), body: "d", token: token, fixture).status == 507)
      _ = try await request("DELETE", Self.hash("a"), token: token, fixture)
      #expect(
        try await request("PUT", Self.hash("d"), body: "d", token: token, fixture).status == 201)
    }
  }

  @Test func oneDeviceTakesNotAllSeats() async throws {
    try await ServerFixture.with({ $0.files.requestsPerWorkspaceMax = 1 }) { fixture in
      let token = try await fixture.pair(1).token
      let other = try await fixture.pair(2, workspace: "other").token
      let digits = token.map { String($0 >> 4, radix: 16) + String($0 & 15, radix: 16) }.joined()
      let hash = Self.hash("hello")
      // It announces bytes, and sends none.
      let held = try await PlainRequest.start(
        "PUT /v1/blobs/\(hash) HTTP/1.1\r\nHost: x\r\nAuthorization: Bearer \(digits)\r\n"
          + "Content-Length: 5\r\n\r\n", fixture.server.port)
      var status = 0
      for _ in 0..<10_000 where status != 503 {
        status = try await request("HEAD", hash, token: token, fixture).status
      }
      #expect(status == 503)
      #expect(try await request("HEAD", hash, token: other, fixture).status == 404)
      await fixture.server.stop()
      _ = try await held.get()
    }
  }

  /// An idle connection keeps its place among all connections; with occasional requests, it keeps
  /// it forever.
  @Test func aDevicesFileConnectionsTakeNotAllPlaces() async throws {
    try await ServerFixture.with({
      $0.places.total = 12
      $0.core.devices.connectionsMax = 3
    }) { fixture in
      let device = try await fixture.pair(1)
      var other = try await fixture.pair(2, workspace: "other")
      let digits = device.token.map {
        String($0 >> 4, radix: 16) + String($0 & 15, radix: 16)
      }.joined()
      let look =
        "HEAD /v1/blobs/\(Self.hash("hello")) HTTP/1.1\r\nHost: x\r\n"
        + "Authorization: Bearer \(digits)\r\n\r\n"
      var held: [any Channel] = []
      var statuses: [Substring] = []
      for _ in 0..<20 {
        let (channel, status) = try await PlainRequest.hold(look, fixture.server.port)
        held.append(channel)
        statuses.append(status)
      }
      #expect(statuses.count { $0.hasPrefix("HTTP/1.1 404") } == 3)
      let client = try await fixture.join(&other)
      await client.close()
      // A place is free again once its connection is gone.
      try await held[0].close()
      var isFree = false
      for _ in 0..<10_000 where !isFree {
        isFree =
          try await request("HEAD", Self.hash("hello"), token: device.token, fixture)
          .status == 404
      }
      #expect(isFree)
      for channel in held { channel.close(promise: nil) }
    }
  }

  @Test func aDamagedFileIsNotServedAndIsFetchedAgain() async throws {
    try await ServerFixture.with({ $0.files.quotaBytes = 4_096 }) { fixture in
      let device = try await fixture.pair(1)
      let token = device.token
      let hash = Self.hash("hello")
      let path = "\(fixture.directory)/blobs/\(device.workspaceID)/\(hash)"
      _ = try await request("PUT", hash, body: "hello", token: token, fixture)
      // A client with the whole file may offer it before any request.
      try Data("hell".utf8).write(to: URL(filePath: path))
      #expect(
        try await request("PUT", hash, body: "hello", token: token, fixture).status == 201)
      #expect(try await request("GET", hash, token: token, fixture).body == "hello")

      try Data("hallo".utf8).write(to: URL(filePath: path))
      #expect(try await request("GET", hash, token: token, fixture).status == 404)
      #expect(try await request("HEAD", hash, token: token, fixture).status == 404)
      #expect(FileManager.default.fileExists(atPath: path + ".damaged"))
      #expect(
        try await request("PUT", hash, body: "hello", token: token, fixture).status == 201)
      #expect(try await request("GET", hash, token: token, fixture).body == "hello")
      #expect(!FileManager.default.fileExists(atPath: path + ".damaged"))
      #expect(
        try await request("PUT", hash, body: "hello", token: token, fixture).status == 200)
    }
  }

  /// The disk gives an error for a file (here, one whose first byte can never be read); the file is
  /// kept.
  @Test func aFileThatCannotBeReadIsAnsweredSo() async throws {
    try await ServerFixture.with { fixture in
      let device = try await fixture.pair(1)
      let hash = Self.hash("hello")
      let path = "\(fixture.directory)/blobs/\(device.workspaceID)/\(hash)"
      _ = try await request("PUT", hash, body: "hello", token: device.token, fixture)
      try FileManager.default.removeItem(atPath: path)
      try FileManager.default.createSymbolicLink(
        atPath: path, withDestinationPath: "/proc/self/mem")
      let reply = try await request("GET", hash, token: device.token, fixture)
      #expect(reply.status == 500)
      #expect(reply.body.hasPrefix("The file cannot be read: "), "\(reply.body)")
      #expect(!FileManager.default.fileExists(atPath: path + ".damaged"))
      // A client with the whole file sends it again.
      #expect(
        try await request("PUT", hash, body: "hello", token: device.token, fixture).status == 201)
      #expect(try await request("GET", hash, token: device.token, fixture).body == "hello")
    }
  }

  /// A client that keeps requesting without reading must not keep one file after another in memory.
  @Test func aFileIsGivenAfterTheOneBeforeIsOnItsWay() async throws {
    try await ServerFixture.with { fixture in
      let device = try await fixture.pair(1)
      let hash = Self.hash("hello")
      _ = try await request("PUT", hash, body: "hello", token: device.token, fixture)
      let digits = device.token.map {
        String($0 >> 4, radix: 16) + String($0 & 15, radix: 16)
      }.joined()
      let get =
        "GET /v1/blobs/\(hash) HTTP/1.1\r\nHost: x\r\nAuthorization: Bearer \(digits)\r\n\r\n"
      let text = try await PlainRequest.send(get + get + get, fixture.server.port)
      #expect(text.components(separatedBy: "HTTP/1.1 200").count == 2)
      #expect(text.components(separatedBy: "HTTP/1.1 400").count == 2)
    }
  }

  /// A number that cannot be counted is not zero: the quota still applies.
  @Test func aFolderThatCannotBeReadIsNotAnEmptyOne() throws {
    let directory = NSTemporaryDirectory() + "cospool-blobs-" + UUID().uuidString
    defer { try? FileManager.default.removeItem(atPath: directory) }
    let workspace = WorkspaceID(high: 1, low: 1)
    let hello = try #require(ContentHash(Self.hash("hello")))
    let other = try #require(ContentHash(Self.hash("other")))
    let before = BlobStore(dataDirectory: directory, quotaBytes: 4_096)
    #expect(try before.keep(Array("hello".utf8), as: hello, in: workspace))
    let folder = "\(directory)/blobs/\(workspace)"
    try FileManager.default.moveItem(atPath: folder, toPath: folder + ".away")
    try Data().write(to: URL(filePath: folder))
    let inbox = BlobStore(dataDirectory: directory, quotaBytes: 4_096)
    #expect(throws: BlobStore.Fault.self) {
      try inbox.keep(Array("other".utf8), as: other, in: workspace)
    }
    try FileManager.default.removeItem(atPath: folder)
    try FileManager.default.moveItem(atPath: folder + ".away", toPath: folder)
    #expect(throws: BlobStore.Fault.overQuota(bytesMax: 4_096)) {
      try inbox.keep(Array("other".utf8), as: other, in: workspace)
    }
    #expect(try !inbox.keep(Array("hello".utf8), as: hello, in: workspace))
  }

  @Test func aFullDiskIsDistinguishedFromOtherFaults() {
    func isFull(_ error: any Error) -> Bool {
      if case .storage(_, let isFull) = BlobStore.Fault(error) { isFull } else { false }
    }
    for code in [ENOSPC, EDQUOT] {
      #expect(isFull(NSError(domain: NSPOSIXErrorDomain, code: Int(code))))
    }
    #expect(isFull(CocoaError(.fileWriteOutOfSpace)))
    #expect(!isFull(NSError(domain: NSPOSIXErrorDomain, code: Int(EACCES))))
    #expect(!isFull(CocoaError(.fileWriteUnknown)))
  }

  @Test func workspacesDoNotSeeEachOthersFiles() async throws {
    try await ServerFixture.with { fixture in
      let one = try await fixture.pair(1, workspace: "one")
      let two = try await fixture.pair(2, workspace: "two")
      let hash = Self.hash("hello")
      _ = try await request("PUT", hash, body: "hello", token: one.token, fixture)
      #expect(try await request("GET", hash, token: two.token, fixture).status == 404)
      #expect(try await request("DELETE", hash, token: two.token, fixture).status == 404)
      #expect(try await request("GET", hash, token: one.token, fixture).status == 200)
    }
  }

  @Test func nothingIsServedWithoutAValidToken() async throws {
    try await ServerFixture.with { fixture in
      let device = try await fixture.pair(1)
      let hash = Self.hash("hello")
      _ = try await request("PUT", hash, body: "hello", token: device.token, fixture)
      #expect(try await request("GET", hash, token: nil, fixture).status == 401)
      #expect(
        try await request("GET", hash, token: [UInt8](repeating: 1, count: 32), fixture).status
          == 401)
      #expect(
        try await request("PUT", hash, body: "hello", token: nil, fixture).status == 401)
      let devices = try fixture.administration.devices(workspaceName: nil).devices
      _ = try fixture.administration.revoke(
        device: try #require(devices.first?.id), workspaceName: nil)
      #expect(try await request("GET", hash, token: device.token, fixture).status == 401)
    }
  }

  @Test func wrongRequestsAreRefusedAndStoreNothing() async throws {
    try await ServerFixture.with({ $0.files.quotaBytes = 4_096 }) { fixture in
      let token = try await fixture.pair(1).token
      let hash = Self.hash("hello")
      #expect(
        try await request("PUT", hash, body: "other", token: token, fixture).status == 422)
      #expect(try await request("PUT", "nohash", body: "x", token: token, fixture).status == 400)
      #expect(try await request("GET", "../../cospool", token: token, fixture).status == 400)
      #expect(try await request("PUT", hash, token: token, fixture).status == 411)
      #expect(try await request("PUT", hash, body: "", token: token, fixture).status == 413)
      #expect(try await request("POST", hash, body: "x", token: token, fixture).status == 405)
      #expect(try await request("GET", hash, token: token, fixture).status == 404)
      // The quota counts existing files, even after a restart.
      #expect(
        try await request("PUT", hash, body: "hello", token: token, fixture).status == 201)
      try await fixture.restart()
      #expect(
        try await request("PUT", Self.hash("123456"), body: "123456", token: token, fixture)
          .status == 507)
      _ = try await request("DELETE", hash, token: token, fixture)
      #expect(
        try await request("PUT", Self.hash("12345"), body: "12345", token: token, fixture)
          .status == 201)
    }
  }
}
