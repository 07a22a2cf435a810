import ClientCore
public import QueueModel
import WireProtocol

extension QueueClient {
  /// Changes the address of a server that has moved: to another name, port or machine, or behind
  /// TLS. The token, the workspace and all unsent changes stay.
  ///
  /// The server at the new address is asked first. If it does not know this device's token, it is
  /// neither the moved server nor a copy of it, and nothing changes. The token is sent there, so
  /// use only an address that the server's owner has confirmed.
  ///
  /// - Parameter allowsInsecure: whether to allow a server beyond a private network without
  ///   encryption.
  /// - Throws: `.notPaired`, `.invalidServerURL`, `.notEncrypted`, `.unreachable`,
  ///   `.authentication` or `.refused` by the server at the new address, `.storage`.
  public func moveServer(
    to server: String, allowsInsecure: Bool = false
  ) async throws(ClientError) -> PairingResult {
    let address = try ServerAddress(server)
    guard allowsInsecure || !address.isExposed else { throw .notEncrypted(server: address.url) }
    let file = credentialsFile
    guard let known = try file.load() else { throw .notPaired }
    let record = await engine.read { $0.replica.record }
    let hello = Hello(
      versions: ProtocolVersion.spoken, token: known.token, workspace: known.workspace,
      device: record.device, store: record.store, deviceName: record.deviceName,
      prefix: record.prefix)
    try await exchange(.hello(hello), at: address) { frame in
      switch frame {
      case .welcome: .success(())
      case .refused(let refusal):
        .failure(ClientError.refusal(code: refusal.code.name, message: refusal.message))
      default: nil
      }
    }
    var moved = known
    moved.server = address.url
    let fresh = moved
    let outcome: Result<Void, ClientError> = try await engine.submit {
      core, context, store throws(Replica.Fault) in
      // The device may have been paired again or unpaired meanwhile.
      guard core.server == known.server else { return (.failure(.notPaired), []) }
      do throws(ClientError) {
        try file.save(fresh)
      } catch {
        return (.failure(error), [])
      }
      return (.success(()), try core.paired(fresh, at: context, store: store))
    }
    try outcome.get()
    return PairingResult(
      workspace: known.workspace, workspaceName: known.workspaceName, device: record.device,
      server: address.url)
  }

  /// Removes the server and the token. The queues stay, and unsent changes wait. The device works
  /// alone until it is paired again, with a server of the same workspace, at any address.
  ///
  /// The server still knows the device; its owner can revoke it there.
  ///
  /// - Throws: `.notPaired`, `.storage`.
  public func unpair() async throws(ClientError) {
    let file = credentialsFile
    let outcome: Result<Void, ClientError> = try await engine.submit { core, _, _ in
      guard core.server != nil else { return (.failure(.notPaired), []) }
      do throws(ClientError) {
        try file.remove()
      } catch {
        return (.failure(error), [])
      }
      return (.success(()), core.unpaired())
    }
    try outcome.get()
  }
}
