import Foundation
import LocalAPI
import QueueModel
import Synchronization
import Testing

@testable import SyncDaemon

/// A reader of the event stream that treats its lines as the standard requires.
final class EventReader: Sendable {
  struct Event: Sendable {
    /// Nil if the event has no id; empty if it clears the reader's.
    var id: String?
    var name: String
    var data: String

    func decoded<Value: Decodable>(_ type: Value.Type) throws -> Value {
      try JSONDecoder().decode(type, from: Data(data.utf8))
    }
  }

  private struct State {
    var bytes = Data()
    /// How many of them do not contain the end of a block.
    var searched = 0
    var lastID = ""
  }

  private let connection: RawConnection
  private let state = Mutex(State())

  init(
    _ daemon: RunningDaemon, path: String = "/v1/events", lastEventID: String? = nil
  ) async throws {
    connection = try RawConnection(path: daemon.socket)
    let headers = lastEventID.map { ["Last-Event-ID: \($0)"] } ?? []
    try await connection.write(RawReply.request("GET", path, headers: headers))
  }

  deinit { connection.close() }

  /// The value that a browser would send as `Last-Event-ID`.
  var lastID: String { state.withLock { $0.lastID } }

  /// The next event; throws if the stream has ended.
  func next() async throws -> Event {
    while true {
      if let block = takeBlock(), let event = note(EventReader.event(in: block)) { return event }
      let more = try await connection.readSome()
      guard !more.isEmpty else {
        throw RawConnection.Failure(
          message:
            "the stream ended: \(state.withLock { String(decoding: $0.bytes, as: UTF8.self) })"
        )
      }
      state.withLock { $0.bytes += more }
    }
  }

  /// Reads up to the first event with a name; the result includes the ones before it.
  func events(through name: String) async throws -> [Event] {
    var events = [try await next()]
    while events.last?.name != name { events.append(try await next()) }
    return events
  }

  /// Everything up to the end of the connection.
  func readToEnd() async throws -> String {
    let rest = try await connection.readToEnd()
    return state.withLock { String(decoding: $0.bytes + rest, as: UTF8.self) }
  }

  /// The lines up to an empty one, once they have arrived.
  private func takeBlock() -> String? {
    state.withLock { state in
      let start = max(0, state.searched - 1)
      guard
        let end = state.bytes.range(of: Data("\n\n".utf8), in: start..<state.bytes.endIndex)
      else {
        state.searched = state.bytes.count
        return nil
      }
      let block = String(decoding: state.bytes[..<end.lowerBound], as: UTF8.self)
      state.bytes = Data(state.bytes[end.upperBound...])
      state.searched = 0
      return block
    }
  }

  private func note(_ event: Event?) -> Event? {
    guard let event else { return nil }
    if let id = event.id { state.withLock { $0.lastID = id } }
    return event
  }

  /// Nil for a block without an event: a comment, the head of the response.
  private static func event(in block: String) -> Event? {
    var id: String?
    var name: String?
    var data: String?
    // Other lines, such as the sizes of HTTP's chunks, are not fields and are skipped.
    for line in block.split(whereSeparator: { $0 == "\n" || $0 == "\r\n" }) {
      if line.hasPrefix("id: ") { id = String(line.dropFirst(4)) }
      if line == "id:" { id = "" }
      if line.hasPrefix("event: ") { name = String(line.dropFirst(7)) }
      if line.hasPrefix("data: ") { data = String(line.dropFirst(6)) }
    }
    guard let name, let data else { return nil }
    return Event(id: id, name: name, data: data)
  }
}

/// The queues as a reader of events sees them.
struct EventMirror {
  var messages: [SessionID: [MessageAnswer]] = [:]
  var threads: [ThreadAnswer] = []
  var sessions: [SessionID: SessionAnswer] = [:]

  /// Applies events; a gap empties the mirror.
  mutating func take(_ events: [EventReader.Event]) throws {
    for event in events { try take(event) }
  }

  mutating func take(_ event: EventReader.Event) throws {
    switch event.name {
    case "resume":
      if try event.decoded(ResumeEvent.self).resume == .gap { self = EventMirror() }
    case "messages":
      let event = try event.decoded(MessagesEvent.self)
      for step in event.changes {
        EventMirror.apply(step, to: &messages[event.session, default: []])
      }
    case "threads":
      for step in try event.decoded(ThreadsEvent.self).changes {
        EventMirror.apply(step, to: &threads)
      }
    case "session":
      let session = try event.decoded(SessionAnswer.self)
      sessions[session.id] = session
    case "sessionDeleted":
      sessions[try event.decoded(SessionDeletedEvent.self).id] = nil
    default:
      break
    }
  }

  func contents(_ session: String = "review") throws -> [String] {
    (messages[try SessionID(session)] ?? []).map(\.content)
  }

  private static func apply<Item>(_ step: StepAnswer<Item>, to list: inout [Item]) {
    switch (step.change, step.item, step.from) {
    case (.insert, let item?, _): list.insert(item, at: step.at)
    case (.remove, _, _): list.remove(at: step.at)
    case (.move, _, let from?): list.insert(list.remove(at: from), at: step.at)
    case (.update, let item?, _): list[step.at] = item
    default: Issue.record("an incomplete step: \(step)")
    }
  }
}
