import Foundation
package import NIOSSL

/// The certificate of the fakes, for `localhost` and 127.0.0.1. It is its own root, the same as in
/// the server's tests; `SyncServerTests/Certificates/make.sh` made it.
package enum TestAuthority {
  package static let certificateFile = path("localhost.pem")
  /// For the same names, until 2021.
  package static let expiredFile = path("expired.pem")

  /// - Parameter protocols: the protocols offered by ALPN.
  package static func serverContext(
    protocols: [String], isExpired: Bool = false
  ) throws -> NIOSSLContext {
    let chain = try NIOSSLCertificate.fromPEMFile(isExpired ? expiredFile : certificateFile)
    let keyFile = path(isExpired ? "expired.key.pem" : "localhost.key.pem")
    var configuration = TLSConfiguration.makeServerConfiguration(
      certificateChain: chain.map { .certificate($0) },
      privateKey: .privateKey(try NIOSSLPrivateKey(file: keyFile, format: .pem)))
    configuration.applicationProtocols = protocols
    return try NIOSSLContext(configuration: configuration)
  }

  private static func path(_ name: String) -> String {
    URL(filePath: #filePath).deletingLastPathComponent().deletingLastPathComponent()
      .appending(path: "SyncServerTests/Certificates/\(name)").path(percentEncoded: false)
  }
}
