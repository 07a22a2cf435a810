public import Foundation
public import QueueModel

extension ClientQueues {
  /// Moves rows of a list that shows a queue, with the meaning of SwiftUI's `onMove` and
  /// `move(fromOffsets:toOffset:)`. `destination` is a row of the displayed list, and the moved
  /// rows, in their order, are placed before it. The number of rows means the list's end.
  ///
  /// Changes since the list was shown are safe: the rows name messages, and the place is next to a
  /// message that did not move. Urgent messages stay before normal ones (S0-11).
  ///
  /// - Parameter view: the contents of the list.
  /// - Throws: `.queue` for rows that the list does not have, and as `perform`.
  @discardableResult
  public func move(
    from offsets: IndexSet, to destination: Int, in view: MessageQueueView
  ) async throws(ClientError) -> CommandReceipt {
    let messages = view.messages
    let rows = 0...messages.count
    for row in [offsets.last.map { $0 + 1 }, destination].compactMap(\.self)
    where !rows.contains(row) {
      throw .queue(.invalidPosition(position: row, count: messages.count))
    }
    let moved = offsets.map { messages[$0].id }
    let standing = try? client.workspace().messageQueue(view.session)
    let neighbours = Set((standing?.messages ?? []).map(\.id)).subtracting(moved)
    let behind = messages[destination...].first { neighbours.contains($0.id) }
    let before = messages[..<destination].last { neighbours.contains($0.id) }
    let target: MoveTarget? =
      behind.map { .before($0.id) } ?? before.map { .after($0.id) }
    // All rows, or none, were moved: their order stays.
    guard let target, !moved.isEmpty else {
      return CommandReceipt(notice: .unchanged)
    }
    return try await client.perform(.move(moved, to: target))
  }
}
