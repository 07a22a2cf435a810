package import QueueModel
package import WireProtocol

extension ClientCore {
  /// Packs the sessions that were used; this has no visible effect.
  package mutating func pack() {
    connection.replica.pack()
  }

  /// Records an act of a user at this device that is not a command of the queues, such as a
  /// setting, with the former value. Undo names it together with the command that reverses it.
  package mutating func actNoted(
    _ label: UndoLabel, former: String?, at context: EventContext,
    store: some ReplicaStore
  ) throws(Replica.Fault) {
    try connection.replica.noteAct(
      label, former: former, wall: connection.time(at: context), store: store)
  }

  /// What this device can be sure of while it does not know the server's state; nil if it knows the
  /// state, or if there is no server.
  ///
  /// - Parameter isSilent: whether the server has not answered, whatever the connection seems to
  ///   be.
  package func apart(isSilent: Bool = false) -> Apartness? { connection.apart(isSilent: isSilent) }

  /// Sends the server a question about the device's notifications; the answer comes as `replied`.
  ///
  /// - Returns: nil if it cannot be asked now.
  package mutating func inboxQuestionAsked(_ request: InboxRequest, id: UInt64) -> [Action]? {
    inbox.questionAsked(request, id: id, over: connection)
  }

  /// A user answers a request.
  ///
  /// - Returns: the result if it is known at once; nil if the authority is or will be asked, and
  ///   `.answerEnded` comes later.
  package mutating func answerGiven(
    _ answer: AnswerRequest, at context: EventContext, store: some ReplicaStore
  ) throws(Replica.Fault) -> (ending: AnswerEnding?, actions: [Action]) {
    try requireAccess(at: context)
    return try tasks.answerGiven(
      answer, with: execution, over: &connection, at: context, store: store)
  }

  /// No caller waits for the result of an answer any more: its user is notified if the answer does
  /// not count.
  package mutating func answerEndedUnheard(
    _ answer: AnswerRequest, _ ending: AnswerEnding, at context: EventContext
  ) -> [Action] {
    tasks.noteUnused(answer, ending, connection, at: context)
    return []
  }

  /// A part of this device's output was read for another device. Without the connection that asked
  /// for it, it is dropped: the server has answered that the device is away.
  package func outputRead(_ reply: OutputReply, for connection: TransportID) -> [Action] {
    self.connection.current == connection ? [.send(connection, .output(reply))] : []
  }

  /// Takes late texts from the connection and, once this device has everything that its server has,
  /// the messages that were merged before it was paired.
  mutating func gatherNews(at context: EventContext) {
    if !replica.late.isEmpty {
      tasks.noteLate(replica.late, connection, at: context)
      connection.replica.late = []
    }
    guard tasks.looksForMerges, connection.isSynced else { return }
    tasks.looksForMerges = false
    tasks.noteMergedBefore(connection, at: context)
  }
}
