import Foundation
import NIOCore
import NIOHTTP1
import NIOPosix
import SyncClient

/// One HTTP request over TCP; its answer arrives in pieces.
struct HTTPCall: Sendable {
  var host: String
  var port: Int
  var method: HTTPMethod
  /// With its query, percent-encoded.
  var path: String
  var body: String?
  var authorization: String?

  enum Failure: Error, Equatable, CustomStringConvertible {
    /// No program listens there, so nothing was sent.
    case notConnected(String)
    /// The connection broke, or the answer was not HTTP; the request may have arrived.
    case broken(String)
    case status(Int)
    case tooLarge
    /// It accepted the connection and did not answer in time.
    case silent(Duration)

    /// Whether the request certainly did not arrive.
    var isUnsent: Bool { if case .notConnected = self { true } else { false } }

    var description: String {
      switch self {
      case .notConnected: "no program listens there"
      case .broken(let how): how
      case .status(let code): "it answered with status \(code)"
      case .silent(let limit): "it did not answer within \(limit)"
      case .tooLarge: "its answer has more than \(HTTPCall.answerBytesMax) bytes"
      }
    }
  }

  /// No answer that is read as a whole may take more memory.
  static let answerBytesMax = 64 << 20

  private typealias Channel = NIOAsyncChannel<HTTPClientResponsePart, HTTPClientRequestPart>

  /// The whole answer.
  ///
  /// - Throws: `Failure`, `CancellationError`.
  func answer() async throws -> [UInt8] {
    var bytes: [UInt8] = []
    try await pieces { piece in
      guard bytes.count + piece.count <= HTTPCall.answerBytesMax else { throw Failure.tooLarge }
      bytes += piece
    }
    return bytes
  }

  /// Passes the answer on as it arrives.
  func pieces(_ receive: ([UInt8]) throws -> Void) async throws {
    let channel: Channel
    do {
      channel = try await ClientBootstrap(group: MultiThreadedEventLoopGroup.singleton)
        .connectTimeout(.seconds(10))
        .connect(host: host, port: port) { channel in
          channel.eventLoop.makeCompletedFuture {
            try channel.pipeline.syncOperations.addHTTPClientHandlers()
            return try Channel(wrappingChannelSynchronously: channel).heldUntilClosed()
          }
        }
    } catch {
      throw Failure.notConnected("\(error)")
    }
    do {
      try await channel.executeThenClose { inbound, outbound in
        try await send(on: outbound)
        for try await part in inbound {
          switch part {
          case .head(let head):
            guard head.status.code < 300 else { throw Failure.status(Int(head.status.code)) }
          case .body(let buffer):
            try receive(Array(buffer.readableBytesView))
          case .end:
            return
          }
        }
        try Task.checkCancellation()
        throw Failure.broken("the connection was closed in the middle of an answer")
      }
    } catch let failure as Failure {
      throw failure
    } catch is CancellationError {
      throw CancellationError()
    } catch {
      throw Failure.broken("\(error)")
    }
  }

  private func send(
    on outbound: NIOAsyncChannelOutboundWriter<HTTPClientRequestPart>
  ) async throws {
    var headers: HTTPHeaders = ["host": "\(host):\(port)", "accept": "*/*"]
    if let authorization { headers.add(name: "authorization", value: authorization) }
    if let body {
      headers.add(name: "content-type", value: "application/json")
      headers.add(name: "content-length", value: "\(body.utf8.count)")
    }
    let head = HTTPRequestHead(version: .http1_1, method: method, uri: path, headers: headers)
    try await outbound.write(.head(head))
    if let body { try await outbound.write(.body(.byteBuffer(ByteBuffer(string: body)))) }
    try await outbound.write(.end(nil))
  }
}
