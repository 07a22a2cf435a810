import ClientCore
import NIOCore
import NIOHTTP1
import NIOPosix
import NIOSSL
import QueueModel

/// Requests for the files of attachments on one connection to the server; SPECIFICATION.md, section
/// "Attachments".
struct BlobExchange: Sendable {
  var address: ServerAddress
  var certificateFile: String?
  var token: [UInt8]

  /// How long all requests of one connection may take.
  static let timeoutSeconds = 110.0

  enum Failure: Error, Hashable {
    /// The server's words and status.
    case refused(status: Int, String)
    case unreachable(String)
  }

  private typealias Channel = NIOAsyncChannel<HTTPClientResponsePart, HTTPClientRequestPart>
  private typealias Inbound = NIOAsyncChannelInboundStream<HTTPClientResponsePart>
  private typealias Outbound = NIOAsyncChannelOutboundWriter<HTTPClientRequestPart>

  /// Offers a file: asks whether it is there, and sends it where it is not.
  func offer(_ bytes: [UInt8], as hash: ContentHash) async throws(Failure) {
    try await converse { inbound, outbound in
      var replies = inbound.makeAsyncIterator()
      let look = try await request(.HEAD, hash, [], on: outbound, &replies)
      if look.status == 200 { return }
      guard look.status == 404 else { throw refusal(look) }
      let put = try await request(.PUT, hash, bytes, on: outbound, &replies)
      guard put.status == 200 || put.status == 201 else { throw refusal(put) }
    }
  }

  /// Fetches a file; nil where the server does not have it. The caller checks the bytes.
  func fetch(_ hash: ContentHash) async throws(Failure) -> [UInt8]? {
    try await converse { inbound, outbound in
      var replies = inbound.makeAsyncIterator()
      let reply = try await request(.GET, hash, [], on: outbound, &replies)
      switch reply.status {
      case 200: return Array(reply.body.readableBytesView)
      case 404: return nil
      default: throw refusal(reply)
      }
    }
  }

  /// Removes a file from the server, where it is there.
  func remove(_ hash: ContentHash) async throws(Failure) {
    try await converse { inbound, outbound in
      var replies = inbound.makeAsyncIterator()
      let reply = try await request(.DELETE, hash, [], on: outbound, &replies)
      guard reply.status == 200 || reply.status == 404 else { throw refusal(reply) }
    }
  }

  private func refusal(_ reply: (status: Int, body: ByteBuffer)) -> Failure {
    let text = String(buffer: reply.body).prefix(200)
    return .refused(status: reply.status, text.split(separator: "\n").first.map(String.init) ?? "")
  }

  private func request(
    _ method: HTTPMethod, _ hash: ContentHash, _ body: [UInt8], on outbound: Outbound,
    _ replies: inout Inbound.AsyncIterator
  ) async throws -> (status: Int, body: ByteBuffer) {
    var headers: HTTPHeaders = ["host": address.hostField]
    let digits = token.map { byte in
      let text = String(byte, radix: 16)
      return text.utf8.count == 1 ? "0" + text : text
    }.joined()
    headers.add(name: "authorization", value: "Bearer \(digits)")
    if method == .PUT { headers.add(name: "content-length", value: "\(body.count)") }
    let head = HTTPRequestHead(
      version: .http1_1, method: method, uri: "/v1/blobs/\(hash)", headers: headers)
    var parts: [HTTPClientRequestPart] = [.head(head)]
    if method == .PUT { parts.append(.body(.byteBuffer(ByteBuffer(bytes: body)))) }
    try await outbound.write(contentsOf: parts + [.end(nil)])
    var status: Int?
    var answer = ByteBuffer()
    while let part = try await replies.next(isolation: #isolation) {
      switch part {
      case .head(let head): status = Int(head.status.code)
      case .body(var bytes):
        guard answer.readableBytes + bytes.readableBytes <= Limits.attachmentBytesMax else {
          throw Failure.unreachable("\(address.url) sends more than a file can have")
        }
        answer.writeBuffer(&bytes)
      case .end:
        if let status { return (status, answer) }
      }
    }
    throw Failure.unreachable("\(address.url) closed the connection")
  }

  /// Opens a connection, talks, and closes it, within the time there is.
  private func converse<Value: Sendable>(
    _ body: @escaping @Sendable (Inbound, Outbound) async throws -> Value
  ) async throws(Failure) -> Value {
    do {
      return try await withThrowingTaskGroup(of: Value.self) { tasks in
        tasks.addTask {
          let channel = try await connect()
          return try await channel.executeThenClose { try await body($0, $1) }
        }
        tasks.addTask {
          try await Task.sleep(for: .seconds(BlobExchange.timeoutSeconds))
          throw Failure.unreachable("\(address.url) does not answer in time")
        }
        defer { tasks.cancelAll() }
        guard let value = try await tasks.next() else {
          throw Failure.unreachable("\(address.url) does not answer")
        }
        return value
      }
    } catch let failure as Failure {
      throw failure
    } catch {
      throw .unreachable(OpeningTrouble(address: address).explain(error))
    }
  }

  private func connect() async throws -> Channel {
    let security = try Transport.makeSecurity(for: address, certificateFile: certificateFile)
    return try await ClientBootstrap(group: MultiThreadedEventLoopGroup.singleton)
      .connectTimeout(.milliseconds(10_000))
      .connect(host: address.host, port: address.port) { channel in
        channel.eventLoop.makeCompletedFuture {
          let pipeline = channel.pipeline.syncOperations
          if let security {
            // A server name is for names alone; addresses are checked against the peer.
            let isAddress = (try? SocketAddress(ipAddress: address.host, port: 0)) != nil
            try pipeline.addHandler(
              NIOSSLClientHandler(
                context: security, serverHostname: isAddress ? nil : address.host))
          }
          try pipeline.addHTTPClientHandlers(leftOverBytesStrategy: .dropBytes)
          return try Channel(wrappingChannelSynchronously: channel)
        }
      }
  }
}
