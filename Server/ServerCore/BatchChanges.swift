import QueueModel
import SequenceCRDT
import WireProtocol

/// Finds the events of a batch for which users get notifications; SPECIFICATION.md, section
/// "Notifications".
///
/// Created with the state before the batch, queried with the state after it.
struct BatchChanges: Sendable {
  private struct Piece: Hashable, Sendable {
    var element: OperationID
    var fence: Stamp
    var replica: ReplicaID
  }

  /// A write of a task; the order decides which write wins.
  private struct TaskWrite: Sendable {
    var fence: Stamp
    var writer: OperationID

    func wins(over other: TaskWrite?) -> Bool {
      guard let other else { return true }
      return (fence, writer) > (other.fence, other.writer)
    }
  }

  /// The maximum bytes of tasks' texts that are read for one batch. A write costs its whole text,
  /// however few of its bytes the batch contains: the text continues in registers written before.
  private static let textBytesMax = 8 << 20
  /// The maximum cost of reading a session's task before and after the batch.
  private static let sessionBytes = RegisterField.taskPieces.count * Limits.nameBytesMax
  /// The number of sessions whose tasks are read at a time, to be shown.
  static let sessionsMax = textBytesMax / sessionBytes

  private let operations: [Operation]
  /// The index of the first write whose text is read.
  private let firstRead: Int
  /// The earlier writes of the tasks, by session.
  private var writes: [SessionID: TaskWrite] = [:]
  /// The requests that the tasks awaited before, by session.
  private var awaited: [SessionID: Set<RequestID>] = [:]
  /// Threads that were locked before.
  private var locked: Set<SessionID> = []
  private let merging: MergeChanges

  /// - Complexity: O(operations).
  init(_ operations: [Operation], before content: Workspace) {
    self.operations = operations
    firstRead = BatchChanges.firstRead(of: operations)
    merging = MergeChanges(operations, before: content)
    for (index, operation) in operations.enumerated() {
      switch operation.body {
      case .setRegister(let element, .task, _, _):
        guard index >= firstRead, let session = content.session(introducedBy: element),
          awaited[session] == nil, let record = content.taskRecord(of: session)
        else { continue }
        writes[session] = TaskWrite(
          fence: Stamp(rawValue: record.token << 24 | record.step), writer: record.writer)
        awaited[session] = Set(record.state.requests.map(\.id))
      default:
        guard let element = operation.body.unlockedThread,
          let session = content.session(introducedBy: element),
          content.threadStanding(of: session)?.isLocked == true
        else { continue }
        locked.insert(session)
      }
    }
  }

  /// The index at which reading begins; if there is too much, only the last writes are read.
  private static func firstRead(of operations: [Operation]) -> Int {
    var pieces: [Piece: [RegisterField: Int]] = [:]
    var writes: [(index: Int, element: OperationID, bytes: Int)] = []
    for (index, operation) in operations.enumerated() {
      guard
        case .setRegister(let element, let field, .text(let text), let fence) = operation.body,
        RegisterField.taskPieces.contains(field)
      else { continue }
      let piece = Piece(element: element, fence: fence, replica: operation.id.replica)
      pieces[piece, default: [:]][field] = text.utf8.count
      guard field == .task else { continue }
      writes.append((index, element, pieces[piece]?.values.reduce(0, +) ?? 0))
    }
    var left = textBytesMax
    var seen: Set<OperationID> = []
    for write in writes.reversed() {
      left -= write.bytes + (seen.insert(write.element).inserted ? sessionBytes : 0)
      if left < 0 { return write.index + 1 }
    }
    return 0
  }

  /// The sessions whose requests the batch may have settled: it wrote their tasks, or deleted them.
  /// All are returned, because a settled request must not stay. Tasks are only read for sessions
  /// with a request in an inbox.
  func sessionsThatMayAwaitLess(after content: Workspace) -> Set<SessionID> {
    Set(
      operations.compactMap { operation in
        switch operation.body {
        case .setRegister(let element, let field, _, _)
        where RegisterField.taskPieces.contains(field):
          content.session(introducedBy: element)
        case .clearTags(let element, .exists, _): content.session(introducedBy: element)
        default: nil
        }
      })
  }

  /// All sessions whose tasks the batch writes, because their displayed statuses must be updated.
  func sessionsWithTasks(after content: Workspace) -> Set<SessionID> {
    Set(
      operations.compactMap { operation in
        guard case .setRegister(let element, .task, _, _) = operation.body else { return nil }
        return content.session(introducedBy: element)
      })
  }

