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
  /// A file that the system does not let be written or removed: why, where it says, and what to do.
  ///
  /// - Parameter what: what could not be done, behind the file's path.
  static func unwritable(
    _ path: String, _ what: String = "cannot be written", because error: any Error
  ) -> CommandFailure {
    let underlying = (error as? CocoaError)?.underlying ?? error
    return unwritable(path, what, errorNumber: (underlying as? POSIXError)?.code.rawValue)
  }

  /// The same with the system's number of the reason; nil where it told none.
  static func unwritable(
    _ path: String, _ what: String = "cannot be written", errorNumber: Int32?
  ) -> CommandFailure {
    let reason = errorNumber.map { ": " + String(cString: strerror($0)) } ?? ""
    let fix =
      switch errorNumber {
      case EACCES, EPERM: " Give yourself the right to write there."
      case ENOSPC, EDQUOT: " Make room on that disk."
      default: ""
      }
    return CommandFailure(
      code: "unwritableFile", message: "\(path) \(what)\(reason).\(fix)", exitCode: ExitStatus.disk)
  }
}
