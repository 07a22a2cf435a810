package import Platform

/// The file of a service that is being rewritten, and its former content.
package struct ServiceFile: Sendable {
  package let path: String
  /// nil if there was none.
  package let former: Data?

  /// Reads the present file.
  package init(_ path: String) throws(OperationFailure) {
    self.path = path
    do {
      former =
        FileManager.default.fileExists(atPath: path)
        ? try Data(contentsOf: URL(filePath: path)) : nil
    } catch {
      throw .unreadable(path, because: error)
    }
  }

  package func write(_ text: String) throws(OperationFailure) { try write(Data(text.utf8)) }

  package func bringBack() throws(OperationFailure) {
    if let former { try write(former) } else { try Self.remove(path) }
  }

  package static func remove(_ path: String) throws(OperationFailure) {
    do {
      try FileManager.default.removeItem(atPath: path)
    } catch {
      throw .unwritable(path, "cannot be removed", because: error)
    }
  }

  private func write(_ text: Data) throws(OperationFailure) {
    do {
      try FileManager.default.createDirectory(
        at: URL(fileURLWithPath: path).deletingLastPathComponent(),
        withIntermediateDirectories: true)
      try text.write(to: URL(fileURLWithPath: path), options: .atomic)
      // systemd warns if others cannot read a unit.
      try FileManager.default.setAttributes([.posixPermissions: 0o644], ofItemAtPath: path)
    } catch {
      throw .unwritable(path, because: error)
    }
  }

  /// Restores the former state of the machine after a new service did not start.
  ///
  /// - Parameters:
  ///   - error: why it did not start.
  ///   - wrote: the output of the service; nil if it cannot be read.
  ///   - wasService: whether a service ran without this file, for example one from a package.
  ///   - command: the command, with `VERB` in place of `logs` and `uninstall`.
  /// - Returns: the error for the user.
  package func failure(
    _ error: OperationFailure, wrote: String?, wasService: Bool = false, command: String,
    bringBack: () async throws(OperationFailure) -> Void
  ) async -> OperationFailure {
    var failure = error
    failure.message +=
      wrote.map { "\nIts output:\n\($0)" }
      ?? "\nTo see its output, if you may read the log: "
      + command.replacing("VERB", with: "logs")
    do throws(OperationFailure) {
      try await bringBack()
    } catch {
      failure.message +=
        "\nThe former state could not be restored: \(error.message)\nRemove it: "
        + command.replacing("VERB", with: "uninstall")
      return failure
    }
    failure.message +=
      (former != nil || wasService
        ? "\nThe former service was restored." : "\nThe service was removed again.")
      + " Correct the error, and install it again."
    return failure
  }
}
