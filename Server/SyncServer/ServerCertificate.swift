import Foundation
import NIOCore
import NIOSSL

/// The files of a server that uses TLS itself.
package struct ServerCertificate: Hashable, Sendable {
  /// The certificate chain up to the root, PEM, with the server's own certificate first.
  package var chainFile: String
  /// The private key, PEM, without a passphrase.
  package var keyFile: String

  package init(chainFile: String, keyFile: String) {
    self.chainFile = chainFile
    self.keyFile = keyFile
  }

  /// Reads both files and checks that they belong together.
  ///
  /// - Throws: `.failed`, naming the file and its fault.
  func makeContext(closingMilliseconds: Int64) throws(SyncServerError) -> NIOSSLContext {
    let chain = try certificates()
    let key = try privateKey()
    var configuration = TLSConfiguration.makeServerConfiguration(
      certificateChain: chain.map { .certificate($0) }, privateKey: .privateKey(key))
    configuration.minimumTLSVersion = .tlsv12
    configuration.applicationProtocols = ["http/1.1"]
    configuration.shutdownTimeout = .milliseconds(closingMilliseconds)
    do {
      return try NIOSSLContext(configuration: configuration)
    } catch NIOSSLError.failedToLoadPrivateKey {
      throw SyncServerError(
        .failed,
        "The key in \(keyFile) does not match the certificate in \(chainFile). The server's "
          + "own certificate must be the first in the file.")
    } catch {
      throw SyncServerError(
        .failed, "\(chainFile) and \(keyFile) cannot be used for TLS: \(error).")
    }
  }

  /// When the server's own certificate expires, seconds since 1970; nil if it cannot be read.
  package var endsAt: Int64? {
    (try? certificates().first).flatMap { $0 }.map { Int64($0.notValidAfter) }
  }

  private func certificates() throws(SyncServerError) -> [NIOSSLCertificate] {
    let bytes = try ServerCertificate.read(chainFile, as: "certificate")
    // The library's text about a file without PEM does not help; the file's name does.
    guard let chain = try? NIOSSLCertificate.fromPEMBytes(bytes), !chain.isEmpty else {
      throw SyncServerError(
        .failed, "The certificate file \(chainFile) contains no certificate in PEM.")
    }
    return chain
  }

  private func privateKey() throws(SyncServerError) -> NIOSSLPrivateKey {
    let bytes = try ServerCertificate.read(keyFile, as: "key")
    guard let key = try? NIOSSLPrivateKey(bytes: bytes, format: .pem) else {
      throw SyncServerError(
        .failed,
        "The key file \(keyFile) contains no PEM private key without a passphrase.")
    }
    return key
  }

  private static func read(
    _ path: String, as what: String
  ) throws(SyncServerError) -> [UInt8] {
    do {
      return Array(try Data(contentsOf: URL(fileURLWithPath: path)))
    } catch {
      throw SyncServerError(
        .failed, "The \(what) file \(path) cannot be read: \(reason(for: error)).")
    }
  }

  private static func reason(for error: any Error) -> String {
    switch (error as? CocoaError)?.code {
    case .fileReadNoSuchFile, .fileNoSuchFile: "the file does not exist"
    case .fileReadNoPermission: "permission denied"
    default: (error as? CocoaError)?.localizedDescription ?? "\(error)"
    }
  }
}

extension Channel {
  /// Closes without the TLS closing handshake, which a stalled client would not answer. Call it on
  /// the channel's event loop.
  func closeAtOnce() {
    let security = try? pipeline.syncOperations.context(handlerType: NIOSSLServerHandler.self)
    // Closing from a handler's position would skip that handler.
    if let security {
      security.close(promise: nil)
    } else {
      close(mode: .all, promise: nil)
    }
  }
}
