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

  private static func text(_ piece: OutputPiece) -> String {
    String(decoding: piece.bytes, as: UTF8.self)
  }

  /// Places count from the beginning of the output, whatever of it is kept.
  @Test func aPieceBeginsWhereItWasWanted() throws {
    let directory = try TemporaryDirectory()
    defer { directory.remove() }
    let folder = OutputFolder(dataDirectory: directory.path)
    let writer = folder.writer(of: Self.message(1), attempt: 2)
    let line = Array("a line of 32 bytes, with its end\n".utf8.suffix(32))
    let count = 3 * OutputFolder.attemptBytesMax / line.count / 2
    for _ in 0..<count { writer.append(line) }
    var part = OutputPart(message: Self.message(1), start: 0)
    let first = folder.piece(part)
    #expect(first.attempt == 2 && first.runs)
    #expect(first.bytes.count == OutputLimits.pieceBytes.upperBound)
    #expect(first.start > 0 && first.start.isMultiple(of: 32), "its beginning was dropped")
    part.start = nil
    part.bytesMax = 64
    #expect(folder.piece(part).bytes == line + line)
    #expect(folder.piece(part).end == UInt64(count * 32))
    part.start = UInt64(count * 32)
    #expect(folder.piece(part).bytes.isEmpty)
    part.start = 1 << 60
    let beyond = folder.piece(part)
    #expect(beyond.start == 1 << 60 && beyond.bytes.isEmpty, "nothing is there yet")
    // All of it, piece by piece, across the halves, is what is kept.
    writer.close()
    part = OutputPart(message: Self.message(1), attempt: 2, start: 0, bytesMax: 1_000)
    var whole: [UInt8] = []
    while true {
      let piece = folder.piece(part)
      #expect(!piece.runs)
      if piece.bytes.isEmpty { break }
      whole += piece.bytes
      part.start = piece.end
    }
    let record = try #require(folder.record(of: Self.message(1)))
    #expect(record.truncated && record.text == String(decoding: whole, as: UTF8.self))
    #expect(record.next == count * 32 && !record.running)
    #expect(folder.piece(OutputPart(message: Self.message(9))).attempt == nil)
  }

  /// Pieces do not cut scalars while the rest is to come.
  @Test func scalarsStayWhole() throws {
    let directory = try TemporaryDirectory()
    defer { directory.remove() }
    let folder = OutputFolder(dataDirectory: directory.path)
    let writer = folder.writer(of: Self.message(1), attempt: 1)
    writer.append(Array("a✓".utf8.dropLast()))
    var part = OutputPart(message: Self.message(1), start: 0, bytesMax: 4)
    #expect(Self.text(folder.piece(part)) == "a")
    part.start = 1
    #expect(folder.piece(part).bytes.isEmpty, "its rest may come")
    writer.append([0x93] + Array("é😀z".utf8))
    #expect(Self.text(folder.piece(part)) == "✓")
    part.start = nil
    #expect(Self.text(folder.piece(part)) == "z", "the end begins with a whole scalar")
    writer.append([0xE2])
    writer.close()
    part.bytesMax = 100
    #expect(folder.piece(part).bytes.last == 0xE2, "nothing more comes")
  }

  @Test func aReaderWaitsForTheAgent() async throws {
    let directory = try TemporaryDirectory()
    defer { directory.remove() }
    let folder = OutputFolder(dataDirectory: directory.path)
    let writer = folder.writer(of: Self.message(1), attempt: 1)
    var part = OutputPart(message: Self.message(1), attempt: 1, start: 0, waitMilliseconds: 20_000)
    async let begun = folder.awaitedPiece(part)
    writer.append(Array("begun".utf8))
    #expect(Self.text(await begun) == "begun")
    part.start = 5
    async let ended = folder.awaitedPiece(part)
    writer.close()
    #expect(await ended.bytes.isEmpty)
    #expect(await !ended.runs)
    // A wait has an end.
    _ = folder.writer(of: Self.message(2), attempt: 1)
    part = OutputPart(message: Self.message(2), attempt: 1, start: 0, waitMilliseconds: 150)
    #expect(await folder.awaitedPiece(part).runs)
  }
}
