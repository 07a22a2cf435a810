import SequenceCRDT

extension CommandAuthor {
  /// Makes the operations of a command; the larger commands are types of their own.
  mutating func run(_ command: Command) throws(QueueError) -> CommandOutcome.Notice {
    switch command {
    case .addSession(let id, let name, let project):
      try addSession(id, name: name, project: project)
    case .renameSession(let id, let name):
      try renameSession(id, name: name)
    case .deleteSession(let id): try deleteSession(id)
    case .archive(let id): try Archival.archive(id, by: &self)
    case .unarchive(let id): try Archival.unarchive(id, by: &self)
    case .send(let send): try self.send(send)
    case .edit(let id, let content, let base):
      try edit(id, content: content, base: base)
    case .insertText(let id, let offset, let text):
      try insertText(text, at: offset, of: id)
    case .deleteText(let id, let range):
      try deleteText(range, of: id)
    case .move(let ids, let target):
      try MessageMove(of: ids, to: target).write(by: &self)
    case .cancel(let ids): try cancel(ids)
    case .restore(let id): try restore(id)
    case .clear(let session): try clear(session)
    case .setPriority(let id, let priority):
      try setPriority(id, priority)
    case .attach(let id, let attachments):
      try attach(attachments, to: id)
    case .detach(let id, let hashes):
      try detach(hashes, from: id)
    case .pause(let session, let reason): try pause(session, reason: reason ?? "")
    case .resume(let session): try resume(session)
    case .addThreads(let sessions):
      try addThreads(sessions)
    case .moveThreads(let sessions, let target):
      try ThreadMove(of: sessions, to: target).write(by: &self)
    case .removeThreads(let sessions):
      try removeThreads(sessions)
    case .clearThreads:
      try removeThreads(workspace.threadOrder())
    case .requeueThread(let session): try requeueThread(session)
    case .unlockThread(let session):
      try unlockThread(session)
    case .setHost(let session, let device):
      try setHost(device, of: session)
    case .setOnLostServer(let session, let policy): try setOnLostServer(policy, of: session)
    case .setOnMerge(let session, let policy): try setOnMerge(policy, of: session)
    case .retry(let id): try resolve(id, skips: false)
    case .skip(let id): try resolve(id, skips: true)
    case .setNotBefore(let id, nil):
      try startNow(id)
    case .setNotBefore(let id, let time):
      try setTime(time, .notBefore, of: id)
    case .setLater(let id, let time):
      try setTime(try time.map(checkedLater), .later, of: id)
    case .setNeeds(let id, let needs):
      try MessageNeeds.set(needs, of: id, by: &self)
    case .hold(let id, let time):
      try setTime(time, .heldUntil, of: id)
    case .stopAttempt(let id, let attempt):
      try stop(attempt, at: id)
    case .reportRun(let id, let run):
      try reportRun(run, of: id)
    case .reportTask(let report):
      try report.write(by: &self)
    case .importDocument(let document):
      try DocumentImport(of: document).write(by: &self)
    case .undo:
      throw .nothingToUndo
    case .redo:
      throw .nothingToRedo
    }
  }
}
