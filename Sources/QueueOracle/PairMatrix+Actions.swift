import QueueModel

extension PairMatrix {
  /// Every action, grouped by its subject.
  package static let actions: [Action] = queueActions + textActions + sessionActions

  private static let queueActions: [Action] = [
    Action("insert at start") { _, author in
      [insertion(by: author), .move([author.message(0)], to: .position(1))]
    },
    Action("insert in the middle") { _, author in
      [insertion(by: author), .move([author.message(0)], to: .after(message(2)))]
    },
    Action("insert at end") { _, author in [insertion(by: author)] },
    Action("insert a batch in the middle") { _, author in
      [
        insertion(by: author), insertion(by: author, 1),
        .move([author.message(0), author.message(1)], to: .after(message(2))),
      ]
    },
    Action("add with the same key") { _, _ in [send("the same", 50)] },
    Action("move by one") { _, _ in [.move([message(2)], to: .position(3))] },
    Action("move to the end") { _, _ in [.move([message(2)], to: .position(4))] },
    Action("move behind a target") { _, _ in [.move([message(1)], to: .after(message(3)))] },
    Action("move the target") { _, _ in [.move([message(3)], to: .position(1))] },
    Action("move to another queue") { _, _ in [.move([message(2)], to: .after(message(5)))] },
    Action("move to a third queue") { _, _ in [.move([message(2)], to: .before(message(7)))] },
    Action("set urgent") { _, _ in [.setPriority(message(2), .urgent)] },
    Action("set urgent and normal again") { _, _ in
      [.setPriority(message(2), .urgent), .setPriority(message(2), .normal)]
    },
    Action("want later") { _, author in
      [.setLater(message(2), laterTime(of: author.number))]
    },
    Action("want later, and now again") { _, author in
      [.setLater(message(2), laterTime(of: author.number)), .setNotBefore(message(2), nil)]
    },
    Action("let it wait for another") { _, _ in [.setNeeds(message(2), [message(3)])] },
    Action("let the other wait for it") { _, _ in [.setNeeds(message(3), [message(2)])] },
    Action("let it wait, and now again") { _, _ in
      [.setNeeds(message(2), [message(5)]), .setNotBefore(message(2), nil)]
    },
    Action("remove") { _, _ in [.cancel([message(2)])] },
    Action("remove the target") { _, _ in [.cancel([message(3)])] },
    Action("restore") { _, _ in [.restore(message(6))] },
    Action("restore and remove again") { _, _ in [.restore(message(6)), .cancel([message(6)])] },
    Action("clear") { _, _ in [.clear(session("s"))] },
    Action("attach a file") { _, author in [.attach(message(2), files(0, author.number + 1))] },
    Action("attach the same file") { _, _ in [.attach(message(2), files(0))] },
    Action("take a file away") { _, _ in [.detach(message(7), files(9).map(\.hash))] },
    Action("take a file away and attach it again") { _, _ in
      [.detach(message(7), files(9).map(\.hash)), .attach(message(7), files(9))]
    },
  ]

  /// The time at which an author wants a message, long after everything is done.
  static func laterTime(of author: Int) -> Int64 { 4_000_000_000_000 + Int64(author) }

  /// Files by number; their parts are valid by construction.
  static func files(_ numbers: Int...) -> [Attachment] {
    numbers.map { number in
      let digits = String(repeating: String(number, radix: 16), count: 64)
      do {
        guard let hash = ContentHash(digits) else { preconditionFailure("\(digits) is a hash") }
        return try Attachment(
          hash: hash, name: "file \(number)", mediaType: "image/png", size: number + 1)
      } catch {
        preconditionFailure("file \(number): \(error)")
      }
    }
  }

  private static let textActions: [Action] = [
    Action("insert text at the start") { _, author in
      [.insertText(message(2), at: 0, text: "<\(author.number)")]
    },
    Action("insert text in the middle") { _, author in
      [.insertText(message(2), at: 1, text: "|\(author.number)")]
    },
    Action("insert text at the end") { _, author in
      [.insertText(message(2), at: 3, text: "\(author.number)>")]
    },
    Action("delete text at the start") { _, _ in [.deleteText(message(2), 0..<1)] },
    Action("delete text at the end") { _, _ in [.deleteText(message(2), 2..<3)] },
    Action("replace the text") { _, author in
      [.edit(message(2), content: "new \(author.number)", base: nil)]
    },
  ]

  private static let sessionActions: [Action] = [
    Action("rename the session") { _, author in
      [.renameSession(session("s"), name: "name \(author.number)")]
    },
    Action("delete the session") { _, _ in [.deleteSession(session("s"))] },
    Action("add the session") { _, _ in [.addSession(session("new"), name: nil, project: nil)] },
    Action("pause") { _, _ in [.pause(session("t"), reason: "again")] },
    Action("resume") { _, _ in [.resume(session("t"))] },
    Action("requeue the thread") { _, author in
      [send("again \(author.number)", author.message(5).low, in: "t")]
    },
    Action("remove the thread") { _, _ in [.removeThreads([session("t")])] },
    Action("move the thread") { _, _ in [.moveThread(session("t"), to: 2)] },
    Action("clear the threads") { _, _ in [.clearThreads] },
    Action("unlock the thread") { _, _ in [.unlockThread(session("t"))] },
  ]

  private static func insertion(by author: Author, _ use: Int = 0) -> Command {
    .send(
      Command.Send(
        session: session("s"), id: author.message(use), text: "by \(author.number).\(use)",
        requeuesThread: false))
  }
}
