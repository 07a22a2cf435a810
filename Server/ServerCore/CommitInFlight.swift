import DispatchAuthority
import QueueModel
import WireProtocol

/// The transaction being stored.
struct CommitInFlight: Sendable {
  var entries: [(batch: PendingBatch, entry: LogEntry)] = []
  var touches: [DeviceTouch] = []
  var bytes = 0
  /// The number of operations that were examined for it, plus one for each batch.
  var work = 0
  /// Leases and dispatches that it grants.
  var records: [(workspace: WorkspaceID, records: AuthorityRecords)] = []
  /// Requests of tasks that it answers, and the connections that answered.
  var verdicts: [(workspace: WorkspaceID, by: PendingRequest.Asker, record: VerdictRecord)] = []
  /// The changes of inboxes in it.
  var inboxes: [(workspace: WorkspaceID, changes: InboxChanges)] = []
  /// Responses to send once it is durable.
  var answers: [(connection: ConnectionID, response: Response)] = []
  /// Decisions about answers that came without a connection.
  var posts: [Post] = []
  /// Results of batches that store nothing, in a server that shares its store.
  var replies: [(batch: PendingBatch, reply: Reply)] = []
  /// The workspaces of these results and responses: the store must confirm their marks.
  var told: Set<WorkspaceID> = []
  /// The marks that the core knew of all workspaces that this concerns.
  private(set) var marks: [WorkspaceID: WorkspaceMark] = [:]

  /// The result of a batch.
  enum Reply: Sendable {
    /// The log has all of it.
    case known(LogPrefix)
    case refused(ResidentWorkspace.Rejection)
  }

  struct Post: Sendable {
    var id: PostedAnswerID
    var workspace: WorkspaceID
    var answer: AuthorityAnswer
    /// Whether the answer was not accepted before.
    var isNew: Bool
  }

  var isEmpty: Bool {
    entries.isEmpty && touches.isEmpty && records.isEmpty && inboxes.isEmpty && told.isEmpty
  }

  /// The devices' batches in it.
  var batches: [PendingBatch] { entries.map(\.batch) + replies.map(\.batch) }

  /// The batch for the store.
  mutating func batch(
    at wallMilliseconds: Int64, mark: (WorkspaceID) -> WorkspaceMark?
  ) -> CommitBatch {
    var batch = CommitBatch()
    batch.wallMilliseconds = wallMilliseconds
    batch.appends = entries.map { ($0.batch.workspace, $0.entry) }
    batch.touches = touches
    batch.records = records
    batch.inboxes = inboxes
    for workspace in batch.changedWorkspaces.union(told).union(touches.map(\.workspace)) {
      marks[workspace] = mark(workspace)
    }
    batch.marks = marks
    return batch
  }

  /// Removes the data of workspaces for which nothing was stored.
  ///
  /// - Returns: the removed decisions that have no connection.
  mutating func drop(_ lost: [WorkspaceID: WorkspaceLoss]) -> [Post] {
    guard !lost.isEmpty else { return [] }
    entries.removeAll { lost[$0.batch.workspace] != nil }
    inboxes.removeAll { lost[$0.workspace] != nil }
    verdicts.removeAll { lost[$0.workspace] != nil }
    defer { posts.removeAll { lost[$0.workspace] != nil } }
    return posts.filter { lost[$0.workspace] != nil }
  }

  /// Adds the authority's decision about a request of a workspace.
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

  /// Whether it stores data of a workspace.
  func concerns(_ workspace: WorkspaceID) -> Bool {
    entries.contains { $0.batch.workspace == workspace }
      || touches.contains { $0.workspace == workspace }
      || records.contains { $0.workspace == workspace }
      || inboxes.contains { $0.workspace == workspace } || told.contains(workspace)
  }

  /// Whether it is full.
  func isFull(_ rules: ServerConfiguration.Commits) -> Bool {
    entries.count >= rules.batchesMax || bytes >= rules.bytesMax || work >= rules.operationsMax
  }
}
