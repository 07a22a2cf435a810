import SequenceCRDT

/// Sessions by id: touched ones, layered over those of an opened snapshot.
///
/// Reading an untouched session unpacks it for that one reading; changing it keeps it unpacked.
/// `Workspace.warm` unpacks a session with its messages, and reports a failure. Here, a session
/// that cannot be unpacked counts as missing.
struct SessionTable: Sendable {
  private var warm = ShardedDictionary<SessionID, SessionState>()
  private let cold: ColdSessions?
  /// How many of the warm sessions are also in the snapshot.
  private var overlaps = 0

  init(over cold: ColdSessions? = nil) {
    self.cold = cold
  }

  var count: Int { warm.count + (cold?.keys.count ?? 0) - overlaps }

  /// The number of an untouched session in the snapshot.
  func coldIndex(of key: SessionID) -> Int? {
    guard let cold, !warm.contains(key) else { return nil }
    return cold.index(of: key)
  }

  /// Whether a session exists, touched or not.
  func contains(_ key: SessionID) -> Bool {
    warm.contains(key) || cold?.index(of: key) != nil
  }

  subscript(key: SessionID) -> SessionState? {
    get {
      if let state = warm[key] { return state }
      guard let cold, let index = cold.index(of: key) else { return nil }
      return try? cold.thaw(index).session
    }
    _modify {
      if cold != nil { warmUp(key) }
      yield &warm[key]
    }
  }

  subscript(key: SessionID, default value: @autoclosure () -> SessionState) -> SessionState {
    get { self[key] ?? value() }
    _modify {
      if cold != nil { warmUp(key) }
      yield &warm[key, default: value()]
    }
  }

  private mutating func warmUp(_ key: SessionID) {
    guard !warm.contains(key), let cold, let index = cold.index(of: key),
      let state = try? cold.thaw(index).session
    else { return }
    keep(state)
  }

  /// Keeps an unpacked session of the snapshot, unless it is already kept.
  mutating func keep(_ state: SessionState) {
    guard !warm.contains(state.key) else { return }
    warm[state.key] = state
    overlaps += 1
  }

  /// Removes the slots of a touched session.
  ///
  /// - Returns: the number of its slots; nil if the session is packed or not known.
  mutating func takeSlots(of key: SessionID) -> Int? {
    guard warm.contains(key) else { return nil }
    let count = warm[key]?.slots.count
    warm[key]?.slots = SlotList()
    return count
  }

  /// All sessions, in no particular order; untouched ones are unpacked one by one.
  var values: some Sequence<SessionState> {
    let untouched = (cold?.keys ?? []).lazy.filter { !warm.contains($0) }.compactMap { self[$0] }
    return Concatenation(warm.values, untouched)
  }

  /// Whether any session was touched.
  var hasWarmValues: Bool { warm.count > 0 }

  /// The touched sessions, in no particular order.
  var warmValues: some Sequence<SessionState> { warm.values }
}

/// Messages by id: touched ones, layered over those of an opened snapshot.
struct MessageTable: Sendable {
  private var warm = ShardedDictionary<MessageID, MessageState>()
  private let cold: ColdSessions?
  /// Sessions of the snapshot whose messages are kept here; messages of others are untouched.
  private var touchedSessions: Set<Int> = []

  init(over cold: ColdSessions? = nil) {
    self.cold = cold
  }

  /// Whether a message exists, touched or not.
  func contains(_ id: MessageID) -> Bool {
    warm.contains(id) || cold?.place(of: id) != nil
  }

  /// Whether messages of any session of the snapshot are kept here.
  var hasTouchedSessions: Bool { !touchedSessions.isEmpty }

  /// Whether messages of a session of the snapshot are kept here.
  func isTouched(session index: Int) -> Bool {
    touchedSessions.contains(index)
  }

  /// An untouched message's place in the snapshot; nil if its session is kept here.
  func coldPlace(of id: MessageID) -> (session: Int, message: Int)? {
    guard let cold, !warm.contains(id), let place = cold.place(of: id),
      !touchedSessions.contains(place.session)
    else { return nil }
    return place
  }

  subscript(id: MessageID) -> MessageState? {
    get {
      if let state = warm[id] { return state }
      guard let place = coldPlace(of: id) else { return nil }
      return try? cold?.thaw(place.session).messages[place.message]
    }
    _modify {
      if cold != nil { warmUp(id) }
      yield &warm[id]
    }
  }

  private mutating func warmUp(_ id: MessageID) {
    guard let cold, let place = coldPlace(of: id),
      let messages = try? cold.thaw(place.session).messages
    else { return }
    keep(messages, ofSession: place.session)
  }

  /// Keeps the unpacked messages of a session of the snapshot, unless they are already kept.
  mutating func keep(_ messages: [MessageState], ofSession index: Int) {
    guard touchedSessions.insert(index).inserted else { return }
    for message in messages { warm[message.id] = message }
  }

  /// All messages, in no particular order; untouched ones are unpacked session by session.
  var values: some Sequence<MessageState> {
    let untouched = (0..<(cold?.keys.count ?? 0)).lazy.filter { !touchedSessions.contains($0) }
      .flatMap { index in (try? cold?.thaw(index).messages) ?? [] }
    return Concatenation(warm.values, untouched)
  }

  /// All ids, in no particular order.
  var keys: some Sequence<MessageID> {
    let untouched = (cold?.messages ?? []).lazy.filter { !warm.contains($0) }
    return Concatenation(warm.keys, untouched)
  }
}

/// The elements that an `openSession` or `addMessage` introduced: those of later operations,
/// layered over those of an opened snapshot. Neither ever changes.
struct ReferenceTable<Key: Sendable>: Sendable {
  private var warm = ShardedDictionary<OperationID, Key>()
  private let cold: ColdSessions?
  private let coldKey: @Sendable (ColdSessions, OperationID) -> Key?

  init(
    over cold: ColdSessions? = nil,
    _ coldKey: @escaping @Sendable (ColdSessions, OperationID) -> Key?
  ) {
    self.cold = cold
    self.coldKey = coldKey
  }

  subscript(id: OperationID) -> Key? {
    get { warm[id] ?? cold.flatMap { coldKey($0, id) } }
    set { warm[id] = newValue }
  }
}

/// The elements of one sequence, followed by those of another.
private struct Concatenation<First: Sequence, Second: Sequence<First.Element>>: Sequence,
  IteratorProtocol
{
  private var first: First.Iterator?
  private var second: Second.Iterator

  init(_ first: First, _ second: Second) {
    self.first = first.makeIterator()
    self.second = second.makeIterator()
  }

  mutating func next() -> First.Element? {
    if let element = first?.next() { return element }
    first = nil
    return second.next()
  }
}
