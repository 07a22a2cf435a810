import ClientStore
import Foundation
import QueueModel
import Testing

@testable import SyncClient

@Suite(.timeLimit(.minutes(10))) struct AttachmentFileTests {
  private static let png = Data([0x89, 0x50, 0x4E, 0x47, 1, 2, 3])
  private static let message = MessageID(high: 9, low: 1)

  // C-12
  @Test func aFileIsKeptBesideTheLogAndOverRestarts() async throws {
    try await ClientFixture.withServer { fixture in
      var client = try await fixture.open()
      try await client.perform(.text("look", 1))
      let file = try await client.attachments.keep(Self.png, name: "a.png")
      #expect(file.mediaType == "image/png")
      #expect(file.size == 7)
      try await client.perform(.attach(Self.message, [file]))
      await client.close()
      client = try await fixture.open()
      let states = try client.attachments.files(of: Self.message)
      #expect(states.map(\.attachment) == [file])
      #expect(states.map(\.isHere) == [true])
      #expect(try await client.attachments.bytes(of: file.hash) == Self.png)
      await client.close()
    }
  }

  @Test func aDamagedFileIsNotGivenOut() async throws {
    try await ClientFixture.withServer { fixture in
      let client = try await fixture.open()
      let file = try await client.attachments.keep(Self.png, name: "a.png")
      let path = fixture.directory + "/attachments/\(file.hash)"
      try Data([1, 2, 3]).write(to: URL(filePath: path))
      await #expect(throws: ClientError.attachmentMissing(hash: file.hash, isPaired: false)) {
        _ = try await client.attachments.bytes(of: file.hash)
      }
      #expect(!FileManager.default.fileExists(atPath: path))
      await client.close()
    }
  }

  @Test func sizesAndTheQuotaAreKept() async throws {
    try await ClientFixture.withServer { fixture in
      let client = try await fixture.open()
      client.apply(DeviceSettings(attachmentQuota: 10))
      await #expect(throws: ClientError.self) {
        _ = try await client.attachments.keep(Data(), name: "empty")
      }
      let largest = Data(repeating: 7, count: Limits.attachmentBytesMax)
      await #expect(throws: ClientError.self) {
        _ = try await client.attachments.keep(largest + Data([1]), name: "too large")
      }
      let file = try await client.attachments.keep(largest, name: "largest")
      await #expect(
        throws: ClientError.queue(
          .limitReached(what: "MiB of attachments on one device", max: 10))
      ) { _ = try await client.attachments.keep(Self.png, name: "one more") }
      // The same bytes again need no space.
      #expect(try await client.attachments.keep(largest, name: "again").hash == file.hash)
      await client.close()
    }
  }

  /// The retention time of a file that is attached again starts again.
  @Test func filesAttachedAgainStay() async throws {
    try await ClientFixture.withServer { fixture in
      let client = try await fixture.open()
      client.apply(DeviceSettings(attachmentRetention: 2))
      let file = try await client.attachments.keep(Self.png, name: "a.png")
      let day: Int64 = 86_400_000
      try await client.attachments.sync(now: day)
      _ = try await client.attachments.keep(Self.png, name: "again.png")
      try await client.attachments.sync(now: 4 * day)
      #expect(try await client.attachments.bytes(of: file.hash) == Self.png)
      try await client.attachments.sync(now: 7 * day)
      await #expect(throws: ClientError.attachmentMissing(hash: file.hash, isPaired: false)) {
        _ = try await client.attachments.bytes(of: file.hash)
      }
      await client.close()
    }
  }

  // Removal with the message's retention.
  @Test func unneededFilesAreRemovedAfterTheRetentionTime() async throws {
    try await ClientFixture.withServer { fixture in
      let client = try await fixture.open()
      client.apply(DeviceSettings(attachmentRetention: 2))
      try await client.perform(.text("look", 1))
      let file = try await client.attachments.keep(Self.png, name: "a.png")
      try await client.perform(.attach(Self.message, [file]))
      let day: Int64 = 86_400_000
      let start: Int64 = 1_800_000_000_000
      try await client.attachments.sync(now: start)
      try await client.attachments.sync(now: start + 30 * day)
      #expect(try client.attachments.files(of: Self.message).map(\.isHere) == [true])
      try await client.perform(.cancel([Self.message]))
      try await client.attachments.sync(now: start + 31 * day)
      try await client.attachments.sync(now: start + 33 * day - 1)
      #expect(try client.attachments.files(of: Self.message).map(\.isHere) == [true])
      // Restored in time, it is needed again.
      try await client.perform(.restore(Self.message))
      try await client.attachments.sync(now: start + 33 * day)
      try await client.perform(.cancel([Self.message]))
      try await client.attachments.sync(now: start + 34 * day)
      try await client.attachments.sync(now: start + 36 * day)
      #expect(try client.attachments.files(of: Self.message).map(\.isHere) == [false])
      await client.close()
    }
  }

  @Test func aFileThatDoesNotGetThroughKeepsNoOtherWaiting() async throws {
    try await ClientFixture.withServer { fixture in
      let client = try await fixture.open()
      _ = try await client.pair(server: fixture.server.url, code: "BCDF-GHJK")
      try await client.perform(.text("look", 1))
      var files: [QueueModel.Attachment] = []
      for number in UInt8(1)...3 {
        files.append(
          try await client.attachments.keep(Self.png + Data([number]), name: "\(number).png"))
      }
      try await client.perform(.attach(Self.message, files))
      let hashes = files.map { "\($0.hash)" }.sorted()
      fixture.server.change { $0.breaksOff = [hashes[0]] }
      await #expect {
        try await client.attachments.sync(now: 1)
      } throws: { error in
        if case ClientError.unreachable = error { true } else { false }
      }
      #expect(fixture.server.script.files == Set(hashes[1...]))
      fixture.server.change { $0.breaksOff = [] }
      try await client.attachments.sync(now: 2)
      #expect(fixture.server.script.files == Set(hashes))
      await client.close()
    }
  }

  @Test func unneededFilesAreRemovedWithoutAServer() async throws {
    try await ClientFixture.withServer { fixture in
      let client = try await fixture.open()
      let file = try await client.attachments.keep(Self.png, name: "a.png")
      try await withThrowingTaskGroup(of: Void.self) { group in
        group.addTask { try await client.run() }
        while try await client.keeper.all().first?.unneededSince == nil {
          try await Task.sleep(for: .milliseconds(5))
        }
        group.cancelAll()
      }
      try await client.attachments.sync(now: DeviceClock.wallMilliseconds + 31 * 86_400_000)
      #expect(!client.keeper.has(file.hash))
      await client.close()
    }
  }

  /// Another device's message may need a file while this one has not caught up.
  @Test func filesAreRemovedOnlyByADeviceThatIsInSync() async throws {
    try await ClientFixture.withServer { fixture in
      let late: Int64 = 1_900_000_000_000
      let away = try await fixture.open()
      _ = try await away.pair(server: fixture.server.url, code: "BCDF-GHJK")
      let file = try await away.attachments.keep(Self.png, name: "a.png")
      try await away.keeper.uploaded(file.hash)
      try await away.keeper.unneeded(file.hash, since: 1)
      fixture.server.change { $0.files = ["\(file.hash)"] }
      try await away.attachments.sync(now: late)
      #expect(fixture.server.script.files == ["\(file.hash)"])
      #expect(away.keeper.has(file.hash))
      await away.close()
      try await fixture.running(paired: false) { client in
        try await client.waitUntilSynced(timeout: ClientFixture.patience)
        try await client.attachments.sync(now: late)
        #expect(fixture.server.script.files.isEmpty)
        #expect(!client.keeper.has(file.hash))
      }
    }
  }

  @Test func aFileThatTheHostLooksForIsSentAgain() async throws {
    try await ClientFixture.withServer { fixture in
      let client = try await fixture.open()
      _ = try await client.pair(server: fixture.server.url, code: "BCDF-GHJK")
      try await client.perform(.text("look", 1))
      let file = try await client.attachments.keep(Self.png, name: "a.png")
      try await client.perform(.attach(Self.message, [file]))
      try await client.attachments.sync(now: 1)
      fixture.server.change { $0.files = [] }
      try await client.attachments.sync(now: 2)
      #expect(fixture.server.script.files.isEmpty)
      try await client.perform(
        .reportRun(Self.message, Run(token: 1, attempt: 1, phase: .dispatched, milliseconds: 1)))
      try await client.attachments.sync(now: 3)
      #expect(fixture.server.script.files == ["\(file.hash)"])
      await client.close()
    }
  }

  @Test func inSyncMeansThatTheFilesAreAtTheServer() async throws {
    try await ClientFixture.withServer { fixture in
      try await fixture.running { client in
        try await client.waitUntilSynced(timeout: ClientFixture.patience)
        fixture.server.change { $0.refusesFiles = true }
        try await client.perform(.text("look", 1))
        let file = try await client.attachments.keep(Self.png, name: "a.png")
        try await client.perform(.attach(Self.message, [file]))
        let refusal = await #expect(throws: ClientError.self) {
          try await client.waitUntilSynced(timeout: ClientFixture.patience)
        }
        #expect(refusal?.code == "blobQuota" && refusal?.exitCode == 7, "\(refusal as Any)")
        #expect(refusal?.description.contains("1 file of a waiting message is not on") == true)
        #expect(try await client.attachments.unsent().count == 1)
        fixture.server.change { $0.refusesFiles = false }
        try await client.waitUntilSynced(timeout: ClientFixture.patience)
        #expect(fixture.server.script.files == ["\(file.hash)"])
        #expect(try await client.attachments.unsent() == UnsentFiles())
      }
    }
  }

  @Test func filesThatTheServerLacksTooAreGone() async throws {
    try await ClientFixture.withServer { fixture in
      try await fixture.running { client in
        try await client.perform(.text("look", 1))
        let file = try QueueModel.Attachment(
          hash: #require(AttachmentStore.hash(of: Self.png)), name: "a.png",
          mediaType: "image/png", size: Self.png.count)
        try await client.perform(.attach(Self.message, [file]))
        try await client.waitUntilSynced(timeout: ClientFixture.patience)
        #expect(try await client.attachments.goneFiles(of: Self.message) == ["a.png"])
        fixture.server.change { $0.files = ["\(file.hash)"] }
        #expect(try await client.attachments.goneFiles(of: Self.message).isEmpty)
      }
    }
  }

  /// The clock of the scripted server is not the one of the machine.
  @Test func theServersClockCountsTheDaysOfAFile() async throws {
    try await ClientFixture.withServer { fixture in
      try await fixture.running { client in
        try await client.waitUntilSynced(timeout: ClientFixture.patience)
        _ = try await client.attachments.keep(Self.png, name: "a.png")
        var since: Int64?
        while since == nil {
          since = try await client.keeper.all().first?.unneededSince
          try await Task.sleep(for: .milliseconds(5))
        }
        let time = try #require(since)
        #expect(abs(time - ScriptedServer.milliseconds) < 3_600_000)
      }
    }
  }

  @Test func filesAreRepairedAfterACrash() async throws {
    try await ClientFixture.withServer { fixture in
      var client = try await fixture.open()
      try await client.perform(.text("look", 1))
      let file = try await client.attachments.keep(Self.png, name: "a.png")
      try await client.perform(.attach(Self.message, [file]))
      await client.close()
      let folder = fixture.directory + "/attachments"
      try Data([1]).write(to: URL(filePath: folder + "/\(file.hash).new"))
      try FileManager.default.removeItem(atPath: folder + "/\(file.hash)")
      let stray = Data("stray".utf8)
      client = try await fixture.open()
      #expect(try FileManager.default.contentsOfDirectory(atPath: folder) == [])
      #expect(try client.attachments.files(of: Self.message).map(\.isHere) == [false])
      let other = try await client.attachments.keep(stray, name: "stray")
      #expect(other.mediaType == "text/plain")
      await client.close()
    }
  }
}
