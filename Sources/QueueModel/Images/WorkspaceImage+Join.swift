import SequenceCRDT

/// Joins two states. README.md, section "Join".
extension WorkspaceImage {
  /// The state after the operations of both states.
  ///
  /// Commutative, associative and idempotent for states with correct vectors: an operation id names
  /// one operation, and inserted units are never dropped. If one vector includes the other, that
  /// state is the result.
  ///
  /// If neither state includes the other, the states are not trusted. The result is a state that
  /// both could have grown into, or an error. `Workspace(image:)` checks the images themselves. If
  /// it accepts both, it accepts the result.
  ///
  /// - Throws: `MergeError.invalidImage` if a state contradicts itself or the other one,
  ///   `MergeError.limitReached` if there are too many sessions together.
  /// - Complexity: O(both states · log), as `Workspace(image:)`; less if the states are alike.
  package func joined(with other: WorkspaceImage) throws(MergeError) -> WorkspaceImage {
    let states = KnownStates(here: try checkedVector(), there: try other.checkedVector())
    if states.here.includes(states.there) { return self }
    if states.there.includes(states.here) { return other }
    return try joined(with: other, states)
  }

  private func joined(
    with other: WorkspaceImage, _ states: KnownStates
  ) throws(MergeError) -> WorkspaceImage {
    try check(knownBy: states.here)
    try other.check(knownBy: states.there)
    return try StateJoin(one: self, other: other, states: states).image()
  }

  /// Whether the two show that an operation known to both had different effects in them. Not all
  /// effects of operations are still visible; see `Operation.isContradicted`.
  ///
  /// - Complexity: as `joined`, even if one of them includes the other.
  package func contradicts(_ other: WorkspaceImage) -> Bool {
    do throws(MergeError) {
      let states = KnownStates(here: try checkedVector(), there: try other.checkedVector())
      _ = try joined(with: other, states)
      return false
    } catch {
      if case .invalidImage = error { return true }
      return false
    }
  }
}

/// The operations that two states know. They distinguish content that a state has never received
/// from content that it removed.
struct KnownStates {
  var here: VersionVector
  var there: VersionVector

  /// Checks that an operation with an effect in only one state is unknown to the other.
  func check(_ id: OperationID, isUnknownTo known: VersionVector) throws(MergeError) {
    if known.contains(id) { throw .contradiction(in: id) }
  }
}

extension MergeError {
  /// The error that two states show different effects of one operation.
  static func contradiction(in id: OperationID) -> MergeError {
    .invalidImage(
      reason: "the states differ in operation \(id.seq) of replica \(id.replica.rawValue)")
  }
}

private struct StateJoin {
  let one: WorkspaceImage
  let other: WorkspaceImage
  let states: KnownStates

  func image() throws(MergeError) -> WorkspaceImage {
    var image = WorkspaceImage()
    image.replicas = try replicas()
    var (sessions, here, there) = try heads()
    try place(messages(here, there), in: &sessions)
    image.threadSlots = try states.joined(one.threadSlots, other.threadSlots)
    _ = try SlotPlaces(image.threadSlots)
      .inOrder(sessions.compactMap(\.threadPosition), at: \.self)
    image.sessions = sessions
    return image
  }

  private func replicas() throws(MergeError) -> [WorkspaceImage.Replica] {
    try paired(one.replicas, other.replicas, by: \.id) { here, there throws(MergeError) in
      guard let here, let there else { return here ?? there }
      var later = there.seq > here.seq ? there : here
      later.announcement = try states.later(here.announcement, there.announcement, of: here.id)
      return later
    }
  }

  /// The sessions without their messages, and which of them belong to which state.
  private func heads() throws(MergeError) -> (
    sessions: [WorkspaceImage.Session], here: [Int], there: [Int]
  ) {
    var (here, there): ([Int], [Int]) = ([], [])
    var count = 0
    let sessions = try paired(one.sessions, other.sessions, by: \.key) {
      mine, theirs throws(MergeError) in
      if mine != nil { here.append(count) }
      if theirs != nil { there.append(count) }
      count += 1
      if let mine, let theirs { return try states.joined(headsOf: mine, theirs) }
      var session = mine ?? theirs
      let known = mine == nil ? states.here : states.there
      try session?.forEachHeadName { first, _ throws(MergeError) in
        try states.check(first, isUnknownTo: known)
      }
      session?.messages = []
      return session
    }
    if sessions.count > Limits.sessionsMax, let last = sessions.compactMap(\.references.last).max()
    {
      throw .limitReached(operation: last, what: "sessions", max: Limits.sessionsMax)
    }
    return (sessions, here, there)
  }

