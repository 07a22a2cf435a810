import Foundation
import QueueOracle
import Synchronization

/// The disk of one machine: the contents of its database files if the power failed now.
///
/// The files themselves are real, in a real directory, and SQLite reads them. Beside them is a
/// model of the synced contents: a write counts after the next sync of its file. `crash` restores
/// the files to that, plus any part of the later writes that the disk may have done by itself,
/// sector by sector, in any order.
///
/// Like SQLite, it assumes that a write does not change the bytes beside it
/// (`SQLITE_IOCAP_POWERSAFE_OVERWRITE`), and that a file's name is durable with its first sync.
final class Disk: Sendable {
  /// The bytes that a disk writes as a whole.
  static let sectorBytes = 512

  enum Change {
    case write(offset: Int, bytes: [UInt8])
    case truncate(size: Int)
  }

  /// One file since the last crash.
  struct File {
    /// The synced contents; nil if the file was never synced.
    var synced: [UInt8]?
    var unsynced: [Change] = []
  }

  struct State {
    var files: [String: File] = [:]
    /// Deleted without a sync of the directory: they may exist again after a crash.
    var ghosts: [String: File] = [:]
    /// The power is off: nothing works until the crash is over.
    var isOff = false
    /// Writes, truncations, syncs and deletions left until the power fails; nil for never.
    var countdown: Int?
    var writes = 0
    var syncs = 0
    /// Writes that were not synced at crashes, and those of them that were lost or torn.
    var unsyncedAtCrashes = 0
    var lostAtCrashes = 0
  }

  let directory: String
  private let state: Mutex<State>

  init(directory: String) {
    self.directory = directory
    state = Mutex(State())
  }

  var isOff: Bool { state.withLock { $0.isOff } }
  var statistics: State { state.withLock { $0 } }

  /// The power fails at the `count`-th change to a file from now on, counted from 1.
  func failPower(after count: Int) {
    state.withLock { $0.countdown = count }
  }

  func failPowerNow() {
    state.withLock { $0.isOff = true }
  }

  /// Whether the power is still on for one more change.
  private static func counts(_ state: inout State) -> Bool {
    guard let countdown = state.countdown else { return true }
    state.countdown = countdown - 1
    if countdown > 1 { return true }
    state.countdown = nil
    return false
  }

  // MARK: - SQLite's calls

  func opened(_ path: String) {
    state.withLock { state in
      guard state.files[path] == nil else { return }
      // Existing contents are durable; a new file is not.
      let existing = FileManager.default.contents(atPath: path).map(Array.init)
      let isFresh = existing?.isEmpty ?? true
      state.files[path] = File(synced: isFresh ? nil : existing)
      state.ghosts[path] = nil
    }
  }

  /// - Returns: whether the power stayed on; the change may be on the disk in either case.
  func changed(_ path: String, _ change: Change) -> Bool {
    state.withLock { state in
      guard !state.isOff else { return false }
      state.writes += 1
      state.files[path, default: File()].unsynced.append(change)
      state.isOff = !Self.counts(&state)
      return !state.isOff
    }
  }

  func synced(_ path: String) -> Bool {
    state.withLock { state in
      guard !state.isOff else { return false }
      guard Self.counts(&state) else {
        state.isOff = true
        return false
      }
      state.syncs += 1
      var file = state.files[path, default: File()]
      file.synced = Self.content(of: file) { _, change in [change] }
      file.unsynced = []
      state.files[path] = file
      // A synced directory has no ghosts; SQLite syncs it with the file it creates there.
      state.ghosts = [:]
      return true
    }
  }

  func deleted(_ path: String, durably: Bool) -> Bool {
    state.withLock { state in
      guard !state.isOff else { return false }
      state.isOff = !Self.counts(&state)
      guard let file = state.files.removeValue(forKey: path) else { return !state.isOff }
      if !durably || state.isOff { state.ghosts[path] = file }
      return !state.isOff
    }
  }

  // MARK: - The crash

