import Operations

extension CommandFailure {
  init(_ failure: OperationFailure) {
    self.init(code: failure.code, message: failure.message, exitCode: failure.exitCode)
  }

  /// The system refuses to write or remove a file.
  ///
  /// - Parameter what: what could not be done, after the file's path.
  static func unwritable(
    _ path: String, _ what: String = "cannot be written", because error: any Error
  ) -> CommandFailure { CommandFailure(.unwritable(path, what, because: error)) }

  /// The same with the system's error number.
  static func unwritable(_ path: String, errorNumber: Int32) -> CommandFailure {
    CommandFailure(.unwritable(path, errorNumber: errorNumber))
  }

  /// The system refuses to read a file.
  static func unreadable(_ path: String, because error: any Error) -> CommandFailure {
    CommandFailure(.unreadable(path, because: error))
  }
}
