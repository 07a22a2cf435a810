import Foundation

/// What the operating system refused.
enum SystemFault {
  /// The error of the call that failed just now.
  static var last: NSError { NSError(domain: NSPOSIXErrorDomain, code: Int(errno)) }

  /// Whether the account may not do what was tried.
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
