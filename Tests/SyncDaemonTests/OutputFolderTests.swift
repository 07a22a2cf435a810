import Foundation
import LocalAPI
import QueueModel
import Testing

@testable import SyncDaemon

/// The stored part of agents' output.
struct OutputFolderTests {
  private static func message(_ number: Int) -> MessageID {
    MessageID(high: 1, low: UInt64(number))
  }

  /// If the disk cannot store the newer half, the older one stays.
  @Test func anAttemptWithoutItsNewerHalfIsShownAndRemovedInItsTurn() throws {
    let directory = try TemporaryDirectory()
    defer { directory.remove() }
    let folder = OutputFolder(dataDirectory: directory.path)
    let first = folder.writer(of: Self.message(0), attempt: 1)
    first.append(Array("the only half".utf8))
    first.close()
    let file = "\(folder.path)/\(Self.message(0))-1.log"
    try FileManager.default.moveItem(atPath: file, toPath: file + ".1")
    try FileManager.default.setAttributes(
      [.modificationDate: Date(timeIntervalSince1970: 0)], ofItemAtPath: file + ".1")
    #expect(folder.record(of: Self.message(0))?.text == "the only half")
    #expect(folder.record(of: Self.message(0))?.attempt == 1)
    for number in 1...OutputFolder.attemptsMax {
      folder.writer(of: Self.message(number), attempt: 1).close()
    }
    folder.prune()
    #expect(folder.record(of: Self.message(0)) == nil)
    let left = try FileManager.default.contentsOfDirectory(atPath: folder.path)
    #expect(left.count == OutputFolder.attemptsMax)
  }
}
