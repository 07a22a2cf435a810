import Basics
import ClientCore
public import QueueModel
import WireProtocol

extension QueueClient {
  private static let pairingSeconds = 20

  /// Exchanges a one-time code for credentials and stores them; `run()` connects at once.
  ///
  /// Pairing with the same server again renews the token.
  ///
  /// - Parameter allowsInsecure: whether to allow a server beyond a private network without
  ///   encryption.
  /// - Throws: `.invalidServerURL`, `.notEncrypted`, `.alreadyPaired`, `.otherWorkspace`,
  ///   `.unreachable`, `.refused`, `.accessNotStored`.
  public func pair(
    server: String, code: String, allowsInsecure: Bool = false
  ) async throws(ClientError) -> PairingResult {
    let address = try ServerAddress(server)
    guard allowsInsecure || !address.isExposed else { throw .notEncrypted(server: address.url) }
    let (known, record) = await engine.read { ($0.server, $0.replica.record) }
    if let known, known != address.url { throw .alreadyPaired(server: known) }
    let request = PairRequest(
      versions: ProtocolVersion.spoken, code: code, device: record.device,
      deviceName: record.deviceName)
    let grant = try await trade(request, at: address)
    // Queues of one workspace must not end up in another.
    if let bound = record.workspace, bound != grant.workspace {
      throw .otherWorkspace(name: grant.workspaceName, own: bound)
    }
    let credentials = Credentials(
      server: address.url, workspace: grant.workspace, workspaceName: grant.workspaceName,
      token: grant.token)
    let file = credentialsFile
    let outcome: Result<Void, ClientError>
    do throws(ClientError) {
      outcome = try await engine.submit { core, context, store throws(Replica.Fault) in
        // Another pairing may have succeeded meanwhile.
        if let server = core.server, server != address.url {
          return (.failure(.alreadyPaired(server: server)), [])
        }
        if let bound = core.replica.record.workspace, bound != grant.workspace {
          return (.failure(.otherWorkspace(name: grant.workspaceName, own: bound)), [])
        }
        do throws(ClientError) {
          try file.save(credentials)
        } catch {
          return (.failure(.accessNotStored(message: error.reason)), [])
        }
        return (.success(()), try core.paired(credentials, at: context, store: store))
      }
    } catch {
      // The code is used up.
      throw .accessNotStored(message: error.reason)
    }
    try outcome.get()
    return PairingResult(
      workspace: grant.workspace, workspaceName: grant.workspaceName, device: grant.device,
      server: address.url)
  }

  /// A one-time code for a new device in this device's workspace, if the server's owner allows
  /// devices to create codes.
  ///
  /// - Parameters:
  ///   - role: its role.
  ///   - accessMilliseconds: how long its access lasts; nil for as long as this device's.
  /// - Throws: `.notPaired`, `.refused` with the reason, `.unreachable`.
  public func pairingCode(
    role: DeviceRole, accessMilliseconds: Int64? = nil
  ) async throws(ClientError) -> PairingInvitation {
    guard let server = await engine.read({ $0.server }) else { throw .notPaired }
    let wish = CodeWish(role: role, accessMilliseconds: accessMilliseconds)
    let answer = try await inquire(.code(wish)) { .refused(code: "notAllowed", message: $0) }
    guard case .code(let code, let expiresAt) = answer else {
      throw .unreachable(message: "the server sent no code")
    }
    return PairingInvitation(
      code: code, server: try ServerAddress(server), role: role, expiresAt: expiresAt)
  }

  private func trade(
    _ request: PairRequest, at address: ServerAddress
  ) async throws(ClientError) -> PairGrant {
    try await exchange(.pair(request), at: address) { frame in
      switch frame {
      case .paired(let grant): .success(grant)
      case .refused(let refusal):
        .failure(.refused(code: refusal.code.name, message: refusal.message))
      case .unknownOptional: nil
      default: .failure(.unreachable(message: "the server sent an unexpected answer"))
      }
    }
  }

  /// One short connection: question, answer, close.
  ///
  /// - Parameter read: returns the answer in a frame; nil for unrelated frames.
  func exchange<Value: Sendable>(
    _ question: Frame, at address: ServerAddress,
    read: @escaping @Sendable (Frame) -> Result<Value, ClientError>?
  ) async throws(ClientError) -> Value {
    let transport = Transport(
      address: address, certificateFile: configuration.certificateFile,
      proxyVariables: configuration.proxyVariables)
    let outcome = await withTaskGroup(of: Result<Value, ClientError>.self) { group in
      group.addTask { await QueueClient.answer(to: question, over: transport, read: read) }
      group.addTask {
        // Cancelling the sleep also ends the attempt.
        try? await Task.sleep(for: .seconds(QueueClient.pairingSeconds))
        return .failure(.unreachable(message: "\(address.url) does not answer"))
      }
      let first = await group.next() ?? .failure(.timeout)
      transport.close()
      group.cancelAll()
      return first
    }
    return try outcome.get()
  }

  private static func answer<Value: Sendable>(
    to question: Frame, over transport: Transport,
    read: @Sendable (Frame) -> Result<Value, ClientError>?
  ) async -> Result<Value, ClientError> {
    do {
      try await transport.open()
    } catch {
      return .failure(.unreachable(message: error.description))
    }
    transport.send(FrameCodec.encode(question))
    for await incoming in transport.incoming {
      defer { transport.consumed() }
      for case .message(let bytes) in incoming {
        guard let frame = try? FrameCodec.decode(bytes) else {
          return .failure(.unreachable(message: "the server's answer cannot be read"))
        }
        if let answer = read(frame) { return answer }
      }
    }
    return .failure(.unreachable(message: transport.reason))
  }
}

/// A one-time code with which a new device pairs.
public struct PairingInvitation: Hashable, Sendable {
  /// The code to type: letters in two groups.
  public var code: String
  /// The server's address, as this device knows it.
  public var server: String
  /// The role of the new device.
  public var role: DeviceRole
  /// When the code expires, milliseconds since 1970.
  public var expiresAt: Int64
  /// The command to type on the new device.
  public var command: String
  /// Why the command may fail there as it is; nil if it works.
  public var hint: String?

  init(code: String, server: ServerAddress, role: DeviceRole, expiresAt: Int64) {
    self.code = code
    self.server = server.url
    self.role = role
    self.expiresAt = expiresAt
    command =
      "cospool pair \(Shell.quoted(server.url)) \(Shell.quoted(code))"
      + (server.isExposed ? " --insecure" : "")
    if server.isOfThisMachine {
      hint =
        "\(server.host) is only this machine: on another one, type the address at which it "
        + "reaches the server."
    }
  }
}
