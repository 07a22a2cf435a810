import Foundation

/// Writes lines for users.
enum Console {
  static func write(_ text: String, to file: FileHandle = .standardOutput) {
    // A reader that has ended is not a failure.
    try? file.write(contentsOf: Data((text + "\n").utf8))
  }

  /// Writes without a line end, for text that is overwritten later.
  static func overwrite(_ text: String, on file: FileHandle) {
    try? file.write(contentsOf: Data(("\r" + text + "\u{1B}[K").utf8))
  }

  static var standardErrorIsTerminal: Bool { isatty(FileHandle.standardError.fileDescriptor) == 1 }

  /// Why a file could not be read or written, as the system reports it if possible.
  static func reason(_ error: any Error) -> String {
    // Usually a Swift error, which `as? NSError` does not convert on Linux.
    let cause = (error as NSError).userInfo[NSUnderlyingErrorKey] as? any Error
    guard let cause = cause.map({ $0 as NSError }), cause.domain == NSPOSIXErrorDomain else {
      return error.localizedDescription
    }
    return String(cString: strerror(Int32(clamping: cause.code)))
  }

  /// Hours, minutes and seconds, as short as possible.
  static func duration(_ seconds: Double) -> String {
    guard seconds.isFinite, seconds < 1e9 else { return "?" }
    let whole = Int(seconds.rounded())
    if whole < 60 { return "\(whole) s" }
    if whole < 3_600 { return "\(whole / 60) min \(whole % 60) s" }
    return "\(whole / 3_600) h \(whole % 3_600 / 60) min"
  }

  /// One digit after the decimal point.
  static func decimal(_ number: Double) -> String { String(format: "%.1f", number) }
}

/// Ctrl-C and SIGTERM as a flag, instead of ending the process.
final class Interruption {
  private let sources: [any DispatchSourceSignal]
  private let flag: InterruptionFlag

  init() {
    let flag = InterruptionFlag()
    self.flag = flag
    sources = [SIGINT, SIGTERM].map { number in
      #if canImport(Darwin)
        // On Apple's platforms, the source sees signals in addition to the usual handling, which
        // would end the process. On Linux the source replaces it, and would never get an ignored
        // signal.
        signal(number, SIG_IGN)
      #endif
      let source = DispatchSource.makeSignalSource(signal: number, queue: .global())
      source.setEventHandler { flag.raise() }
      source.resume()
      return source
    }
  }

  deinit {
    for source in sources { source.cancel() }
  }

  var isRaised: Bool { flag.isRaised }

  /// Can be called from any thread.
  var question: @Sendable () -> Bool {
    let flag = flag
    return { flag.isRaised }
  }
}
