import DispatchAuthority
import QueueModel
import WireProtocol

/// The transaction being stored.
struct CommitInFlight: Sendable {
  var entries: [(batch: PendingBatch, entry: LogEntry)] = []
  var touches: [DeviceTouch] = []
  var bytes = 0
  /// Operations that were looked at for it, and one more for each batch.
  var work = 0
  /// Leases and dispatches that are granted with it.
  var records: [(workspace: WorkspaceID, records: AuthorityRecords)] = []
  /// Requests of tasks that were answered with it, and by whose connection.
  var verdicts: [(workspace: WorkspaceID, by: PendingRequest.Asker, record: VerdictRecord)] = []
  /// What changes in inboxes with it.
  var inboxes: [(workspace: WorkspaceID, changes: InboxChanges)] = []
  /// What is told once it is durable.
  var answers: [(connection: ConnectionID, response: Response)] = []
  /// Answers that came without a connection, as they were decided.
  var posts: [Post] = []

  struct Post: Sendable {
    var id: PostedAnswerID
    var workspace: WorkspaceID
    var answer: AuthorityAnswer
    /// It was not taken before.
    var isNew: Bool
  }

  var isEmpty: Bool {
    entries.isEmpty && touches.isEmpty && records.isEmpty && inboxes.isEmpty
  }

  /// What is handed to the store.
  func batch(at wallMilliseconds: Int64) -> CommitBatch {
    var batch = CommitBatch()
    batch.wallMilliseconds = wallMilliseconds
    batch.appends = entries.map { ($0.batch.workspace, $0.entry) }
    batch.touches = touches
    batch.records = records
    batch.inboxes = inboxes
    return batch
  }

  /// Takes up what the authority decided about a request of a workspace.
  mutating func add(
    _ outcome: PendingRequests.Outcome, to pending: PendingRequest, of id: WorkspaceID
  ) {
    switch pending.asker {
    case .connection(let connection):
      answers.append((connection, outcome.answer.response(id: pending.id)))
    case .post(let post):
      posts.append(
        Post(id: post, workspace: id, answer: outcome.answer, isNew: !outcome.changes.isEmpty))
    }
    if !outcome.changes.isEmpty { records.append((id, outcome.changes)) }
    for record in outcome.changes.verdicts { verdicts.append((id, pending.asker, record)) }
  }

  /// Whether it stores something of a workspace.
  func concerns(_ workspace: WorkspaceID) -> Bool {
    entries.contains { $0.batch.workspace == workspace }
      || touches.contains { $0.workspace == workspace }
      || records.contains { $0.workspace == workspace }
      || inboxes.contains { $0.workspace == workspace }
  }

  /// Whether nothing more goes into it.
  func isFull(_ rules: ServerConfiguration.Commits) -> Bool {
    entries.count >= rules.batchesMax || bytes >= rules.bytesMax || work >= rules.operationsMax
  }
}
