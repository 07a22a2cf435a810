package import SequenceCRDT

/// Uniting two states of which neither holds all of the other, and whose operations are gone: a
/// server that was restored, and a device that gives it back what it lost.
/// SPECIFICATION.md, section "Compaction".
extension WorkspaceImage {
  /// A state with what either state holds, its lists as chains.
  ///
  /// What one state lacks although it knows its operation was cleared, deleted or overwritten
  /// there. Registers and positions go by their stamps. Lists have the order of this state; what
  /// only the other has stands behind the unit that it has in front of it.
  ///
  /// - Parameter more: numbers that the other state knows besides what it says.
  /// - Complexity: O(both states · log).
  package func united(
    with other: WorkspaceImage, knowing more: [ReplicaID: ClosedRange<UInt32>] = [:]
  ) -> WorkspaceImage {
    let union = Union(mine: self, theirs: other, knowing: more)
    var result = WorkspaceImage()
    result.replicas = union.replicas
    let messages = union.messages
    for key in Set((sessions + other.sessions).map(\.key)).sorted() {
      result.sessions.append(union.session(key, with: messages[key] ?? []))
    }
    let places = Set(result.sessions.compactMap { $0.threadPosition?.slot })
    result.threadSlots = WorkspaceImage.chain(
      Union.merged(threadSlots.units, other.threadSlots.units, places.contains))
    return result
  }

  /// Units as a chain in the longest runs.
  static func chain(_ units: [OperationID]) -> [SlotRun] {
    var runs: [SlotRun] = []
    var last: OperationID?
    for id in units {
      if let run = runs.last, run.id.advanced(by: run.length) == id {
        runs[runs.count - 1].length += 1
      } else {
        runs.append(
          SlotRun(id: id, length: 1, origins: Operation.Origins(left: last, right: nil)))
      }
      last = id
    }
    return runs
  }
}

private struct Union {
  let mine: WorkspaceImage
  let theirs: WorkspaceImage
  private let known: VersionVector
  private let knownThere: VersionVector
  private let more: [ReplicaID: ClosedRange<UInt32>]
  private let here: [SessionID: WorkspaceImage.Session]
  private let there: [SessionID: WorkspaceImage.Session]

  init(
    mine: WorkspaceImage, theirs: WorkspaceImage, knowing more: [ReplicaID: ClosedRange<UInt32>]
  ) {
    self.mine = mine
    self.theirs = theirs
    self.more = more
    known = mine.vector
    knownThere = theirs.vector
    here = Dictionary(mine.sessions.map { ($0.key, $0) }) { first, _ in first }
    there = Dictionary(theirs.sessions.map { ($0.key, $0) }) { first, _ in first }
  }

  var replicas: [WorkspaceImage.Replica] {
    var all = Dictionary(mine.replicas.map { ($0.id, $0) }) { first, _ in first }
    for replica in theirs.replicas {
      guard let own = all[replica.id] else {
        all[replica.id] = replica
        continue
      }
      var later = replica.seq > own.seq ? replica : own
      if let one = own.announcement, let other = replica.announcement {
        later.announcement = one.seq >= other.seq ? one : other
      } else {
        later.announcement = own.announcement ?? replica.announcement
      }
      all[replica.id] = later
    }
    return all.values.sorted { $0.id < $1.id }
  }

  /// All messages, by the session of their later position.
  var messages: [SessionID: [WorkspaceImage.Message]] {
    var all: [MessageID: (session: SessionID, message: WorkspaceImage.Message)] = [:]
    for session in mine.sessions {
      for message in session.messages { all[message.id] = (session.key, message) }
    }
    for session in theirs.sessions {
      for message in session.messages {
        guard let own = all[message.id] else {
          all[message.id] = (session.key, message)
          continue
        }
        let isLater = message.position.isLater(than: own.message.position)
        all[message.id] = (
          isLater ? session.key : own.session, united(own.message, message)
        )
      }
    }
    var sessions: [SessionID: [WorkspaceImage.Message]] = [:]
    for entry in all.values {
      var message = entry.message
      for index in message.additions.indices { message.additions[index].chain() }
      sessions[entry.session, default: []].append(message)
    }
    return sessions
  }

  func session(
    _ key: SessionID, with messages: [WorkspaceImage.Message]
  ) -> WorkspaceImage.Session {
    let one = here[key] ?? WorkspaceImage.Session(key: key)
    let other = there[key] ?? WorkspaceImage.Session(key: key)
    var session = WorkspaceImage.Session(key: key)
    session.references = Set(one.references + other.references).sorted()
    session.tags = tags(one.tags, other.tags)
    session.registers = registers(one.registers, other.registers)
    session.threadPosition = Union.later(one.threadPosition, other.threadPosition)
    session.enqueued = Union.later(one.enqueued, other.enqueued)
    let places = Dictionary(messages.map { ($0.position.slot, $0) }) { first, _ in first }
    let slots = Union.merged(one.slots.units, other.slots.units) { places[$0] != nil }
    session.slots = WorkspaceImage.chain(slots)
    session.messages = slots.compactMap { places[$0] }
    return session
  }

