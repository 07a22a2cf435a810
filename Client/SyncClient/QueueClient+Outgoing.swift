import ClientCore
import ClientStore
public import QueueModel

extension QueueClient {
  /// An outgoing queue for messages that the app sends over a way of its own; the same one for the
  /// same name.
  ///
  /// - Parameter name: 1 to 128 bytes.
  /// - Throws: `.queue(.invalidName)`, `.queue(.persistenceFailed)`, `.closed`.
  public func outgoingMessageQueue(
    named name: String, config: MessageQueueConfig = .default
  ) async throws(ClientError) -> OutgoingMessageQueue {
    guard (1...Limits.sessionIDBytesMax).contains(name.utf8.count) else {
      throw .queue(
        .invalidName(
          field: "queue name", reason: "it must have 1 to \(Limits.sessionIDBytesMax) bytes"))
    }
    let engine = engine
    let boxes = outgoingBoxes
    return try await engine.submit { _, _, store throws(Replica.Fault) in
      if let open = boxes.withLock({ $0[name] }) { return (open, []) }
      do throws(StoreError) {
        let box = try store.outgoing(in: name)
        let queue = OutgoingMessageQueue(
          engine: engine, box: name,
          queue: OutgoingQueue(
            config: config, stored: box.messages, lastSequence: box.lastSequence))
        boxes.withLock { $0[name] = queue }
        return (queue, [])
      } catch { throw .store(error) }
    }
  }
}
