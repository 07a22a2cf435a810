import Basics
import Foundation
package import Logging
import NIOCore
import NIOHTTP1
import NIOPosix
import NIOSSL
import NIOWebSocket
import ProcessResources
import PushDelivery
import PushNotices
package import ServerCore
import ServerStore
import Synchronization
import WireProtocol

/// A running server: one listening socket, one event loop, one store thread.
///
/// Plain NIO: one route upgrades to WebSocket, and the three others are too few for a router. All
/// sockets and the core live on one event loop, so that the core needs no lock and its events have
/// one order.
package final class SyncServer: Sendable {
  /// The address as given, and the port that was bound.
  package let host: String
  package let port: Int
  private let isSecure: Bool
  private let group: MultiThreadedEventLoopGroup
  private let storeThreads: StoreThreads
  private let blobThread: NIOThreadPool
  private let listener: any Channel
  private let metricsListener: (any Channel)?
  private let driver: NIOLoopBound<ServerDriver>
  private let onStop: @Sendable () -> Void
  private let address: AddressFile
  private let wasStopped = Mutex(false)
  private let stage = Mutex<StopStage?>(nil)

  private init(
    options: SyncServerOptions, port: Int, group: MultiThreadedEventLoopGroup,
    storeThreads: StoreThreads, blobThread: NIOThreadPool, listener: any Channel,
    metricsListener: (any Channel)?, driver: NIOLoopBound<ServerDriver>,
    onStop: @escaping @Sendable () -> Void
  ) {
    host = options.host
    self.port = port
    isSecure = options.certificate != nil
    self.group = group
    self.storeThreads = storeThreads
    self.blobThread = blobThread
    self.listener = listener
    self.metricsListener = metricsListener
    self.driver = driver
    self.onStop = onStop
    address = AddressFile(directory: options.dataDirectory)
  }

  /// The port of the metrics; nil if there is none.
  package var metricsPort: Int? { metricsListener?.localAddress?.port }

  /// The URL for clients and users.
  package var url: String {
    "\(isSecure ? "wss" : "ws")://\(host.contains(":") ? "[\(host)]" : host):\(port)"
  }

  /// Returns once the event loop, on which everything runs, has executed a task.
  package func takesWork() async {
    try? await group.next().submit {}.get()
  }

  /// Takes the data directory's lock, opens the store and listens.
  package static func start(
    _ options: SyncServerOptions, logger: Logger
  ) async throws(SyncServerError) -> SyncServer {
    // Done first, so that a wrong certificate leaves no files behind.
    let security = try makeSecurity(options)
    let lock: DirectoryLock
    let database: ServerDatabase
    do throws(StoreOpeningError) {
      // The lock comes first: only its holder may set a damaged file aside.
      try ServerDatabase.prepare(directory: options.dataDirectory)
      lock = try await DirectoryLock.serving(options.dataDirectory)
      // During a restore, an empty database must not replace the missing one.
      guard !ServerBackup.isPending(in: options.dataDirectory) else {
        throw StoreOpeningError.restoring(path: options.dataDirectory)
      }
      database = try ServerDatabase.open(
        directory: options.dataDirectory, for: .serving, freeSpace: options.freeSpace)
    } catch {
      throw SyncServerError(error)
    }
    revokeAgain(options.dataDirectory, in: database, logger)
    warnIfOthersWrite(to: options.dataDirectory, logger)
    let address = AddressFile(directory: options.dataDirectory)
    // A killed process leaves its address behind.
    address.remove()
    let connected = ConnectedDevices(directory: options.dataDirectory)
    connected.remove()
    let server = try await listen(options, security, storage: database, logger: logger) {
      // All acknowledged data is already durable; closing only tidies the log.
      try? database.close()
      connected.remove()
      lock.release()
    }
    address.write(
      AddressFile.Listening(
        url: server.url, devicesURL: options.front.url,
        isProxied: !options.front.trustedProxies.isEmpty,
        quotas: AddressFile.Quotas(
          storage: options.core.quota.bytesMax, daily: options.core.quota.dailyBytesMax,
          files: options.files.quotaBytes)))
    return server
  }

  /// Revokes the devices again that were revoked after the backup from which the database was
  /// restored.
  private static func revokeAgain(
    _ directory: String, in database: ServerDatabase, _ logger: Logger
  ) {
    do {
      let again = try database.revokeAgain(
        RevocationFile(directory: directory).read(), at: ProcessClock.wallMilliseconds)
      for revocation in again {
        logger.notice(
          """
          device \(revocation.device) of workspace \(revocation.workspace) was revoked after this \
          backup: revoked again
          """)
      }
    } catch {
      logger.error("revoked devices may have access again: \(error)")
    }
  }

  /// Warns if other accounts may write to the directory, because they could replace the store.
  private static func warnIfOthersWrite(to directory: String, _ logger: Logger) {
    let attributes = try? FileManager.default.attributesOfItem(atPath: directory)
    let mode = (attributes?[.posixPermissions] as? NSNumber)?.intValue ?? 0
    guard mode & 0o022 != 0 else { return }
    logger.warning("others can write to \(directory): chmod go-w \(directory)")
  }

  /// Listens, with a store of the caller's; `onStop` runs after the last use of that store.
  package static func start(
    _ options: SyncServerOptions, storage: any ServerStorage, logger: Logger,
    onStop: @escaping @Sendable () -> Void
  ) async throws(SyncServerError) -> SyncServer {
    let security: CertificateReloader.Reading?
    do {
      security = try makeSecurity(options)
    } catch {
      onStop()
      throw error
    }
    return try await listen(
      options, security, storage: storage, logger: logger, onStop: onStop)
  }

  private static func makeSecurity(
    _ options: SyncServerOptions
  ) throws(SyncServerError) -> CertificateReloader.Reading? {
    guard let certificate = options.certificate else { return nil }
    return try CertificateReloader.Reading(
      certificate, closingMilliseconds: options.lingerMilliseconds)
  }

  private static func listen(
    _ options: SyncServerOptions, _ security: CertificateReloader.Reading?,
    storage: any ServerStorage, logger: Logger, onStop: @escaping @Sendable () -> Void
  ) async throws(SyncServerError) -> SyncServer {
    let group = MultiThreadedEventLoopGroup(numberOfThreads: 1)
    let storeThreads = StoreThreads()
    let blobThread = NIOThreadPool(numberOfThreads: 1)
    blobThread.start()
    let loop = group.next()
    let pushing = PushSetup.read(directory: options.dataDirectory, logger: logger)
    do {
      let driver = try await loop.submit {
        let driver = ServerDriver(
          loop: loop, options: options, storage: storage, storeThreads: storeThreads,
          blobThread: blobThread, pushing: pushing, security: security,
          logger: logger)
        driver.start()
        return driver.bound
      }.get()
      let metrics = try await metricsListener(options, group, driver)
      let listener = try await bootstrap(group, driver).bind(
        host: options.host, port: options.port
      ).get()
      return SyncServer(
        options: options, port: listener.localAddress?.port ?? options.port, group: group,
        storeThreads: storeThreads, blobThread: blobThread,
        listener: listener,
        metricsListener: metrics, driver: driver, onStop: onStop)
    } catch {
      await pushing.sender.shutDown()
      try? await group.shutdownGracefully()
      await storeThreads.shutDown()
      try? await blobThread.shutdownGracefully()
      onStop()
      throw listeningError(error, options)
    }
  }

  private static func metricsListener(
    _ options: SyncServerOptions, _ group: MultiThreadedEventLoopGroup,
    _ driver: NIOLoopBound<ServerDriver>
  ) async throws -> (any Channel)? {
    guard let address = options.metrics else { return nil }
    do {
      return try await MetricsListener.listen(address, group: group, driver: driver)
    } catch {
      throw SyncServerError(
        .failed,
        "Metrics cannot be served on \(address.host):\(address.port): "
          + "\(refusal(error, port: address.port)). Choose another --metrics.")
    }
  }

  private static func listeningError(
    _ error: any Error, _ options: SyncServerOptions
  ) -> SyncServerError {
    if let error = error as? SyncServerError { return error }
    let place = "\(options.host):\(options.port)"
    if let error = error as? IOError, error.errnoCode == EADDRINUSE {
      return SyncServerError(
        .failed, "\(place) is in use. Choose another --port, or 0 for a free one.")
    }
    return SyncServerError(
      .failed, "Cannot listen on \(place): \(refusal(error, port: options.port)).")
  }

  /// Why the server cannot listen, as text for its operator.
  static func refusal(
    _ error: any Error, port: Int, first: Int = ListeningAddress.firstUnprivilegedPort
  ) -> String {
    guard let system = error as? IOError else { return "\(error)" }
    if system.errnoCode == EACCES, ListeningAddress.isPrivileged(port, first: first) {
      return ListeningAddress.below(first)
    }
    return String(cString: strerror(system.errnoCode))
      + (system.errnoCode == EADDRNOTAVAIL
        ? "; choose an address of this machine, such as 127.0.0.1" : "")
  }

  private static func bootstrap(
    _ group: MultiThreadedEventLoopGroup, _ driver: NIOLoopBound<ServerDriver>
  ) -> ServerBootstrap {
    ServerBootstrap(group: group)
      .serverChannelOption(.backlog, value: 1_024)
      .serverChannelOption(.socketOption(.so_reuseaddr), value: 1)
      // Without free descriptors it waits a second instead of retrying without end.
      .serverChannelInitializer { channel in
        channel.eventLoop.makeCompletedFuture {
          try channel.pipeline.syncOperations.addHandler(AcceptBackoffHandler())
        }
      }
      .childChannelOption(.tcpOption(.tcp_nodelay), value: 1)
      .childChannelOption(.maxMessagesPerRead, value: 1)
      // Each channel keeps a read buffer, which grows with the data. Most connections send a
      // keystroke now and then.
      .childChannelOption(
        .recvAllocator,
        value: AdaptiveRecvByteBufferAllocator(
          minimum: 64, initial: 512, maximum: InputTurns.readingBytesMax)
      )
      // `TurnHandler` closes a peer that has stopped sending, after it has processed the input.
      .childChannelOption(.allowRemoteHalfClosure, value: true)
      .childChannelInitializer { channel in
        channel.eventLoop.makeCompletedFuture {
          try configure(channel, driver.value)
        }
      }
  }

  private static func configure(_ channel: any Channel, _ driver: ServerDriver) throws {
    guard driver.channelOpened(channel) else {
      return channel.close(mode: .all, promise: nil)
    }
    let pipeline = channel.pipeline.syncOperations
    let gate = AdmissionHandler(driver: driver)
    let counter = ConnectionCounter(driver: driver)
    let requests = HTTPRequestHandler(driver: driver)
    let bound = NIOLoopBound((driver, gate, counter, requests), eventLoop: channel.eventLoop)
    let upgrader = NIOWebSocketServerUpgrader(
      maxFrameSize: WireLimits.frameBytesMax,
      shouldUpgrade: { channel, head in
        let mayCome = bound.value.0.requested(head, on: channel)
        return channel.eventLoop.makeSucceededFuture(mayCome ? upgradeHeaders(for: head) : nil)
      },
      upgradePipelineHandler: { channel, _ in
        channel.eventLoop.makeCompletedFuture {
          let (driver, gate, counter, _) = bound.value
          try upgraded(channel, driver, gate, counter)
        }
      })
    if let security = driver.sockets.security {
      try pipeline.addHandler(NIOSSLServerHandler(context: security.context))
    }
    try pipeline.addHandler(counter)
    try pipeline.addHandler(gate)
    try pipeline.addHandler(TurnHandler(turns: driver.turns))
    try pipeline.configureHTTPServerPipeline(
      withServerUpgrade: (
        upgraders: [upgrader],
        completionHandler: { context in
          context.pipeline.syncOperations.removeHandler(bound.value.3, promise: nil)
        }
      ))
    try pipeline.addHandler(requests)
  }

  private static func upgradeHeaders(for head: HTTPRequestHead) -> HTTPHeaders? {
    let path = head.uri.split(separator: "?", omittingEmptySubsequences: false).first ?? ""
    guard path == SyncEndpoint.path,
      head.headers[canonicalForm: "sec-websocket-protocol"].contains(SyncEndpoint.subprotocol[...])
    else { return nil }
    return ["Sec-WebSocket-Protocol": SyncEndpoint.subprotocol]
  }

  private static func upgraded(
    _ channel: any Channel, _ driver: ServerDriver, _ gate: AdmissionHandler,
    _ counter: ConnectionCounter
  ) throws {
    let pipeline = channel.pipeline.syncOperations
    try pipeline.addHandler(MaskCheck(lingerMilliseconds: driver.options.lingerMilliseconds))
    try pipeline.addHandler(
      NIOWebSocketFrameAggregator(
        minNonFinalFragmentSize: 1, maxAccumulatedFrameCount: 1_024,
        maxAccumulatedFrameSize: WireLimits.frameBytesMax))
    let id = driver.opened(channel, acceptedAt: gate.acceptedAt)
    gate.connection = id
    try pipeline.addHandler(WebSocketConnectionHandler(driver: driver, id: id, counter: counter))
  }

  /// Notifies all connections, stores accepted data, and closes; returns when everything is
  /// released. Later calls do nothing.
  package func stop() async {
    let isFirst = wasStopped.withLock { wasStopped in
      defer { wasStopped = true }
      return !wasStopped
    }
    guard isFirst else { return }
    let driver = driver
    let loop = group.next()
    // Done first, in any case: `pair` must not name an address without a server.
    address.remove()
    enter(.listener)
    try? await metricsListener?.close()
    // A closed listener needs no closing; the next steps must run in any case.
    try? await listener.close()
    enter(.connections)
    try? await loop.flatSubmit { driver.value.stop() }.get()
    enter(.pushes)
    // Open pushes end now; their orders are still in the store.
    try? await loop.submit { driver.value.pushes?.stop() }.get()
    try? await loop.flatSubmit { driver.value.setup.stop() }.get()
    enter(.store)
    try? await loop.flatSubmit { driver.value.journal.finish(in: driver.value.store) }.get()
    await storeThreads.shutDown()
    enter(.files)
    try? await blobThread.shutdownGracefully()
    enter(.sockets)
    try? await group.shutdownGracefully()
    enter(.database)
    onStop()
    enter(.done)
  }

  /// The step of a stop; nil before one.
  package var stopStage: StopStage? { stage.withLock { $0 } }

  private func enter(_ next: StopStage) {
    stage.withLock { $0 = next }
  }

  /// The server's current numbers; for tests and health checks.
  package func counter() async -> (connections: Int, workspaces: Int) {
    let driver = driver
    let counted = try? await group.next().submit {
      (driver.value.peers.count, driver.value.core.residentWorkspaces)
    }.get()
    return counted ?? (0, 0)
  }
}
