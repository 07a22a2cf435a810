import LocalAPI
import NIOCore
import NIOHTTP1
import NIOPosix

#if canImport(Glibc)
  import Glibc
#elseif canImport(Musl)
  import Musl
#endif

/// One HTTP request over a Unix socket, and its response.
struct HTTPExchange: Sendable {
  /// The status and the whole body of the response.
  struct Reply: Sendable {
    var status: Int
    var body: ByteBuffer
    /// The daemon's best known time, in milliseconds since 1970.
    var time: Int64?
  }

  var socketPath: String
  /// The token of an agent's turn.
  var token: String?
  var answerBytesMax: Int

  enum Failure: Error, Equatable {
    /// No process listens, or the system refused; with its error number if there is one.
    case notConnected(errno: Int32?)
    /// The connection ended before the response did.
    case cutOff
    case timedOut
    case answerTooLarge
    case notHTTP
    /// It answered that it is not ready.
    case refused(status: Int)
  }

  private typealias Channel = NIOAsyncChannel<HTTPClientResponsePart, HTTPClientRequestPart>

  func reply(to request: APIRequest) async throws -> Reply {
    try await withThrowingTaskGroup(of: Reply.self) { tasks in
      tasks.addTask { try await exchange(request) }
      tasks.addTask {
        try await Task.sleep(for: .seconds(request.timeoutSeconds))
        throw Failure.timedOut
      }
      defer { tasks.cancelAll() }
      guard let reply = try await tasks.next() else { throw Failure.cutOff }
      return reply
    }
  }

  private func exchange(_ request: APIRequest) async throws -> Reply {
    let channel = try await connect()
    do {
      return try await channel.executeThenClose { inbound, outbound in
        do {
          try await send(request, on: outbound)
        } catch is IOError {
          // The daemon may have answered, and closed, before it read everything.
        } catch is ChannelError {}
        return try await receive(from: inbound)
      }
    } catch is HTTPParserError {
      throw Failure.notHTTP
    } catch is IOError {
      throw Failure.cutOff
    } catch is ChannelError {
      throw Failure.cutOff
    }
  }

  /// Receives a response without a fixed end, piece by piece, until it ends.
  ///
  /// - Throws: `Failure`, or the error of `received`.
  func follow(
    _ request: APIRequest, received: (ByteBuffer) async throws -> Void
  ) async throws {
    let channel = try await connect()
    do {
      try await channel.executeThenClose { inbound, outbound in
        try await send(request, on: outbound)
        for try await part in inbound {
          switch part {
          case .head(let head):
            guard head.status == .ok else {
              throw Failure.refused(status: Int(head.status.code))
            }
          case .body(let bytes): try await received(bytes)
          case .end: return
          }
        }
      }
    } catch is HTTPParserError {
      throw Failure.notHTTP
    } catch is IOError {
      throw Failure.cutOff
    } catch is ChannelError {
      throw Failure.cutOff
    }
  }

  /// The process that listens on the socket; nil if the system does not name it.
  func listener() async throws -> ListeningProcess? {
    #if os(Linux)
      let channel = try await connect()
      return try await channel.executeThenClose { _, _ in
        guard let provider = channel.channel as? any SocketOptionProvider,
          let peer: ListeningProcess = try? await provider.unsafeGetSocketOption(
            level: .socket, name: NIOBSDSocket.Option(rawValue: SO_PEERCRED)
          ).get()
        else { return nil }
        return peer
      }
    #else
      return nil
    #endif
  }

  private func connect() async throws -> Channel {
    do {
      // One connection for one command: a single thread is enough, and the first to start.
      return try await ClientBootstrap(group: NIOSingletons.posixEventLoopGroup.next())
        .connect(unixDomainSocketPath: socketPath) { channel in
          channel.eventLoop.makeCompletedFuture {
            try channel.pipeline.syncOperations.addHTTPClientHandlers(
              leftOverBytesStrategy: .dropBytes)
            return try Channel(wrappingChannelSynchronously: channel)
          }
        }
    } catch let error as IOError {
      throw Failure.notConnected(errno: error.errnoCode)
    } catch is CancellationError {
      throw CancellationError()
    } catch {
      throw Failure.notConnected(errno: nil)
    }
  }

  private func send(
    _ request: APIRequest, on outbound: NIOAsyncChannelOutboundWriter<HTTPClientRequestPart>
  ) async throws {
    let body = request.body.map(ByteBuffer.init(string:))
    var headers: HTTPHeaders = ["host": "localhost", "connection": "close"]
    if let token { headers.add(name: "authorization", value: "Bearer \(token)") }
    if let body {
      headers.add(name: "content-type", value: "application/json")
      headers.add(name: "content-length", value: "\(body.readableBytes)")
    } else if request.method != .get {
      headers.add(name: "content-length", value: "0")
    }
    let head = HTTPRequestHead(
      version: .http1_1, method: HTTPMethod(rawValue: request.method.rawValue),
      uri: "/v1/\(request.path)", headers: headers)
    // The request is written in one piece. The daemon answers and closes as soon as it has read the
    // last byte, so a later part would find the connection closed.
    let parts: [HTTPClientRequestPart?] = [
      .head(head), body.map { .body(.byteBuffer($0)) }, .end(nil),
    ]
    try await outbound.write(contentsOf: parts.compactMap(\.self))
  }

  private func receive(
    from inbound: NIOAsyncChannelInboundStream<HTTPClientResponsePart>
  ) async throws -> Reply {
    var status: Int?
    var time: Int64?
    var body = ByteBuffer()
    for try await part in inbound {
      switch part {
      case .head(let head):
        status = Int(head.status.code)
        time = head.headers.first(name: TimeHeader.name).flatMap(Int64.init)
      case .body(var bytes):
        guard body.readableBytes + bytes.readableBytes <= answerBytesMax else {
          throw Failure.answerTooLarge
        }
        body.writeBuffer(&bytes)
      case .end:
        guard let status else { throw Failure.notHTTP }
        return Reply(status: status, body: body, time: time)
      }
    }
    throw Failure.cutOff
  }
}

/// The process that listens on a Unix socket, in the system's layout: unix(7), `SO_PEERCRED`,
/// `struct ucred`.
struct ListeningProcess: Equatable, Sendable {
  /// Its number among the processes that this one sees; 0 if it is not among them, as outside a
  /// container.
  var id: pid_t = 0
  var user: uid_t = 0
  private var group: gid_t = 0
}
