import ClientCore
public import QueueModel
import WireProtocol

extension QueueClient {
  /// Follows a server that has another address now: another name, port, machine, or TLS in front of it.
  /// Token, workspace, and all that waits to be sent stay as they are.
  ///
  /// The server at the new address is asked first. One that does not know this device's token is not the
  /// one that moved, nor a copy of it; nothing is changed then. The token goes there to be known again:
  /// name an address only where the server's owner says that it moved.
  ///
  /// - Parameter allowsInsecure: whether a server beyond a private network may be asked without
  ///   encryption.
  /// - Throws: `.notPaired`, `.invalidServerURL`, `.notEncrypted`, `.unreachable`, `.authentication` or
  ///   `.refused` by the server at the new address, `.storage`.
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
      // It may have been paired anew or unpaired while this one asked.
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

  /// Forgets the server and the token. The queues stay, and everything that is not sent waits; the device
  /// works alone until it is paired again, with a server of the same workspace, under any address.
  ///
  /// The server goes on knowing the device: its owner revokes it there.
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
