import Foundation

/// What the operating system refused.
enum SystemFault {
  /// The error of the call that failed just now.
  static var last: NSError { NSError(domain: NSPOSIXErrorDomain, code: Int(errno)) }

  /// Why, in the system's words where there are some: Foundation's say neither which file nor why.
  static func reason(_ error: any Error) -> String {
    let error = error as NSError
    let underlying = error.userInfo[NSUnderlyingErrorKey] as? NSError
    if let system = [error, underlying].compactMap({ $0 }).first(where: {
      $0.domain == NSPOSIXErrorDomain
    }) {
      return String(cString: strerror(Int32(clamping: system.code)))
    }
    let absent = [CocoaError.fileNoSuchFile, .fileReadNoSuchFile].map(\.rawValue)
    guard error.domain == NSCocoaErrorDomain, absent.contains(error.code) else {
      return error.localizedDescription
    }
    return String(cString: strerror(ENOENT))
  }

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
