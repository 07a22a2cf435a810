import Basics
import Foundation

/// The place of the daemon's socket: in the data directory, or, if that path is too long for a
/// socket address, in a short private directory, with a file in the data directory that names it.
struct SocketPath: Equatable {
  /// The path to bind.
  var path: String
  /// The file that names `path`, if clients would not find it by themselves.
  var pointerFile: String?
  /// Whether the directory of the socket was made only for this daemon.
  private(set) var hasOwnDirectory = false

  init(path: String, pointerFile: String?) {
    self.path = path
    self.pointerFile = pointerFile
  }

  static let fileName = "cospool.sock"
  /// The socket for requests of the agents that the daemon starts; as long as `fileName` at most.
  static let agentFileName = "agent.sock"
  static let pointerFileName = "cospool.sock.path"

  /// The path to bind for agents that the daemon starts: beside the other, and no longer.
  var agentPath: String {
    pointerFile == nil
      ? path.dropLast(SocketPath.fileName.count) + SocketPath.agentFileName
      : path.dropLast(".sock".count) + ".turn"
  }

  /// The maximum length of a socket address without its terminating zero: 107 bytes on Linux.
  static let pathBytesMax = MemoryLayout.size(ofValue: sockaddr_un().sun_path) - 1

  /// The addition to the name of a fresh directory: `-XXXXXX`.
  private static let freshBytes = 7

  /// Chooses the place, without touching the disk.
  ///
  /// - Parameter runtimeDirectories: short directories to try, in order.
  static func choose(dataDirectory: String, runtimeDirectories: [String]) throws(DaemonFailure)
    -> SocketPath
  {
    let plain = dataDirectory + "/" + fileName
    if plain.utf8.count <= pathBytesMax { return SocketPath(path: plain, pointerFile: nil) }
    let absolute = URL(fileURLWithPath: dataDirectory).standardizedFileURL.path
    let name = "/" + fingerprint(of: absolute) + ".sock"
    for directory in runtimeDirectories
    where (directory + name).utf8.count + freshBytes <= pathBytesMax {
      return SocketPath(
        path: directory + name, pointerFile: dataDirectory + "/" + pointerFileName)
    }
    throw DaemonFailure(
      message: "\(plain) has \(plain.utf8.count) bytes; a socket path holds at most "
        + "\(pathBytesMax). Choose a shorter --data, or set XDG_RUNTIME_DIR to a short directory.",
      exitCode: ExitStatus.failed)
  }

  /// The user's runtime directory, then a private one below the temporary directory.
  static func runtimeDirectories(environment: [String: String]) -> [String] {
    var directories: [String] = []
    if let runtime = environment["XDG_RUNTIME_DIR"], runtime.hasPrefix("/") {
      directories.append(runtime + "/cospool")
    }
    directories.append("/tmp/cospool-\(getuid())")
    return directories
  }

  /// Makes the private directory if one is needed, and removes or writes the file that names it.
  ///
  /// Call it with the store's lock held: the files belong to the daemon that holds it.
  mutating func prepare(dataDirectory: String) throws(DaemonFailure) {
    guard let pointerFile else {
      unlink(dataDirectory + "/" + SocketPath.pointerFileName)
      return
    }
    let (directory, name) = parts
    if !SocketPath.makePrivate(directory) {
      // Another user created it first, in a directory that every user may write to: a fresh one has
      // a name that cannot be guessed.
      var template = Array("\(directory)-XXXXXX".utf8CString)
      guard let fresh = mkdtemp(&template) else {
        throw DaemonFailure(
          message:
            "\(directory) must be a directory that only you can enter, and no other can be "
            + "created beside it: \(errorText()). Set XDG_RUNTIME_DIR to a short directory "
            + "that belongs to you.",
          exitCode: ExitStatus.failed)
      }
      path = "\(String(cString: fresh))/\(name)"
      hasOwnDirectory = true
    }
    do {
      try Data((path + "\n").utf8).write(to: URL(fileURLWithPath: pointerFile), options: .atomic)
    } catch {
      throw DaemonFailure(
        message: "\(pointerFile) cannot be written: \(error)", exitCode: ExitStatus.failed)
    }
  }

  /// Removes the socket and the file that names it.
  func remove() {
    for path in [path, agentPath] {
      // If another file is at the path, binding failed, and the file is not ours to remove.
      let attributes = try? FileManager.default.attributesOfItem(atPath: path)
      if attributes?[.type] as? FileAttributeType == .typeSocket { unlink(path) }
    }
    guard let pointerFile else { return }
    unlink(pointerFile)
    if hasOwnDirectory { rmdir(parts.directory) }
  }

  private var parts: (directory: String, name: String) {
    let slash = path.lastIndex(of: "/") ?? path.startIndex
    return (String(path[..<slash]), String(path[slash...].dropFirst()))
  }

  /// - Returns: whether the directory exists, and only its owner, this user, may enter it.
  private static func makePrivate(_ directory: String) -> Bool {
    if mkdir(directory, 0o700) == 0 { return true }
    let attributes = try? FileManager.default.attributesOfItem(atPath: directory)
    return attributes?[.type] as? FileAttributeType == .typeDirectory
      && (attributes?[.ownerAccountID] as? NSNumber)?.uint32Value == getuid()
      && (attributes?[.posixPermissions] as? NSNumber).map { $0.intValue & 0o077 } == 0
  }

  private func errorText() -> String { String(cString: strerror(errno)) }

  /// FNV-1a, 64 bits: the same name for the same directory, in every process.
  private static func fingerprint(of text: String) -> String {
    let hash = text.utf8.reduce(UInt64(0xCBF2_9CE4_8422_2325)) { hash, byte in
      (hash ^ UInt64(byte)) &* 0x100_0000_01B3
    }
    return Hex.text(hash)
  }
}
