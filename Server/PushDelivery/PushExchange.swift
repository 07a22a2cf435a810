import AsyncHTTPClient
import Foundation
import NIOCore
import NIOHTTP1
import NIOPosix
import NIOSSL
import NetworkAddresses
import PushNotices

/// A provider's answer.
struct HTTPAnswer: Sendable {
  var status: Int
  var headers: HTTPHeaders
  /// At most `PushLimits.answerBytesMax` bytes; empty if there were more.
  var body: [UInt8]
  /// The value of its header `Retry-After`, at most a day.
  var retryAfter: Duration?
}

/// Why there is no answer, in our own words: libraries' texts may contain addresses.
struct TransportFailure: Error, Hashable {
  var reason: String
  /// Whether the time limit was exceeded.
  var isDeadline = false
}

/// One request with a total deadline, without redirects, and with a bounded answer.
struct PushExchange: Sendable {
  /// Returns the client for a URL.
  var client: @Sendable (_ url: String) async throws -> HTTPClient
  var deadline: Duration

  /// - Parameter now: milliseconds since 1970, for a `Retry-After` with a date.
  func send(_ request: HTTPClientRequest, now: Int64) async throws(TransportFailure) -> HTTPAnswer {
    let result: Result<HTTPAnswer, TransportFailure>
    do {
      result = .success(
        try await withThrowingTaskGroup(of: HTTPAnswer?.self) { group in
          group.addTask { try await answer(to: request, now: now) }
          // The library's own deadline ends with the head of the answer.
          group.addTask {
            try await Task.sleep(for: deadline)
            return nil
          }
          defer { group.cancelAll() }
          guard let first = try await group.next(), let answer = first else {
            throw TransportFailure.late
          }
          return answer
        })
    } catch let failure as TransportFailure {
      result = .failure(failure)
    } catch {
      result = .failure(TransportFailure(error))
    }
    return try result.get()
  }

  private func answer(to request: HTTPClientRequest, now: Int64) async throws -> HTTPAnswer {
    let time = TimeAmount.milliseconds(max(deadline.wholeMilliseconds, 1))
    let response = try await client(request.url).execute(request, timeout: time)
    var body: [UInt8] = []
    do {
      body = Array(
        try await response.body.collect(upTo: PushLimits.answerBytesMax).readableBytesView)
    } catch is NIOTooManyBytesError {
      // The status is enough; the rest of so long a body is not read.
    }
    return HTTPAnswer(
      status: Int(response.status.code), headers: response.headers, body: body,
      retryAfter: response.headers.first(name: "Retry-After").flatMap {
        RetryAfter.duration($0, now: now)
      })
  }
}

extension TransportFailure {
  static let late = TransportFailure(
    reason: "no answer before the deadline", isDeadline: true)

  init(_ error: any Error) {
    switch error {
    case let error as HTTPClientError where Self.lateErrors.contains(error): self = .late
    case let error as HTTPClientError where error == .tlsHandshakeTimeout:
      self.init(reason: "the TLS handshake took too long", isDeadline: true)
    case is NIOSSLError, is NIOSSLExtraError, is BoringSSLError:
      self.init(reason: "TLS failed: the server's certificate is not trusted or not for its name")
    case is NIOConnectionError: self.init(reason: "the server cannot be reached")
    case is CancellationError: self.init(reason: "stopped")
    case let error as HTTPClientError where error == .cancelled || error == .alreadyShutdown:
      self.init(reason: "stopped")
    default: self.init(reason: "the connection broke (\(type(of: error)))")
    }
  }

  private static let lateErrors: [HTTPClientError] = [
    .deadlineExceeded, .connectTimeout, .readTimeout, .getConnectionFromPoolTimeout,
  ]
}

/// The header `Retry-After` (RFC 9110, 10.2.3).
enum RetryAfter {
  static let secondsMax: Int64 = 86_400

  static func duration(_ text: String, now: Int64) -> Duration? {
    if let seconds = Int64(text) {
      return seconds >= 0 ? .seconds(min(seconds, secondsMax)) : nil
    }
    let format = DateFormatter()
    format.locale = Locale(identifier: "en_US_POSIX")
    format.timeZone = TimeZone(secondsFromGMT: 0)
    format.dateFormat = "EEE, dd MMM yyyy HH:mm:ss 'GMT'"
    guard let date = format.date(from: text) else { return nil }
    let seconds = date.timeIntervalSince1970 - Double(now) / 1_000
    return .seconds(min(max(Int64(seconds.rounded(.up)), 0), secondsMax))
  }
}

/// Creates the HTTP clients for pushes.
struct PushTransport: Sendable {
  private var tls: TLSConfiguration

  /// Trusts the system's roots.
  init() {
    var tls = TLSConfiguration.makeClientConfiguration()
    tls.minimumTLSVersion = .tlsv12
    self.tls = tls
  }

  /// - Parameter trustedRootFile: a root certificate, PEM, in addition to the system's. It is read
  ///   now, so that a wrong path is reported at setup and not when a push is due.
  init(trustedRootFile: String?) throws(PushConfigurationError) {
    self.init()
    guard let trustedRootFile else { return }
    tls.additionalTrustRoots = [.certificates(try PushTransport.roots(in: trustedRootFile))]
  }

  static func roots(in file: String) throws(PushConfigurationError) -> [NIOSSLCertificate] {
    let bytes: [UInt8]
    do {
      bytes = Array(try Data(contentsOf: URL(fileURLWithPath: file)))
    } catch {
      throw .trustedRootNotReadable(file: file, reason: error.localizedDescription)
    }
    // The library's text about a file without PEM does not help; the file's name does.
    guard let roots = try? NIOSSLCertificate.fromPEMBytes(bytes), !roots.isEmpty else {
      throw .noTrustedRoot(file: file)
    }
    return roots
  }

  /// A client that follows no redirects, checks certificates, and gives up at once if the port is
  /// closed: the caller's schedule does the waiting. It must be shut down.
  ///
  /// - Parameters:
  ///   - host: a name that is not looked up again, and `address`, its address.
  func makeClient(
    _ version: HTTPClient.Configuration.HTTPVersion, for host: String? = nil,
    at address: InternetAddress? = nil
  ) -> HTTPClient {
    // One connection until HTTP/2 is confirmed, so that many first requests do not open one each.
    let pool = HTTPClient.Configuration.ConnectionPool(
      idleTimeout: .minutes(10),
      concurrentHTTP1ConnectionsPerHostSoftLimit: version == .automatic ? 1 : 8)
    var configuration = HTTPClient.Configuration(
      tlsConfiguration: tls, redirectConfiguration: .disallow,
      timeout: HTTPClient.Configuration.Timeout(connect: .seconds(10)), connectionPool: pool)
    configuration.connectionPool.retryConnectionEstablishment = false
    configuration.httpVersion = version
    if let host, let address, InternetAddress(host) == nil, !host.hasPrefix("[") {
      configuration.dnsOverride = [host: address.description]
    }
    return HTTPClient(eventLoopGroupProvider: .singleton, configuration: configuration)
  }
}
