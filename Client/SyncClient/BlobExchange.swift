import Basics
import ClientCore
import ClientStore
import NIOCore
import NIOHTTP1
import NIOPosix
import NIOSSL
import ProxyTunnel
import QueueModel
import Synchronization
import WireProtocol

/// Requests for attachments' files on one connection to the server; SPECIFICATION.md, section
/// "Attachments".
struct BlobExchange: Sendable {
  var address: ServerAddress
  var certificateFile: String?
  var proxyVariables: [String: String] = [:]
  var token: [UInt8]

  /// How long the requests of one connection may take without progress: less than the server's
  /// limit, so that this side ends them.
  private static let graceMilliseconds = Int64(WireLimits.blobSecondsMax - 10) * 1_000
  /// Bytes of a file that are written at a time.
  private static let partBytes = 64 << 10
  /// Bytes that the system may buffer ahead of the network. Buffered bytes count as progress.
  private static let sendBufferBytes = 256 << 10

  enum Failure: Error, Hashable {
    /// The server's text and status.
    case refused(status: Int, String)
    /// The connection cannot be established.
    case unreachable(String)
    /// The connection ended or stalled. Another file may succeed.
    case brokenOff(String)
  }

  /// The progress of the requests of a connection.
  private final class Progress: Sendable {
    private let clock = DeviceClock()
    private let pace = Mutex(
      TransferPace(start: 0, graceMilliseconds: BlobExchange.graceMilliseconds))

    func moved(_ count: Int) { pace.withLock { $0.moved(count, at: clock.now) } }

    /// Returns when the time has passed.
    func run() async throws {
      while true {
        let left = pace.withLock { $0.deadline } - clock.now
        guard left > 0 else { return }
        try await Task.sleep(for: .milliseconds(left))
      }
    }
  }

  private typealias Channel = NIOAsyncChannel<HTTPClientResponsePart, HTTPClientRequestPart>
  private typealias Inbound = NIOAsyncChannelInboundStream<HTTPClientResponsePart>
  private typealias Outbound = NIOAsyncChannelOutboundWriter<HTTPClientRequestPart>

  /// Offers a file: asks whether the server has it, and sends it if it does not.
  func offer(_ bytes: [UInt8], as hash: ContentHash) async throws(Failure) {
    try await converse { inbound, outbound, progress in
      var replies = inbound.makeAsyncIterator()
      let look = try await request(.HEAD, hash, [], on: outbound, &replies, progress)
      if look.status == 200 { return }
      guard look.status == 404 else { throw refusal(look) }
      let put = try await request(.PUT, hash, bytes, on: outbound, &replies, progress)
      guard put.status == 200 || put.status == 201 else { throw refusal(put) }
    }
  }

  /// Whether the server has a file.
  func has(_ hash: ContentHash) async throws(Failure) -> Bool {
    try await converse { inbound, outbound, progress in
      var replies = inbound.makeAsyncIterator()
      let look = try await request(.HEAD, hash, [], on: outbound, &replies, progress)
      guard look.status == 200 || look.status == 404 else { throw refusal(look) }
      return look.status == 200
    }
  }

  /// Fetches a file; nil if the server does not have it. The caller checks the bytes.
  func fetch(_ hash: ContentHash) async throws(Failure) -> [UInt8]? {
    try await converse { inbound, outbound, progress in
      var replies = inbound.makeAsyncIterator()
      let reply = try await request(.GET, hash, [], on: outbound, &replies, progress)
      switch reply.status {
      case 200: return Array(reply.body.readableBytesView)
      case 404: return nil
      default: throw refusal(reply)
      }
    }
  }

  /// Removes a file from the server, if it is there.
  func remove(_ hash: ContentHash) async throws(Failure) {
    try await converse { inbound, outbound, progress in
      var replies = inbound.makeAsyncIterator()
      let reply = try await request(.DELETE, hash, [], on: outbound, &replies, progress)
      guard reply.status == 200 || reply.status == 404 else { throw refusal(reply) }
    }
  }