  private func united(
    _ one: WorkspaceImage.Message, _ other: WorkspaceImage.Message
  ) -> WorkspaceImage.Message {
    var message = one
    message.position = Union.later(one.position, other.position) ?? one.position
    message.tags = tags(one.tags, other.tags)
    message.registers = registers(one.registers, other.registers)
    var additions = Dictionary(one.additions.map { ($0.id, $0) }) { first, _ in first }
    for addition in other.additions {
      additions[addition.id] = additions[addition.id].map { united($0, addition) } ?? addition
    }
    message.additions = additions.values.sorted { $0.id < $1.id }
    return message
  }

  private func united(
    _ one: WorkspaceImage.Addition, _ other: WorkspaceImage.Addition
  ) -> WorkspaceImage.Addition {
    let scalars = Dictionary(one.visible + other.visible) { first, _ in first }
    let shown = Set(one.visible.map(\.0))
    let shownThere = Set(other.visible.map(\.0))
    let units = Union.merged(one.visible.map(\.0), other.visible.map(\.0)) { id in
      isKept(id, here: shown.contains(id), there: shownThere.contains(id))
    }
    var addition = one
    addition.set(units.compactMap { id in scalars[id].map { (id, $0) } })
    return addition
  }

  /// What only one state shows was taken away in the other, if that knows of it.
  private func isKept(_ id: OperationID, here: Bool, there: Bool) -> Bool {
    here && there || here && !isKnownThere(id) || there && !known.contains(id)
  }

  private func isKnownThere(_ id: OperationID) -> Bool {
    knownThere.contains(id) || more[id.replica]?.contains(id.seq) == true
  }

  private func tags(
    _ one: [WorkspaceImage.Tags], _ other: [WorkspaceImage.Tags]
  ) -> [WorkspaceImage.Tags] {
    Set((one + other).map(\.field)).sorted { $0.rawValue < $1.rawValue }.compactMap { field in
      let here = one.first { $0.field == field }?.tags ?? []
      let there = other.first { $0.field == field }?.tags ?? []
      let ids = (Set(here.map(\.id)), Set(there.map(\.id)))
      let all = Dictionary((here + there).map { ($0.id, $0) }) { first, _ in first }
      let kept = all.values.filter { tag in
        isKept(tag.id, here: ids.0.contains(tag.id), there: ids.1.contains(tag.id))
      }
      return kept.isEmpty
        ? nil : WorkspaceImage.Tags(field: field, tags: kept.sorted { $0.id < $1.id })
    }
  }

  private func registers(
    _ one: [WorkspaceImage.Register], _ other: [WorkspaceImage.Register]
  ) -> [WorkspaceImage.Register] {
    var latest = Dictionary(one.map { ($0.field, $0) }) { first, _ in first }
    for register in other {
      guard let own = latest[register.field],
        (own.stamp, own.writer) >= (register.stamp, register.writer)
      else {
        latest[register.field] = register
        continue
      }
    }
    return latest.values.sorted { $0.field.rawValue < $1.field.rawValue }
  }

  private static func later(
    _ one: WorkspaceImage.Position?, _ other: WorkspaceImage.Position?
  ) -> WorkspaceImage.Position? {
    guard let one, let other else { return one ?? other }
    return other.isLater(than: one) ? other : one
  }

  /// Two orders as one: the first, with what only the second has behind the unit before it.
  static func merged(
    _ first: [OperationID], _ second: [OperationID], _ isKept: (OperationID) -> Bool
  ) -> [OperationID] {
    let here = Set(first)
    var followers: [OperationID?: [OperationID]] = [:]
    var last: OperationID?
    for id in second {
      if here.contains(id) {
        last = id
      } else if isKept(id) {
        followers[last, default: []].append(id)
      }
    }
    var merged = followers[nil] ?? []
    for id in first {
      if isKept(id) { merged.append(id) }
      merged += followers[id] ?? []
    }
    return merged
  }
}

extension WorkspaceImage.Position {
  fileprivate func isLater(than other: WorkspaceImage.Position) -> Bool {
    (stamp, slot) > (other.stamp, other.slot)
  }
}

extension WorkspaceImage.Addition {
  /// The visible scalars with their ids, in order.
  var visible: [(OperationID, Unicode.Scalar)] {
    var ids: [OperationID] = []
    for run in runs where run.isVisible { ids += [run.slots].units }
    return Array(zip(ids, text.unicodeScalars))
  }

  fileprivate mutating func chain() { set(visible) }

  mutating func set(_ scalars: [(OperationID, Unicode.Scalar)]) {
    runs = WorkspaceImage.chain(scalars.map(\.0)).map {
      WorkspaceImage.TextRun(slots: $0, isVisible: true)
    }
    var view = String.UnicodeScalarView()
    view.append(contentsOf: scalars.map(\.1))
    text = String(view)
  }
}

extension [WorkspaceImage.SlotRun] {
  /// The ids of all units, in order.
  var units: [OperationID] {
    flatMap { run in (0..<run.length).compactMap { run.id.advanced(by: $0) } }
  }
}
