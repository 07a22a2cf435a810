import QueueModel
package import SequenceCRDT
package import WireProtocol

/// Comparing what is here with what the server has under the same ids; SPECIFICATION.md, section
/// "Forms".
extension Replica {
  /// What the server's operations say about those that are here.
  struct Comparison {
    /// The server has the same up to here, in whatever form.
    var confirmed = VersionVector()
    /// The server's forms of events that have another form here, by replica and number.
    var forms: [ReplicaID: [Operation]] = [:]
    /// From these numbers on the server has other events.
    var forks: [ReplicaID: UInt32] = [:]

    var isClean: Bool { forms.isEmpty && forks.isEmpty }
  }

  /// Compares operations of the server with what is here and not known to be there.
  ///
  /// - Complexity: O(operations) where there is nothing to compare, else O(log of the replicas).
  func compare(
    _ operations: [Operation], store: some ReplicaStore
  ) throws(Fault) -> Comparison {
    var comparison = Comparison()
    let wanted = operations.ranges.compactMap { range -> OperationRange? in
      let first = max(range.first, record.acknowledged[range.replica] &+ 1)
      let last = min(range.last, workspace.vector[range.replica])
      guard first <= last else { return nil }
      return OperationRange(replica: range.replica, first: first, last: last)
    }
    guard !wanted.isEmpty else { return comparison }
    let held = try entries(of: store, in: wanted).flatMap(\.operations)
    for range in wanted {
      let pairs = held.inOrder(of: range.replica)
        .aligned(with: operations.inOrder(of: range.replica))
      comparison.note(pairs, in: range, behind: record.acknowledged[range.replica])
    }
    return comparison
  }

  /// The replicas of which the server has something else than is here, or may have.
  ///
  /// - Parameter known: what the server says it has.
  func disputed(
    by known: [KnownReplica], store: some ReplicaStore
  ) throws(Fault) -> Set<ReplicaID> {
    var disputed: Set<ReplicaID> = []
    var partly: [KnownReplica] = []
    for entry in known {
      let mine = workspace.vector[entry.replica]
      if entry.seq > mine {
        // What is sent builds on operations that nobody has compared.
        if record.ownReplicas.contains(entry.replica), record.acknowledged[entry.replica] < mine {
          disputed.insert(entry.replica)
        }
      } else if entry.seq == mine {
        if mine > 0, workspace.digest(of: entry.replica) != entry.digest {
          disputed.insert(entry.replica)
        }
      } else if entry.seq > 0 {
        partly.append(entry)
      }
    }
    let digests = try digests(upTo: partly, store: store)
    for entry in partly {
      if let digest = digests[entry.replica], digest != entry.digest {
        disputed.insert(entry.replica)
      }
    }
    return disputed
  }

  /// Those of the replicas of which the log holds operations, so that they can be compared.
  func comparable(_ known: [KnownReplica]) -> Set<ReplicaID> {
    Set(known.map(\.replica).filter { record.floor[$0] < workspace.vector[$0] })
  }

  /// The digests of replicas at numbers that lie before the last ones here; none for a replica of
  /// which the base holds more.
  func digests(
    upTo known: [KnownReplica], store: some ReplicaStore
  ) throws(Fault) -> [ReplicaID: UInt64] {
    guard !known.isEmpty else { return [:] }
    let start = try storedBase(store)
    var limit = VersionVector()
    for entry in known where start.vector[entry.replica] <= entry.seq {
      limit[entry.replica] = entry.seq
    }
    let held = try entries(of: store, in: limit.ranges(missingFrom: start.vector))
      .flatMap(\.operations)
    var digests: [ReplicaID: UInt64] = [:]
    for (replica, _) in limit.sorted {
      var digest = OperationDigest(value: start.digest(of: replica))
      for operation in held.inOrder(of: replica) {
        if let part = operation.droppingKnown(to: start.vector)?.keepingKnown(to: limit) {
          digest.add(part)
        }
      }
      digests[replica] = digest.value
    }
    return digests
  }

  /// What goes into `hello`.
  ///
  /// - Parameter disputed: of these only what the base holds, so that the server sends its form of
  ///   the rest.
  package func known(
    without disputed: Set<ReplicaID>, store: some ReplicaStore
  ) throws(Fault) -> [KnownReplica] {
    guard !disputed.isEmpty else { return known }
    let base = try storedBase(store)
    return known.compactMap { entry in
      guard disputed.contains(entry.replica) else { return entry }
      let seq = base.vector[entry.replica]
      guard seq > 0 else { return nil }
      return KnownReplica(
        replica: entry.replica, seq: seq, digest: base.digest(of: entry.replica))
    }
  }

  func storedBase(_ store: some ReplicaStore) throws(Fault) -> Workspace {
    do {
      return try store.baseState() ?? Workspace()
    } catch {
      throw .store(error)
    }
  }

  /// All entries that hold operations of the ranges.
  func entries(
    of store: some ReplicaStore, in ranges: [OperationRange]
  ) throws(Fault) -> [LogEntry] {
    guard !ranges.isEmpty else { return [] }
    var all: [LogEntry] = []
    while true {
      do {
        let page = try store.entries(in: ranges, after: all.last?.id ?? 0, countMax: 1_000)
        if page.isEmpty { return all }
        all.append(contentsOf: page)
      } catch {
        throw .store(error)
      }
    }
  }
}

extension Replica.Comparison {
  fileprivate mutating func note(
    _ pairs: [(mine: Operation, theirs: Operation)], in range: OperationRange,
    behind acknowledged: UInt32
  ) {
    var reached = acknowledged
    for pair in pairs {
      guard let ids = pair.mine.range, ids.last >= range.first, ids.first <= range.last
      else { continue }
      guard pair.mine.isSameEvent(as: pair.theirs) else {
        // Parts of a run may still be alike.
        let same = pair.mine.unitsAlike(with: pair.theirs)
        if same > 0, ids.first <= reached &+ 1 { reached = max(reached, ids.first + same - 1) }
        forks[range.replica] = max(range.first, ids.first + same)
        break
      }
      if pair.mine != pair.theirs { forms[range.replica, default: []].append(pair.theirs) }
      if ids.first <= reached &+ 1 { reached = max(reached, ids.last) }
    }
    if reached > acknowledged { confirmed[range.replica] = reached }
  }
}

extension Operation {
  /// The part of the operation that a vector knows; nil where it knows nothing of it.
  func keepingKnown(to vector: VersionVector) -> Operation? {
    keepingFirst(Int(vector[id.replica]) - Int(id.seq) + 1)
  }
}

extension [Operation] {
  /// Those of one replica, in the order of their ids.
  func inOrder(of replica: ReplicaID) -> [Operation] {
    filter { $0.id.replica == replica }.sorted { $0.id < $1.id }
  }
}
