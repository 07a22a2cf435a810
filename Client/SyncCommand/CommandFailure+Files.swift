import Basics

#if canImport(FoundationEssentials)
  import FoundationEssentials
#else
  import Foundation
#endif
#if canImport(Glibc)
  import Glibc
#elseif canImport(Musl)
  import Musl
#elseif canImport(Darwin)
  import Darwin
#endif

extension CommandFailure {
  /// The system refuses to write or remove a file: the reason, if it names one, and the advice.
  ///
  /// - Parameter what: what could not be done, after the file's path.
  static func unwritable(
    _ path: String, _ what: String = "cannot be written", because error: any Error
  ) -> CommandFailure {
    unwritable(path, what, errorNumber: errorNumber(of: error))
  }

  /// The same with the system's error number; nil if it gave none.
  static func unwritable(
    _ path: String, _ what: String = "cannot be written", errorNumber: Int32?
  ) -> CommandFailure {
    let fix =
      switch errorNumber {
      case EACCES, EPERM: " Give yourself write permission there."
      case ENOSPC, EDQUOT: " Free space on that disk."
      case EEXIST, ENOTDIR: " A file is in the place of the folder: move it away."
      default: ""
      }
    return CommandFailure(
      code: "unwritableFile", message: "\(path) \(what)\(reason(errorNumber)).\(fix)",
      exitCode: ExitStatus.disk)
  }

  /// The system refuses to read a file: the reason, if it names one, and the advice.
  static func unreadable(_ path: String, because error: any Error) -> CommandFailure {
    let number = errorNumber(of: error)
    let isForbidden = number == EACCES || number == EPERM
    let fix = isForbidden ? " Give yourself permission to read it." : ""
    return CommandFailure(
      code: "unreadableFile", message: "\(path) cannot be read\(reason(number)).\(fix)",
      exitCode: ExitStatus.failed)
  }

  private static func errorNumber(of error: any Error) -> Int32? {
    let underlying = (error as? CocoaError)?.underlying ?? error
    return (underlying as? POSIXError)?.code.rawValue
  }

  private static func reason(_ errorNumber: Int32?) -> String {
    errorNumber.map { ": " + String(cString: strerror($0)) } ?? ""
  }
}
