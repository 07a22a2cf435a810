import Basics
import Platform

/// Why an operation on this machine failed, as text for its operator and as a code for programs.
package struct OperationFailure: Error, Equatable {
  package var code: String
  package var message: String
  package var exitCode: Int32

  init(_ code: String, _ message: String, exitCode: Int32 = ExitStatus.failed) {
    (self.code, self.message, self.exitCode) = (code, message, exitCode)
  }
}

extension OperationFailure {
  /// The system refuses to write or remove a file: the reason, if it gives one, and the advice.
  ///
  /// - Parameter what: the failed operation, after the file's path.
  package static func unwritable(
    _ path: String, _ what: String = "cannot be written", because error: any Error
  ) -> OperationFailure {
    unwritable(path, what, errorNumber: errorNumber(of: error))
  }

  /// The same with the system's error number; nil if it gave none.
  package static func unwritable(
    _ path: String, _ what: String = "cannot be written", errorNumber: Int32?
  ) -> OperationFailure {
    let fix =
      switch errorNumber {
      case EACCES, EPERM: " Give yourself write permission there."
      case ENOSPC, EDQUOT: " Free space on that disk."
      case EEXIST, ENOTDIR: " A file is in the place of the folder: move it away."
      default: ""
      }
    return OperationFailure(
      "unwritableFile", "\(path) \(what)\(reason(errorNumber)).\(fix)", exitCode: ExitStatus.disk)
  }

  /// The system refuses to read a file: the reason, if it gives one, and the advice.
  package static func unreadable(_ path: String, because error: any Error) -> OperationFailure {
    let number = errorNumber(of: error)
    let isForbidden = number == EACCES || number == EPERM
    let fix = isForbidden ? " Give yourself permission to read it." : ""
    return OperationFailure("unreadableFile", "\(path) cannot be read\(reason(number)).\(fix)")
  }

  private static func errorNumber(of error: any Error) -> Int32? {
    let underlying = (error as? CocoaError)?.underlying ?? error
    return (underlying as? POSIXError)?.code.rawValue
  }

  private static func reason(_ errorNumber: Int32?) -> String {
    errorNumber.map { ": " + String(cString: strerror($0)) } ?? ""
  }
}
