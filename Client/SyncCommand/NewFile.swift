import Basics
import Platform

/// A file that did not exist before, and that only its user can read from the beginning.
enum NewFile {
  /// Writes it; if it cannot be written completely, none of it stays.
  ///
  /// - Throws: `CommandFailure` if a file exists there already, even one that appeared a moment
  ///   ago, or if the system does not let it be written.
  static func write(_ text: String, to path: String) throws(CommandFailure) {
    let file = open(path, O_WRONLY | O_CREAT | O_EXCL | O_NOFOLLOW | O_CLOEXEC, 0o600)
    guard file >= 0 else {
      let number = errno
      guard number == EEXIST else { throw .unwritable(path, errorNumber: number) }
      throw CommandFailure(
        code: "fileExists", message: "\(path) exists already. Choose another file.",
        exitCode: ExitStatus.failed)
    }
    var number: Int32? = DescriptorWriter.write(text, to: file) ? nil : errno
    // Some disks report only now that they are full.
    if close(file) != 0, number == nil { number = errno }
    guard let number else { return }
    unlink(path)
    throw .unwritable(path, errorNumber: number)
  }
}
