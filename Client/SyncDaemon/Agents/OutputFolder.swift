import Foundation
import LocalAPI
import QueueModel
import Synchronization

/// The output of agents, in files beside the store: a bounded file for each attempt, and a bounded
/// number of them.
struct OutputFolder: Sendable {
  /// The maximum number of bytes kept of one attempt. The beginning is dropped, since the end shows
  /// the result.
  static let attemptBytesMax = 1 << 20
  /// The number of attempts that are kept; the oldest are removed first.
  static let attemptsMax = 500

  let path: String

  init(dataDirectory: String) {
    path = dataDirectory + "/output"
  }

  /// The output of a message's attempt, or of its latest one; nil if none is kept.
  func record(of message: MessageID, attempt: Int? = nil) -> OutputAnswer? {
    let latest =
      attempt
      ?? files().keys.compactMap { name -> Int? in
        guard name.hasPrefix("\(message)-") else { return nil }
        return Int(name.dropFirst("\(message)-".count))
      }.max()
    guard let latest else { return nil }
    let file = "\(path)/\(message)-\(latest).log"
    // The newer half may be missing if the disk refused it.
    let halves = [file + ".1", file].compactMap { FileManager.default.contents(atPath: $0) }
    guard !halves.isEmpty else { return nil }
    return OutputAnswer(
      attempt: latest, text: String(decoding: halves.reduce(Data(), +), as: UTF8.self),
      truncated: FileManager.default.fileExists(atPath: file + ".cut"))
  }

  /// The writer of an attempt's output. If the output cannot be kept, it is dropped, and the agent
  /// continues.
  func writer(of message: MessageID, attempt: UInt16) -> OutputWriter {
    OutputWriter(folder: path, name: "\(message)-\(attempt).log")
  }

  /// The files of each attempt, by its name: the newer half, the older one, and the mark that more
  /// was written. Each may exist without the others.
  private func files() -> [String: [String]] {
    let names = (try? FileManager.default.contentsOfDirectory(atPath: path)) ?? []
    return Dictionary(grouping: names.filter { $0.contains(".log") }) { name in
      name.firstRange(of: ".log").map { String(name[..<$0.lowerBound]) } ?? name
    }
  }

  /// Removes the oldest attempts beyond the maximum. Call it at the end of a turn, since its
  /// beginning must not be delayed.
  func prune() {
    let attempts = files().values
    guard attempts.count > OutputFolder.attemptsMax else { return }
    let dated = attempts.map { names in (names: names, date: names.map(date(of:)).max()) }
    let surplus = dated.sorted { ($0.date ?? .distantPast) < ($1.date ?? .distantPast) }
      .prefix(attempts.count - OutputFolder.attemptsMax)
    for name in surplus.flatMap(\.names) { unlink("\(path)/\(name)") }
  }

  private func date(of name: String) -> Date {
    let attributes = try? FileManager.default.attributesOfItem(atPath: "\(path)/\(name)")
    return attributes?[.modificationDate] as? Date ?? .distantPast
  }
}

/// One attempt's output file: two halves, of which the older one is dropped when the newer is full.
final class OutputWriter: Sendable {
  private struct State {
    var file: FileHandle?
    var isOpen = false
    var size = 0
  }

  private let folder: String
  private let path: String
  private let state = Mutex(State())

  init(folder: String, name: String) {
    self.folder = folder
    path = "\(folder)/\(name)"
  }

  /// Creates the file if nothing was written yet. Call it when the agent has been started, since
  /// the agent does not wait for the file system.
  func begin() {
    state.withLock { open(&$0) }
  }

  private func open(_ state: inout State) {
    guard !state.isOpen else { return }
    mkdir(folder, 0o700)
    // Foundation would write another file first and rename it.
    let file = Foundation.open(path, O_WRONLY | O_CREAT | O_TRUNC | O_CLOEXEC, 0o600)
    state = State(
      file: file < 0 ? nil : FileHandle(fileDescriptor: file, closeOnDealloc: true), isOpen: true)
  }

  /// Adds bytes; bytes that the disk refuses are lost.
  func append(_ piece: [UInt8]) {
    let bytes = Data(piece.suffix(OutputFolder.attemptBytesMax / 2))
    state.withLock { state in
      open(&state)
      if state.size + bytes.count > OutputFolder.attemptBytesMax / 2 { turn(&state) }
      state.size += bytes.count
      try? state.file?.write(contentsOf: bytes)
    }
  }

  private func turn(_ state: inout State) {
    try? state.file?.close()
    if FileManager.default.fileExists(atPath: path + ".1") {
      let cut = Foundation.open(path + ".cut", O_WRONLY | O_CREAT | O_CLOEXEC, 0o600)
      if cut >= 0 { Foundation.close(cut) }
    }
    rename(path, path + ".1")
    state.isOpen = false
    open(&state)
  }

  /// Ends the file; an agent that wrote nothing has an empty file.
  func close() {
    state.withLock { state in
      open(&state)
      try? state.file?.close()
      state.file = nil
    }
  }
}
