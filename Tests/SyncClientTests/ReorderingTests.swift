import Foundation
import QueueModel
import Testing

@testable import SyncClient

/// Rows of a list move as in SwiftUI. S0-11.
struct ReorderingTests {
  /// The effect of `move(fromOffsets:toOffset:)` on a collection: the rows are removed, and
  /// inserted before the row that was at the destination.
  private static func moved(_ list: [String], from: IndexSet, to: Int) -> [String] {
    let staying = { (range: Range<Int>) in range.filter { !from.contains($0) }.map { list[$0] } }
    return staying(0..<to) + from.map { list[$0] } + staying(to..<list.count)
  }

  private static func texts(of client: QueueClient) throws -> [String] {
    try client.workspace().messageQueue(try SessionID("a")).messages.map(\.content)
  }

  @Test func everySelectionGoesToEveryPlace() async throws {
    try await ClientFixture.withServer { fixture in
      let client = try await fixture.open()
      for number in 1...4 { try await client.perform(.text("\(number)", UInt64(number))) }
      for selection in 0..<16 {
        let rows = IndexSet((0..<4).filter { selection >> $0 & 1 == 1 })
        for destination in 0...4 {
          let view = try client.workspace().messageQueue(try SessionID("a"))
          let expected = Self.moved(view.messages.map(\.content), from: rows, to: destination)
          let isSame = expected == view.messages.map(\.content)
          let receipt = try await client.queues.move(from: rows, to: destination, in: view)
          #expect(try Self.texts(of: client) == expected, "\(Array(rows)) to \(destination)")
          #expect((receipt.notice == .unchanged) == isSame)
        }
      }
      await client.close()
    }
  }

  @Test func changesSinceTheListWasShownAreRespected() async throws {
    try await ClientFixture.withServer { fixture in
      let client = try await fixture.open()
      for number in 1...4 { try await client.perform(.text("\(number)", UInt64(number))) }
      let view = try client.workspace().messageQueue(try SessionID("a"))
      try await client.perform(.cancel([view.messages[1].id]))
      try await client.perform(.text("5", 5))
      try await client.perform(.move([MessageID(high: 9, low: 5)], to: .position(1)))
      // Before the second row, which is gone: before the third.
      try await client.queues.move(from: [3], to: 1, in: view)
      #expect(try Self.texts(of: client) == ["5", "1", "4", "3"])
      await client.close()
    }
  }

  @Test func rowsThatTheListDoesNotHaveAreRefused() async throws {
    try await ClientFixture.withServer { fixture in
      let client = try await fixture.open()
      for number in 1...2 { try await client.perform(.text("\(number)", UInt64(number))) }
      let view = try client.workspace().messageQueue(try SessionID("a"))
      for (rows, destination) in [(IndexSet([2]), 0), (IndexSet([0]), 3), (IndexSet([0]), -1)] {
        await #expect(throws: ClientError.self) {
          try await client.queues.move(from: rows, to: destination, in: view)
        }
      }
      #expect(try Self.texts(of: client) == ["1", "2"])
      await client.close()
    }
  }
}
