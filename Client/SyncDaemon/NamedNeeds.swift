import Basics
import LocalAPI
import QueueModel
import SyncClient

/// The messages that another one is to wait for, as a request names them.
struct NamedNeeds {
  private let names: [String]

  init(_ names: [String]?) {
    self.names = names ?? []
  }

  /// An agent names none of a session in which it may not queue.
  ///
  /// - Throws: `QueueError` if a name fits none or several, `APIProblem` if the caller may not name it.
  func ids(for context: APIHandlers.Context, _ handlers: APIHandlers) throws -> [MessageID] {
    let workspace = handlers.client.workspace()
    return try names.map { name in
      let id = try workspace.messageID(fromPrefix: name)
      if let agent = context.agent {
        try handlers.check(try workspace.message(id).session, of: agent)
      }
      return id
    }
  }
}

extension MessageAnswer {
  /// Adds what it waits for.
  mutating func noteNeed(in workspace: Workspace) {
    guard needs != nil, status == .queued else { return }
    waitsFor = workspace.unmetNeeds(of: id).mostPressing?.words(in: workspace)
  }

  /// Leaves out what the message is that it waits for, which may be in any session.
  mutating func hideNeed() {
    waitsFor = waitsFor.map { _ in "waits for another message" }
  }
}

extension QueueAnswer {
  /// Leaves out what the messages are that its messages wait for, which may be in any session.
  mutating func hideNeeds() {
    for index in messages.indices { messages[index].hideNeed() }
  }
}

extension Workspace {
  /// That a message waits for one that came to nothing, and how to start it, for its user.
  func vainNeed(of id: MessageID) -> String? {
    guard let need = unmetNeeds(of: id).mostPressing, !need.isPending else { return nil }
    let start = "cospool queue start \(Shell.quoted(String(id.description.prefix(8))))"
    return "It \(need.words(in: self)). To start it all the same: \(start)"
  }
}
