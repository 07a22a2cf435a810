import Foundation
import Logging
import NIOSSL
import Synchronization

/// The certificate of the page's listener. It is read again after its files were written again, so
/// that a renewal needs no restart.
final class WebCertificate: Sendable {
  /// The fault of the files, for users.
  struct Problem: Error, CustomStringConvertible {
    var description: String
  }

  private struct Reading {
    /// When both files were written.
    var times: [Date?]
    var context: NIOSSLContext
  }

  private let chainFile: String
  private let keyFile: String
  private let logger: Logger
  private let reading: Mutex<Reading>

  /// Reads both files.
  ///
  /// - Throws: which of them cannot be used, and why.
  init(chainFile: String, keyFile: String, logger: Logger) throws(Problem) {
    self.chainFile = chainFile
    self.keyFile = keyFile
    self.logger = logger
    reading = Mutex(
      Reading(
        times: [chainFile, keyFile].map(WebCertificate.time),
        context: try WebCertificate.context(chainFile, keyFile)))
  }

  /// The context of a new connection. It costs two calls to the file system. If the new files
  /// cannot be used, the old certificate stays.
  var context: NIOSSLContext {
    reading.withLock { reading in
      let times = [chainFile, keyFile].map(WebCertificate.time)
      guard times != reading.times else { return reading.context }
      reading.times = times
      do throws(Problem) {
        reading.context = try WebCertificate.context(chainFile, keyFile)
        logger.notice("the page's certificate was reloaded")
      } catch {
        logger.warning("the page's new certificate cannot be used: \(error)")
      }
      return reading.context
    }
  }

  private static func time(_ path: String) -> Date? {
    // A file that is being replaced is missing for a moment.
    (try? FileManager.default.attributesOfItem(atPath: path))?[.modificationDate] as? Date
  }

  private static func context(
    _ chainFile: String, _ keyFile: String
  ) throws(Problem) -> NIOSSLContext {
    guard let chain = try? NIOSSLCertificate.fromPEMFile(chainFile), !chain.isEmpty else {
      throw Problem(description: "\(chainFile) contains no certificate in PEM")
    }
    guard let key = try? NIOSSLPrivateKey(file: keyFile, format: .pem) else {
      throw Problem(description: "\(keyFile) contains no PEM key without a passphrase")
    }
    var configuration = TLSConfiguration.makeServerConfiguration(
      certificateChain: chain.map { .certificate($0) }, privateKey: .privateKey(key))
    configuration.minimumTLSVersion = .tlsv12
    configuration.applicationProtocols = ["http/1.1"]
    do {
      return try NIOSSLContext(configuration: configuration)
    } catch {
      throw Problem(
        description:
          "the key in \(keyFile) does not match the certificate in \(chainFile), which must "
          + "be the first in that file")
    }
  }
}
