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
  private let writers = OpenWriters()

  init(dataDirectory: String) {
    path = dataDirectory + "/output"
  }

  /// The output of a message's attempt, or of its latest one; nil if none is kept.
  func record(of message: MessageID, attempt: Int? = nil) -> OutputAnswer? {
    let attempt = attempt.flatMap(UInt16.init(exactly:))
    let piece = piece(
      OutputPart(message: message, attempt: attempt, start: 0, bytesMax: Self.attemptBytesMax))
    return OutputAnswer(piece, of: message)
  }

  /// A part of what is kept.
  func piece(_ part: OutputPart) -> OutputPiece {
    guard let attempt = part.attempt ?? latestAttempt(of: part.message) else { return .none }
    let file = "\(path)/\(part.message)-\(attempt).log"
    guard let writer = writers.paths.withLock({ $0[file] }) else {
      return KeptOutput(file)?.piece(part, of: attempt, runs: false) ?? .none
    }
    return writer.whileWaiting {
      KeptOutput(file)?.piece(part, of: attempt, runs: true)
        ?? OutputPiece(attempt: attempt, runs: true, start: part.start ?? 0, bytes: [])
    }
  }

  /// The same, but if its agent has written nothing there yet, as soon as it has, or has ended, or
  /// the time of the part is over.
  func awaitedPiece(_ part: OutputPart) async -> OutputPiece {
    let deadline = ContinuousClock.now + .milliseconds(part.waitMilliseconds)
    var part = part
    while true {
      let piece = piece(part)
      part.attempt = piece.attempt
      guard piece.bytes.isEmpty, piece.runs, .now < deadline else { return piece }
      do { try await Task.sleep(for: Self.lookPeriod) } catch { return piece }
    }
  }

  /// How often a reader looks for something new.
  private static let lookPeriod = Duration.milliseconds(100)

  private func latestAttempt(of message: MessageID) -> UInt16? {
    files().keys.compactMap { name in
      name.hasPrefix("\(message)-") ? UInt16(name.dropFirst("\(message)-".count)) : nil
    }.max()
  }

  /// The writer of an attempt's output. If the output cannot be kept, it is dropped, and the agent
  /// continues.
  func writer(of message: MessageID, attempt: UInt16) -> OutputWriter {
    OutputWriter(folder: path, name: "\(message)-\(attempt).log", among: writers)
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
  private let writers: OpenWriters
  private let state = Mutex(State())

  fileprivate init(folder: String, name: String, among writers: OpenWriters) {
    self.folder = folder
    path = "\(folder)/\(name)"
    self.writers = writers
    writers.paths.withLock { $0[path] = self }
  }

  /// Reads what is kept while nothing is written.
  fileprivate func whileWaiting<Value>(_ read: () -> Value) -> Value {
    state.withLock { _ in read() }
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
    KeptOutput(path)?.dropOlderHalf()
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
    writers.paths.withLock { $0[path] = nil }
  }
}

/// The writers of attempts whose agents may still write, by the path of the newer half.
private final class OpenWriters: Sendable {
  let paths = Mutex<[String: OutputWriter]>([:])
}
