import NIOCore
import Synchronization

/// The requests that a fake has seen, and its answers. Safe from any thread.
final class FakeState: Sendable {
  private struct Contents {
    var requests: [RecordedRequest] = []
    var connections: [any Channel] = []
    var script: [FakeAnswer] = []
    var standard: FakeAnswer
  }

  private let contents: Mutex<Contents>

  init(standard: FakeAnswer) {
    contents = Mutex(Contents(standard: standard))
  }

  var requests: [RecordedRequest] { contents.withLock(\.requests) }
  var connectionCount: Int { contents.withLock(\.connections.count) }
  var connections: [any Channel] { contents.withLock(\.connections) }

  func answer(next answers: [FakeAnswer]) {
    contents.withLock { $0.script += answers }
  }

  func answer(always answer: FakeAnswer) {
    contents.withLock { $0.standard = answer }
  }

  /// - Returns: the connection's number, from 1.
  func connected(_ channel: any Channel) -> Int {
    contents.withLock { contents in
      contents.connections.append(channel)
      return contents.connections.count
    }
  }

  func received(_ request: RecordedRequest) -> FakeAnswer {
    contents.withLock { contents in
      contents.requests.append(request)
      return contents.script.isEmpty ? contents.standard : contents.script.removeFirst()
    }
  }
}
