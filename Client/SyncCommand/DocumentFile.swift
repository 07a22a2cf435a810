import Basics
import Platform

#if canImport(Darwin)
  import Darwin
#elseif canImport(Glibc)
  import Glibc
#elseif canImport(Musl)
  import Musl
#endif

/// A command whose answer is written to a file, or unchanged to stdout.
protocol DocumentCommand: DaemonCommand {
  /// The destination; - or nil is stdout.
  var file: String? { get }
  /// Whether an existing file may be replaced.
  var force: Bool { get }
}

extension DocumentCommand {
  func received(_ answer: Answer) throws {
    guard let file, file != "-" else { return }
    try DocumentFile.write(answer.json, to: file, replaces: force)
  }

  func text(of answer: Answer, style: TextStyle) throws -> String {
    guard let file, file != "-" else { return style.document(answer.json) }
    return DocumentFile.written(answer.json, to: file)
  }
}

/// Documents in files.
enum DocumentFile {
  /// The maximum size of documents that the daemon accepts and returns.
  static let bytesMax = 256 << 20

  /// - Parameter input: read if the path is "-".
  static func read(_ path: String, or input: StandardInput) throws -> String {
    guard path != "-" else { return try input.text(for: path) }
    let data: Data
    do {
      data = try bytes(of: path)
    } catch {
      throw CommandFailure.unreadable(path, because: error)
    }
    guard data.count <= bytesMax else {
      throw CommandFailure(
        code: "unreadableFile", message: "\(path) has more than \(bytesMax) bytes.",
        exitCode: ExitStatus.failed)
    }
    guard let text = String(validating: data, as: UTF8.self) else {
      throw CommandFailure(
        code: "invalidDocument", message: "\(path) is not UTF-8.", exitCode: ExitStatus.corrupt)
    }
    return text
  }

  /// The content of a file. A pipe or a device, as in `<(…)` and `/dev/stdin`, has no size, and is
  /// read to its end.
  private static func bytes(of path: String) throws -> Data {
    var status = stat()
    guard stat(path, &status) == 0, [S_IFIFO, S_IFCHR].contains(status.st_mode & S_IFMT) else {
      return try Data(contentsOf: URL(fileURLWithPath: path))
    }
    let file = open(path, O_RDONLY | O_CLOEXEC)
    guard file >= 0 else { throw POSIXError(POSIXErrorCode(rawValue: errno) ?? .EIO) }
    defer { close(file) }
    var data = Data()
    while data.count <= bytesMax, let piece = try StandardInput.nextPiece(of: file) {
      data += piece
    }
    return data
  }

  /// Replaces an existing document at once, so that a full disk leaves the old one.
  ///
  /// - Parameter replaces: whether an existing file may be replaced. A file that is not a plain
  ///   file never is.
  static func write(_ data: Data, to path: String, replaces: Bool) throws {
    var status = stat()
    if lstat(path, &status) == 0 {
      guard status.st_mode & S_IFMT == S_IFREG else {
        throw CommandFailure(
          code: "unwritableFile",
          message:
            "\(path) is not a regular file, so it was not replaced. To write to standard output, give -.",
          exitCode: ExitStatus.failed)
      }
      guard replaces else {
        throw CommandFailure(
          code: "fileExists", message: "\(path) exists already. To replace it, add --force.",
          exitCode: ExitStatus.failed)
      }
    }
    do {
      try data.write(to: URL(fileURLWithPath: path), options: .atomic)
    } catch {
      throw CommandFailure.unwritable(path, because: error)
    }
  }

  /// The message about it.
  static func written(_ data: Data, to path: String) -> String {
    "written to \(TextStyle.line(path)), " + ReceiptText.counted(data.count, "byte")
  }
}
