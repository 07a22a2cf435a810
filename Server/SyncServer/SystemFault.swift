import Foundation

/// What the operating system refused.
enum SystemFault {
  /// The error of the call that failed just now.
  static var last: NSError { NSError(domain: NSPOSIXErrorDomain, code: Int(errno)) }
}