  /// All messages, each with the session that its later position names.
  private func messages(
    _ here: [Int], _ there: [Int]
  ) throws(MergeError) -> [(session: Int, message: WorkspaceImage.Message)] {
    var messages: [(session: Int, message: WorkspaceImage.Message)] = []
    var places: [MessageID: Int] = [:]
    for (session, index) in zip(one.sessions, here) {
      for message in session.messages {
        guard places.updateValue(messages.count, forKey: message.id) == nil else {
          throw .invalidImage(reason: "message \(message.id) occurs twice")
        }
        messages.append((index, message))
      }
    }
    var isShared = [Bool](repeating: false, count: messages.count)
    for (session, index) in zip(other.sessions, there) {
      for message in session.messages {
        guard let place = places[message.id] else {
          places[message.id] = messages.count
          messages.append((index, message))
          isShared.append(true)
          try check(message, isUnknownTo: states.here)
          continue
        }
        guard !isShared[place] else {
          throw .invalidImage(reason: "message \(message.id) occurs twice")
        }
        isShared[place] = true
        let own = messages[place]
        let joined = try states.joined(own.message, message)
        messages[place] = (joined.position == own.message.position ? own.session : index, joined)
      }
    }
    for (entry, isShared) in zip(messages, isShared) where !isShared {
      try check(entry.message, isUnknownTo: states.there)
    }
    return messages
  }

  private func check(
    _ message: WorkspaceImage.Message, isUnknownTo known: VersionVector
  ) throws(MergeError) {
    try message.forEachName { first, _ throws(MergeError) in
      try states.check(first, isUnknownTo: known)
    }
  }

  /// Lists the messages under their sessions, in the order of their slots.
  private func place(
    _ messages: [(session: Int, message: WorkspaceImage.Message)],
    in sessions: inout [WorkspaceImage.Session]
  ) throws(MergeError) {
    for entry in messages { sessions[entry.session].messages.append(entry.message) }
    for index in sessions.indices where !sessions[index].messages.isEmpty {
      sessions[index].messages = try SlotPlaces(sessions[index].slots)
        .inOrder(sessions[index].messages, at: \.position)
    }
  }
}

/// The slots of a list by their ids.
private struct SlotPlaces {
  /// By id.
  private let runs: [RunSequence.Run]

  init(_ slots: [WorkspaceImage.SlotRun]) throws(MergeError) {
    runs = try RunSequence.Run.sorted(slots.map { ($0, true) })
  }

  /// The elements at slots, in the order of the list.
  ///
  /// - Throws: `MergeError.invalidImage` if a slot is not in the list, or two elements share one.
  func inOrder<Element>(
    _ elements: [Element], at position: (Element) -> WorkspaceImage.Position
  ) throws(MergeError) -> [Element] {
    var placed: [(place: Int, element: Element)] = []
    placed.reserveCapacity(elements.count)
    for element in elements {
      guard let place = runs.number(of: position(element).slot) else {
        throw .invalidImage(reason: "an element is at no slot")
      }
      placed.append((place, element))
    }
    placed.sort { $0.place < $1.place }
    guard zip(placed, placed.dropFirst()).allSatisfy({ $0.place < $1.place }) else {
      throw .invalidImage(reason: "two elements are at one slot")
    }
    return placed.map(\.element)
  }
}

/// Visits two lists in the order of a unique key, and collects the results of their elements.
///
/// - Throws: `MergeError.invalidImage` if a list is not in that order.
func paired<Element, Key: Comparable>(
  _ one: [Element], _ other: [Element], by key: (Element) -> Key,
  _ body: (Element?, Element?) throws(MergeError) -> Element?
) throws(MergeError) -> [Element] {
  for list in [one, other] {
    guard zip(list, list.dropFirst()).allSatisfy({ key($0) < key($1) }) else {
      throw .invalidImage(reason: "a list is not in its order")
    }
  }
  var results: [Element] = []
  results.reserveCapacity(max(one.count, other.count))
  var (here, there) = (0, 0)
  while here < one.count || there < other.count {
    var (mine, theirs) = (
      here < one.count ? one[here] : nil, there < other.count ? other[there] : nil
    )
    if let left = mine, let right = theirs {
      if key(left) < key(right) { theirs = nil }
      if key(right) < key(left) { mine = nil }
    }
    if mine != nil { here += 1 }
    if theirs != nil { there += 1 }
    if let result = try body(mine, theirs) { results.append(result) }
  }
  return results
}
