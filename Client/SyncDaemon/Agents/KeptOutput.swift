import Foundation
import QueueModel

/// The files of one attempt's output: two halves, and the number of bytes before them that were
/// dropped.
struct KeptOutput {
  /// The older half and the newer one; either may be missing if the disk refused it.
  private let halves: [(file: String, size: UInt64)]
  private let path: String
  /// The place of the first byte that is kept. An earlier version did not count what it dropped.
  let start: UInt64

  var end: UInt64 { halves.reduce(start) { $0 + $1.size } }

  /// The specification's limit; a file may hold any number.
  private static let placeMax: UInt64 = 1 << 61

  /// - Parameter path: that of the newer half.
  /// - Returns: nil if neither half is there.
  init?(_ path: String) {
    self.path = path
    halves = [path + ".1", path].compactMap { file in
      var facts = stat()
      return stat(file, &facts) == 0 ? (file, UInt64(facts.st_size)) : nil
    }
    guard !halves.isEmpty else { return nil }
    let cut = FileManager.default.contents(atPath: path + ".cut")
    start = cut.map { min(UInt64(String(decoding: $0, as: UTF8.self)) ?? 1, Self.placeMax) } ?? 0
  }

  /// Notes that the older half makes room for the newer one.
  func dropOlderHalf() {
    guard halves.first?.file == path + ".1" else { return }
    let dropped = Data("\(start + halves[0].size)".utf8)
    _ = FileManager.default.createFile(
      atPath: path + ".cut", contents: dropped, attributes: [.posixPermissions: 0o600])
  }

  /// - Parameter runs: whether the agent may still write.
  func piece(_ part: OutputPart, of attempt: UInt16, runs: Bool) -> OutputPiece {
    let most = UInt64(part.bytesMax)
    // Beyond the end there is nothing, yet.
    let from = max(start, part.start ?? (end > most ? end - most : 0))
    var piece = OutputPiece(
      attempt: attempt, runs: runs, start: from, bytes: bytes(from: from, max: part.bytesMax))
    piece.cutToScalars(followed: runs || piece.end < end)
    return piece
  }

  private func bytes(from place: UInt64, max most: Int) -> [UInt8] {
    var bytes: [UInt8] = []
    var begin = start
    for (file, size) in halves {
      defer { begin += size }
      guard bytes.count < most, begin + size > place, let half = FileHandle(forReadingAtPath: file)
      else { continue }
      try? half.seek(toOffset: max(place, begin) - begin)
      if let read = try? half.read(upToCount: most - bytes.count) { bytes += read }
      try? half.close()
    }
    return bytes
  }
}

extension OutputPiece {
  /// What is left of an attempt of which nothing is kept.
  static let none = OutputPiece(attempt: nil, runs: false, start: 0, bytes: [])
}
