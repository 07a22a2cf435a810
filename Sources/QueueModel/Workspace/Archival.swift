import SequenceCRDT

/// Whether a user archived a session: the notes of its `exists` tags.
///
/// Everything that uses a session replaces the `exists` tags that its author saw by its own. An archived session has
/// only tags with the note `archived`. So an archive counts until somebody who saw it uses the session, and a use
/// that the archive did not see keeps the session in the lists.
enum Archival {
  static let archived = "archived"
  /// A user brought the session back, and did nothing else with it.
  static let unarchived = "unarchived"

  static func holds(_ notes: [String]) -> Bool {
    !notes.isEmpty && notes.allSatisfy { $0 == archived }
  }
}

extension SessionState {
  /// Whether all who used it last archived it. Something may wait in it nevertheless, which the archive did not
  /// see; see `SessionView.archived`.
  var isPutAway: Bool { Archival.holds(element.notes(.exists)) }

  /// Whether lists leave it out: it is archived, and nothing in it waits, works or asks.
  ///
  /// - Parameter waiting: the number of its waiting messages.
  func isArchived(waiting: Int) -> Bool {
    isPutAway && waiting == 0 && !isInThreadQueue && task?.state.status.kind.isUnderWay != true
  }
}

extension Archival {
  /// Takes a session with nothing to do out of the lists, and out of the thread queue.
  static func archive(
    _ id: SessionID, by author: inout CommandAuthor
  ) throws(QueueError) -> CommandOutcome.Notice {
    let session = try author.existingSession(id)
    let waiting = session.standing.count
    guard waiting == 0, session.task?.state.status.kind.isUnderWay != true else {
      throw .sessionInUse(session: id.rawValue, waiting: waiting)
    }
    let reference = try author.reference(of: session)
    let fields = [TagField.queued, .locked].map { (field: $0, tags: session.element.tagIDs($0)) }
    if !session.isPutAway {
      author.emit(
        .addTag(
          element: reference, field: .exists, clears: session.element.tagIDs(.exists),
          note: archived))
    }
    for (field, tags) in fields where !tags.isEmpty {
      author.emit(.clearTags(element: reference, field: field, clears: tags))
    }
    return author.operations.isEmpty ? .unchanged : .done
  }

  static func unarchive(
    _ id: SessionID, by author: inout CommandAuthor
  ) throws(QueueError) -> CommandOutcome.Notice {
    _ = try author.existingSession(id)
    bringBack(id, by: &author)
    return author.operations.isEmpty ? .unchanged : .done
  }

  /// Lists an archived session again, because it is used.
  static func bringBack(_ id: SessionID, by author: inout CommandAuthor) {
    guard let session = author.workspace.sessionStates[id], session.isPutAway,
      let reference = session.element.references.first
    else { return }
    author.emit(
      .addTag(
        element: reference, field: .exists, clears: session.element.tagIDs(.exists),
        note: unarchived))
  }
}