  /// Whether the batch has no events.
  var isEmpty: Bool {
    merging.isEmpty
      && !operations.contains { operation in
        if case .setRegister(_, .task, _, _) = operation.body { return true }
        return operation.body.unlockedThread != nil
      }
  }

  /// The events, in the order of the operations; if there are too many, the last ones.
  ///
  /// - Parameters:
  ///   - content: the state after the batch.
  ///   - wall: milliseconds since 1970.
  ///   - author: the device of a replica.
  /// - Complexity: O(operations).
  func news(
    after content: Workspace, wall: Int64, ageMax: Int64, author: (ReplicaID) -> DeviceID?
  ) -> [NotificationChange] {
    var news: [NotificationChange] = []
    var concerned: Set<SessionID> = []
    var unlocked: [SessionID: OperationID] = [:]
    var writes = writes
    var awaited = awaited
    var tasks: [SessionID: TaskState] = [:]
    var pieces: [Piece: [RegisterField: String]] = [:]
    let merges = merging.merges(after: content)
    for (index, operation) in operations.enumerated() {
      let replica = operation.id.replica
      for merge in merges[operation.id] ?? [] {
        concerned.insert(merge.session)
        // The author of a saved text has not seen the other text, so that device gets the
        // notification, too.
        news.append(
          NotificationChange(
            name: merge.name, event: .messageMerged(text: merge.text), session: merge.session,
            message: merge.message, milliseconds: wall))
      }
      if case .setRegister(let element, let field, .text(let text), let fence) = operation.body {
        let piece = Piece(element: element, fence: fence, replica: replica)
        if RegisterField.taskPieces.contains(field) { pieces[piece, default: [:]][field] = text }
        let write = TaskWrite(fence: fence, writer: operation.id)
        guard field == .task, let session = content.session(introducedBy: element),
          write.wins(over: writes[session])
        else { continue }
        writes[session] = write
        guard index >= firstRead else { continue }
        let task = TaskText(text: BatchChanges.text(of: pieces[piece] ?? [:]))
        // Events of a deleted session are not useful.
        let known = awaited.updateValue(Set(task.requests.map(\.id)), forKey: session) ?? []
        if tasks[session] == nil { tasks[session] = content.task(of: session) }
        let events = BatchChanges.events(of: task, besides: known, tasks[session])
        guard content.host(of: session) != nil, !events.isEmpty else { continue }
        // An event of the task is as old as the task itself.
        concerned.insert(session)
        guard task.milliseconds > wall - ageMax else { continue }
        for (index, (request, event)) in events.enumerated() {
          news.append(
            NotificationChange(
              name: operation.id.naming(request?.id, at: index), event: event, session: session,
              request: request?.id, milliseconds: task.milliseconds,
              expiresAt: request?.expiresAt, author: author(replica)))
        }
      } else if let element = operation.body.unlockedThread,
        let session = content.session(introducedBy: element), locked.contains(session)
      {
        unlocked[session] = operation.id
      }
    }
    for (session, name) in unlocked.sorted(by: { $0.key < $1.key })
    where !concerned.contains(session) {
      guard let thread = content.threadStanding(of: session), thread.isShown else { continue }
      news.append(
        NotificationChange(
          name: name, event: .threadReady(name: thread.name), session: session,
          milliseconds: wall, author: author(name.replica)))
    }
    return news.suffix(WireLimits.batchNewsMax)
  }

  private static func text(of pieces: [RegisterField: String]) -> String {
    var text = ""
    for field in RegisterField.taskPieces {
      guard let piece = pieces[field] else { break }
      text += piece
    }
    return text
  }

  /// The events of a task: its end, or the requests that it did not await before. Another host's
  /// write may bring back several. A request that the batch itself settles is not an event.
  private static func events(
    of task: TaskText, besides known: Set<RequestID>, _ current: TaskState?
  ) -> [(TaskRequest?, NotificationEvent)] {
    let fresh = task.requests.filter {
      !known.contains($0.id) && current?.awaits($0.id) == true
    }
    return NotificationEvent.events(of: task.status, asking: fresh)
  }
}

extension Operation.Body {
  /// The thread whose lock the operation removes.
  fileprivate var unlockedThread: OperationID? {
    switch self {
    case .clearTags(let element, .locked, _): element
    case .enqueueThread(let enqueue) where !enqueue.locks && !enqueue.clearsLocked.isEmpty:
      enqueue.session
    default: nil
    }
  }
}