  /// Turns the power off, if it is on, and puts the files into a state in which the disk may be.
  ///
  /// - Precondition: the files are not open.
  func crash(using generator: inout SeededGenerator) throws {
    var state = state.withLock { $0 }
    let survival = Survival(using: &generator)
    var images: [String: [UInt8]?] = [:]
    for (path, file) in state.files.sorted(by: { $0.key < $1.key }) {
      images[path] = image(of: file, survival, &state, &generator)
    }
    for (path, file) in state.ghosts.sorted(by: { $0.key < $1.key })
    where images[path] == nil && generator.chance(50) {
      images[path] = image(of: file, survival, &state, &generator)
    }
    for (path, image) in images {
      if let image { try overwrite(path, with: image) } else { try remove(path) }
    }
    // Shared memory is memory.
    for name in try FileManager.default.contentsOfDirectory(atPath: directory)
    where name.hasSuffix("-shm") {
      try remove(directory + "/" + name)
    }
    state.files = [:]
    state.ghosts = [:]
    state.isOff = false
    state.countdown = nil
    let after = state
    self.state.withLock { $0 = after }
  }

  /// How much of the unsynced data a crash leaves.
  private enum Survival {
    case nothing
    case everything
    case someWrites
    case someSectors
    case aPrefix

    init(using generator: inout SeededGenerator) {
      self =
        generator.pick([.nothing, .everything, .someWrites, .someSectors, .aPrefix])
        ?? .nothing
    }
  }

  private func image(
    of file: File, _ survival: Survival, _ state: inout State,
    _ generator: inout SeededGenerator
  ) -> [UInt8]? {
    state.unsyncedAtCrashes += file.unsynced.count
    let end = generator.below(file.unsynced.count + 1)
    var random = generator
    var lost = 0
    let content = Self.content(of: file) { index, change in
      let all = Self.sectors(of: change)
      let left: [Change] =
        switch survival {
        case .nothing: []
        case .everything: all
        case .someWrites: random.chance(50) ? all : []
        case .someSectors: all.filter { _ in random.chance(50) }
        case .aPrefix:
          index < end ? all : index == end ? all.filter { _ in random.chance(50) } : []
        }
      if left.count < all.count { lost += 1 }
      return left
    }
    generator = random
    state.lostAtCrashes += lost
    // A file that was never synced may have no name, either.
    if file.synced == nil, content.isEmpty || survival == .nothing { return nil }
    return content
  }

  private static func sectors(of change: Change) -> [Change] {
    guard case .write(let offset, let bytes) = change else { return [change] }
    var pieces: [Change] = []
    var start = 0
    while start < bytes.count {
      let toBoundary = sectorBytes - (offset + start) % sectorBytes
      let end = min(bytes.count, start + toBoundary)
      pieces.append(.write(offset: offset + start, bytes: Array(bytes[start..<end])))
      start = end
    }
    return pieces
  }

  /// The synced contents with the changes that `selection` leaves.
  private static func content(
    of file: File, selection: (Int, Change) -> [Change]
  ) -> [UInt8] {
    var content = file.synced ?? []
    for (index, change) in file.unsynced.enumerated() {
      for part in selection(index, change) {
        switch part {
        case .truncate(let size):
          if size < content.count { content.removeLast(content.count - size) }
          if size > content.count { content += [UInt8](repeating: 0, count: size - content.count) }
        case .write(let offset, let bytes):
          let end = offset + bytes.count
          if end > content.count { content += [UInt8](repeating: 0, count: end - content.count) }
          content.replaceSubrange(offset..<end, with: bytes)
        }
      }
    }
    return content
  }

  /// In place, so that it stays the same file.
  private func overwrite(_ path: String, with bytes: [UInt8]) throws {
    if !FileManager.default.fileExists(atPath: path) {
      let isCreated = FileManager.default.createFile(
        atPath: path, contents: nil, attributes: [.posixPermissions: 0o600])
      precondition(isCreated, "the test's directory takes files")
    }
    let handle = try FileHandle(forUpdating: URL(fileURLWithPath: path))
    try handle.truncate(atOffset: 0)
    try handle.write(contentsOf: Data(bytes))
    try handle.close()
  }

  private func remove(_ path: String) throws {
    if FileManager.default.fileExists(atPath: path) {
      try FileManager.default.removeItem(atPath: path)
    }
  }
}
