import Logging
import NIOCore
import NIOPosix
import NIOSSL

/// The certificate of new connections, read again when its files change: a renewal needs no
/// restart. Lives on one event loop.
final class CertificateReloader {
  private static let lookMilliseconds: Int64 = 1_000

  private(set) var context: NIOSSLContext
  /// When that certificate expires, seconds since 1970; the files may contain an unusable one.
  private(set) var endsAt: Int64?
  private let certificate: ServerCertificate
  private let closingMilliseconds: Int64
  private let loop: any EventLoop
  private let thread: NIOThreadPool
  private let logger: Logger
  private var marks: [FileMark?]
  private var lookedAt: Int64 = .min / 2
  private var isLooking = false

  /// The data that is read before there is a loop.
  struct Reading: Sendable {
    var certificate: ServerCertificate
    var closingMilliseconds: Int64
    var marks: [FileMark?]
    var context: NIOSSLContext
    var endsAt: Int64?

    /// Blocks.
    ///
    /// - Throws: `.failed`, naming the file and its fault.
    init(_ certificate: ServerCertificate, closingMilliseconds: Int64) throws(SyncServerError) {
      self.certificate = certificate
      self.closingMilliseconds = closingMilliseconds
      // Read first, so that a change during the reading causes another one.
      marks = Self.marks(of: certificate)
      context = try certificate.makeContext(closingMilliseconds: closingMilliseconds)
      endsAt = certificate.endsAt
    }

    static func marks(of certificate: ServerCertificate) -> [FileMark?] {
      [FileMark(path: certificate.chainFile), FileMark(path: certificate.keyFile)]
    }
  }

  init(_ reading: Reading, loop: any EventLoop, thread: NIOThreadPool, logger: Logger) {
    context = reading.context
    endsAt = reading.endsAt
    certificate = reading.certificate
    closingMilliseconds = reading.closingMilliseconds
    marks = reading.marks
    self.loop = loop
    self.thread = thread
    self.logger = logger
  }

  /// Some time has passed: checks whether the files have changed.
  func timePassed(uptime: Int64) {
    guard !isLooking, uptime - lookedAt >= Self.lookMilliseconds else { return }
    lookedAt = uptime
    isLooking = true
    let (certificate, closing, known) = (certificate, closingMilliseconds, marks)
    let bound = NIOLoopBound(self, eventLoop: loop)
    thread.runIfActive(eventLoop: loop) { () throws -> Look? in
      let marks = Reading.marks(of: certificate)
      guard marks != known else { return nil }
      do throws(SyncServerError) {
        return .read(try Reading(certificate, closingMilliseconds: closing))
      } catch {
        return .failed(marks, reason: error.message)
      }
    }.whenComplete { bound.value.looked($0) }
  }

  private enum Look: Sendable {
    case read(Reading)
    case failed([FileMark?], reason: String)
  }

  private func looked(_ result: Result<Look?, any Error>) {
    isLooking = false
    // The thread has ended and reads nothing: the server stops.
    guard case .success(let look?) = result else { return }
    switch look {
    case .read(let reading):
      marks = reading.marks
      context = reading.context
      endsAt = reading.endsAt
      logger.notice("the certificate was reloaded")
    case .failed(let marks, let reason):
      // The chain and the key are written one after the other, and may match soon.
      self.marks = marks
      logger.warning(
        "the new certificate cannot be used, so the server keeps the old one: \(reason)")
    }
  }
}
