import Foundation

/// What the operating system refused.
enum SystemFault {
  /// The error of the call that failed just now.
  static var last: NSError { numbered(errno) }

  /// The error of a number of the system's; errno(3).
  static func numbered(_ number: Int32) -> NSError {
    NSError(domain: NSPOSIXErrorDomain, code: Int(number))
  }

  /// An error, and that below it which it was made of.
  static func causes(of error: any Error) -> [NSError] {
    // Mostly a Swift error, of which no `as? NSError` makes one on Linux.
    let underlying = (error as NSError).userInfo[NSUnderlyingErrorKey] as? any Error
    return [error as NSError] + (underlying.map { [$0 as NSError] } ?? [])
  }

  /// Why, in the system's words if there are some: Foundation's say neither which file nor why.
  static func reason(_ error: any Error) -> String {
    guard let system = causes(of: error).first(where: { $0.domain == NSPOSIXErrorDomain }) else {
      return error.localizedDescription
    }
    return String(cString: strerror(Int32(clamping: system.code)))
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