  private func refusal(_ reply: (status: Int, body: ByteBuffer)) -> Failure {
    var text = String(buffer: reply.body).prefix(200)
    text = text.split(separator: "\n").first ?? ""
    // Whoever shows it ends the sentence.
    if text.hasSuffix(".") { text.removeLast() }
    return .refused(status: reply.status, String(text))
  }

  private func request(
    _ method: HTTPMethod, _ hash: ContentHash, _ body: [UInt8], on outbound: Outbound,
    _ replies: inout Inbound.AsyncIterator, _ progress: Progress
  ) async throws -> (status: Int, body: ByteBuffer) {
    var headers: HTTPHeaders = ["host": address.hostField]
    headers.add(name: "authorization", value: "Bearer \(Hex.text(token))")
    if method == .PUT { headers.add(name: "content-length", value: "\(body.count)") }
    let head = HTTPRequestHead(
      version: .http1_1, method: method, uri: "\(address.folder)/v1/blobs/\(hash)",
      headers: headers)
    try await outbound.write(.head(head))
    var rest = ByteBuffer(bytes: body)
    while rest.readableBytes > 0,
      let part = rest.readSlice(length: min(BlobExchange.partBytes, rest.readableBytes))
    {
      try await outbound.write(.body(.byteBuffer(part)))
      progress.moved(part.readableBytes)
    }
    try await outbound.write(.end(nil))
    var status: Int?
    var answer = ByteBuffer()
    while let part = try await replies.next(isolation: #isolation) {
      switch part {
      case .head(let head): status = Int(head.status.code)
      case .body(var bytes):
        progress.moved(bytes.readableBytes)
        guard answer.readableBytes + bytes.readableBytes <= Limits.attachmentBytesMax else {
          throw Failure.brokenOff("\(address.url) sends more bytes than a file can have")
        }
        answer.writeBuffer(&bytes)
      case .end:
        if let status { return (status, answer) }
      }
    }
    throw Failure.brokenOff("\(address.url) closed the connection")
  }

  /// Opens a connection, exchanges data, and closes it, within the time limit.
  private func converse<Value: Sendable>(
    _ body: @escaping @Sendable (Inbound, Outbound, Progress) async throws -> Value
  ) async throws(Failure) -> Value {
    let problem = OpeningProblem(address: address)
    let channel: Channel
    do {
      channel = try await connect()
    } catch {
      throw .unreachable(problem.explain(error))
    }
    let progress = Progress()
    do {
      return try await withThrowingTaskGroup(of: Value.self) { tasks in
        tasks.addTask {
          try await channel.executeThenClose { try await body($0, $1, progress) }
        }
        tasks.addTask {
          try await progress.run()
          throw Failure.brokenOff("\(address.url) does not answer in time")
        }
        defer { tasks.cancelAll() }
        guard let value = try await tasks.next() else {
          throw Failure.brokenOff("\(address.url) does not answer")
        }
        return value
      }
    } catch let failure as Failure {
      throw failure
    } catch {
      throw .brokenOff(problem.explain(error))
    }
  }

  private func connect() async throws -> Channel {
    let security = try Transport.makeSecurity(for: address, certificateFile: certificateFile)
    let proxy = try address.proxy(among: proxyVariables)
    return try await ClientBootstrap(group: MultiThreadedEventLoopGroup.singleton)
      .connectTimeout(.milliseconds(10_000))
      .channelOption(.socketOption(.so_sndbuf), value: .init(BlobExchange.sendBufferBytes))
      .connect(host: proxy?.host ?? address.host, port: proxy?.port ?? address.port) { channel in
        channel.eventLoop.makeCompletedFuture {
          let pipeline = channel.pipeline.syncOperations
          if let proxy {
            try pipeline.addHandler(ProxyTunnel(through: proxy, to: address.hostField))
          }
          if let security {
            // Only host names may be server names; certificates of addresses are checked against
            // the peer.
            let isAddress = (try? SocketAddress(ipAddress: address.host, port: 0)) != nil
            try pipeline.addHandler(
              NIOSSLClientHandler(
                context: security, serverHostname: isAddress ? nil : address.host))
          }
          try pipeline.addHTTPClientHandlers(leftOverBytesStrategy: .dropBytes)
          return try Channel(wrappingChannelSynchronously: channel).heldUntilClosed()
        }
      }
  }
}
