import Foundation
package import NIOSSL

/// The certificate of the fakes, for `localhost` and 127.0.0.1. It is its own root, the same that the
/// server's tests use; `SyncServerTests/Certificates/make.sh` made it.
package enum TestAuthority {
  package static let certificateFile = path("localhost.pem")
  private static let keyFile = path("localhost.key.pem")

  /// - Parameter protocols: what is offered by ALPN.
  package static func serverContext(protocols: [String]) throws -> NIOSSLContext {
    let chain = try NIOSSLCertificate.fromPEMFile(certificateFile)
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
