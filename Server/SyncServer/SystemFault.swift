import Foundation

/// Errors of the operating system.
enum SystemFault {
  /// The error of the call that failed just now.
  static var last: NSError { numbered(errno) }

  /// The error with a system error number; errno(3).
  static func numbered(_ number: Int32) -> NSError {
    NSError(domain: NSPOSIXErrorDomain, code: Int(number))
  }

  /// An error, and the underlying errors that caused it.
  static func causes(of error: any Error) -> [NSError] {
    // Usually a Swift error, which `as? NSError` does not convert on Linux.
    let underlying = (error as NSError).userInfo[NSUnderlyingErrorKey] as? any Error
    return [error as NSError] + (underlying.map { [$0 as NSError] } ?? [])
  }

  /// The reason, in the system's words if possible: Foundation's text has neither the file nor the
  /// reason.
  static func reason(_ error: any Error) -> String {
    guard let system = causes(of: error).first(where: { $0.domain == NSPOSIXErrorDomain }) else {
      return error.localizedDescription
    }
    return String(cString: strerror(Int32(clamping: system.code)))
  }

  /// Whether the account lacks the permission.
  static func isForbidden(_ error: any Error) -> Bool {
    let error = error as NSError
    return switch error.domain {
    case NSPOSIXErrorDomain: [EACCES, EPERM].contains(Int32(clamping: error.code))
    case NSCocoaErrorDomain:
      [CocoaError.fileReadNoPermission.rawValue, CocoaError.fileWriteNoPermission.rawValue]
        .contains(error.code)
    default: false
    }
  }
}
