import ClientCore
import ClientStore
public import QueueModel

extension ClientQueues {
  /// The messages that this device sent recently, about the latest thousand, oldest first, with the
  /// progress of each to the server.
  ///
  /// The states follow from the operations that the server is known to have, so they cannot
  /// contradict the sync. Being offline is not a failure. `failed` means that the server refused
  /// the message, with its reason; it is retried with the next connection.
  ///
  /// - Throws: `.queue(.persistenceFailed)` if they cannot be read, `.closed`.
  public func outgoingMessages() async throws(ClientError) -> [QueuedMessage] {
    try await client.engine.submit { core, _, store throws(Replica.Fault) in
      do throws(StoreError) {
        let box = try store.outgoing(in: ClientStore.syncBox)
        return (box.messages.map { core.withStatus($0) }, [])
      } catch { throw .store(error) }
    }
  }
}

extension ClientQueues {
  /// The latest messages of this device that the server may lack, oldest first, about a thousand at
  /// most. Each has its progress, and the server's reason if it was refused.
  ///
  /// - Throws: `.queue(.persistenceFailed)` if they cannot be read, `.closed`.
  /// - Complexity: as `Replica.unsentMessages`.
  package func unsentMessages() async throws(ClientError) -> [(
    id: MessageID, status: QueueStatus, refusal: String?
  )] {
    try await client.engine.submit { core, _, store throws(Replica.Fault) in
      let unsent = try core.unsentMessages(store: store).suffix(ClientStore.syncBoxMax)
      return (
        unsent.map { message, operation in
          let (status, refusal) = core.sending(of: operation)
          return (message, status, refusal)
        }, []
      )
    }
  }
}

extension ClientCore {
  /// A message with the state of the operations that send it.
  fileprivate func withStatus(_ stored: QueuedMessage) -> QueuedMessage {
    var message = stored
    guard let origin = replica.workspace.origin(of: stored.id) else {
      // Only a message that a server once had can be missing.
      message.status = .delivered
      return message
    }
    (message.status, message.lastError) = sending(of: origin)
    return message
  }
}
