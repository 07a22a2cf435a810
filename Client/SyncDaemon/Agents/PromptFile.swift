import Foundation
import SystemPackage

/// Standard input of an agent: a file without a name. So an agent that does not read it blocks no
/// writer, however long the prompt is.
enum PromptFile {
  /// A descriptor at the start of the text, or of an empty file. The caller closes it.
  static func descriptor(holding text: String?) throws -> FileDescriptor {
    guard let text, !text.isEmpty else {
      return try FileDescriptor.open("/dev/null", .readOnly, options: .closeOnExec)
    }
    let folder = FileManager.default.temporaryDirectory.path
    let path = FilePath(folder + "/cospool-\(UUID().uuidString)")
    let file = try FileDescriptor.open(
      path, .readWrite, options: [.create, .exclusiveCreate, .closeOnExec],
      permissions: [.ownerReadWrite])
    unlink(path.string)
    do {
      try file.writeAll(text.utf8)
      try file.seek(offset: 0, from: .start)
      return file
    } catch {
      close(file.rawValue)
      throw error
    }
  }
}
