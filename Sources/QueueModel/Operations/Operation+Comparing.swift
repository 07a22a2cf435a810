package import SequenceCRDT

/// Comparing and renaming operations that have no place in a log yet.
extension Operation {
  /// Whether both are the same except for their stamps.
  package func isSame(as other: Operation) -> Bool { withoutStamp == other.withoutStamp }

  /// The operation with no time.
  package var withoutStamp: Operation { withStamp { _ in .zero } }

  /// The operation after the elements that it names got other ids; several operations in place of a
  /// deletion whose scalars are no longer consecutive.
  package func renamed(_ name: (OperationID) -> OperationID) -> [Body] {
    func renamed(_ origins: Origins) -> Origins {
      Origins(left: origins.left.map(name), right: origins.right.map(name), time: origins.time)
    }
    switch body {
    case .announceDevice:
      return [body]
    case .openSession(let session, let clears):
      return [.openSession(session: session, clears: clears.map(name))]
    case .addMessage(var addition):
      addition.session = name(addition.session)
      addition.origins = renamed(addition.origins)
      addition.clears = addition.clears.map(name)
      return [.addMessage(addition)]
    case .insertText(var insertion):
      insertion.message = name(insertion.message)
      insertion.origins = renamed(insertion.origins)
      return [.insertText(insertion)]
    case .deleteText(let deletion):
      return deletion.renamed(name).map { .deleteText($0) }
    case .placeMessage(let message, let session, let origins, let stamp):
      return [
        .placeMessage(
          message: name(message), session: name(session), origins: renamed(origins), stamp: stamp)
      ]
    case .placeThread(let session, let origins, let stamp):
      return [.placeThread(session: name(session), origins: renamed(origins), stamp: stamp)]
    case .enqueueThread(var enqueue):
      enqueue.session = name(enqueue.session)
      enqueue.origins = renamed(enqueue.origins)
      enqueue.clearsQueued = enqueue.clearsQueued.map(name)
      enqueue.clearsLocked = enqueue.clearsLocked.map(name)
      return [.enqueueThread(enqueue)]
    case .addTag(let element, let field, let clears, let note):
      return [
        .addTag(element: name(element), field: field, clears: clears.map(name), note: note)
      ]
    case .clearTags(let element, let field, let clears):
      return [.clearTags(element: name(element), field: field, clears: clears.map(name))]
    case .setRegister(let element, let field, let value, let stamp):
      return [.setRegister(element: name(element), field: field, value: value, stamp: stamp)]
    }
  }
}

extension Operation.DeleteText {
  fileprivate func renamed(_ name: (OperationID) -> OperationID) -> [Operation.DeleteText] {
    var pieces: [Operation.DeleteText] = []
    for offset in 0..<max(count, 0) {
      guard let id = first.advanced(by: offset).map(name) else { break }
      if let last = pieces.last, last.first.advanced(by: last.count) == id {
        pieces[pieces.count - 1].count += 1
      } else {
        pieces.append(
          Operation.DeleteText(message: name(message), first: id, count: 1, backwards: backwards))
      }
    }
    return backwards ? pieces.reversed() : pieces
  }
}

extension Operation {
  /// Whether a state that knows the operation's id shows that the id belongs to a different
  /// operation. It cannot show this for every kind: tags and registers have only their current
  /// values.
  package func isContradicted(by workspace: Workspace) -> Bool {
    switch body {
    case .openSession(let session, _):
      return workspace.sessionKeys[id] != session
    case .addMessage(let addition):
      return workspace.messageKeys[id] != addition.message
    case .insertText(let insertion):
      guard let key = workspace.messageKeys[insertion.message],
        let content = workspace.content(insertion.message, of: key)
      else { return true }
      return insertion.text.unicodeScalars.enumerated().contains { offset, scalar in
        guard let scalarID = id.advanced(by: offset),
          let unit = content.sequence.contentIndex(of: scalarID)
        else { return true }
        return content.sequence.isVisible(content: unit)
          && !content.utf8(of: unit..<unit + 1).elementsEqual(String(scalar).utf8)
      }
    case .placeMessage(_, let session, _, _):
      guard let key = workspace.sessionKeys[session] else { return true }
      return workspace.sessionStates[key]?.slots.contains(id) != true
    case .placeThread, .enqueueThread:
      return !workspace.threadSlots.contains(id)
    case .announceDevice, .deleteText, .addTag, .clearTags, .setRegister:
      return false
    }
  }
}
