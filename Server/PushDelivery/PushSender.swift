package import PushNotices

/// Sends pushes to targets of every kind. One per server; `shutDown` ends it.
///
/// It keeps no queue and retries nothing: it returns the outcome, and the caller decides. It logs
/// nothing.
package final class PushSender: Sendable {
  private let apns: APNsSender?
  private let web: WebClients
  private let ntfy: NtfySender
  private let webhook: WebhookSender
  private let clock: @Sendable () -> Int64

  /// - Parameter clock: milliseconds since 1970.
  package convenience init(
    _ configuration: PushConfiguration, clock: @escaping @Sendable () -> Int64
  ) throws(PushConfigurationError) {
    let transport = try PushTransport(trustedRootFile: configuration.trustedRootFile)
    self.init(configuration, transport: transport, clock: clock)
  }

  /// A sender without any setup: it sends to ntfy and webhooks.
  package convenience init(clock: @escaping @Sendable () -> Int64) {
    self.init(PushConfiguration(), transport: PushTransport(), clock: clock)
  }

  private init(
    _ configuration: PushConfiguration, transport: PushTransport,
    clock: @escaping @Sendable () -> Int64
  ) {
    let deadline = configuration.deadline
    self.clock = clock
    let web = WebClients(transport, allowed: configuration.allowedNetworks)
    self.web = web
    let exchange = PushExchange(
      client: { url async throws in try await web.client(for: url) }, deadline: deadline)
    ntfy = NtfySender(exchange: exchange, answering: configuration.answering)
    webhook = WebhookSender(exchange: exchange)
    apns = configuration.apns.map {
      APNsSender($0, transport: transport, deadline: deadline, clock: clock)
    }
  }

  /// Sends one push once, within the configuration's deadline.
  ///
  /// - Parameter ignoringStop: tries even if Apple reported that the setup is wrong; for a test by
  ///   the operator.
  package func send(
    _ push: Push, to target: PushTarget, ignoringStop: Bool = false
  ) async -> PushOutcome {
    if case .invalid(let reason, let since) = target.validity {
      return .invalidTarget(reason: reason, since: since)
    }
    switch target.address {
    case .apns(let address):
      guard let apns else {
        return .configurationError(
          reason: "no key for Apple's devices is set up: cospool-server push configure apns")
      }
      return await apns.send(push, to: target, at: address, ignoringStop: ignoringStop)
    case .ntfy(let address): return await ntfy.send(push, at: address, now: clock())
    case .webhook(let address): return await webhook.send(push, at: address, now: clock())
    }
  }

  /// Uses the provider token of the sender that this one replaces, if key and team are the same:
  /// Apple counts new tokens.
  package func takeToken(of other: PushSender) {
    if let apns, let before = other.apns { apns.takeToken(of: before) }
  }

  /// Ends pending requests and closes all connections.
  package func shutDown() async {
    await apns?.shutDown()
    await web.shutDown()
  }
}

extension PushSender: CustomReflectable {
  /// Hides keys and connections from reflection.
  package var customMirror: Mirror { Mirror(self, children: [:]) }
}
