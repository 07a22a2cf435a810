import QueueModel
package import SequenceCRDT

extension [Operation] {
  /// The ids of the operations as ranges, by replica; neighbours are joined.
  package var ranges: [OperationRange] {
    var byReplica: [ReplicaID: [(first: UInt32, last: UInt32)]] = [:]
    for range in compactMap(\.range) {
      var list = byReplica[range.replica] ?? []
      if let end = list.last, end.last &+ 1 == range.first {
        list[list.count - 1].last = range.last
      } else {
        list.append((range.first, range.last))
      }
      byReplica[range.replica] = list
    }
    var ranges: [OperationRange] = []
    for (replica, list) in byReplica.sorted(by: { $0.key < $1.key }) {
      for stretch in list.sorted(by: { $0.first < $1.first }) {
        if let end = ranges.last, end.replica == replica, stretch.first <= end.last &+ 1 {
          ranges[ranges.count - 1] = OperationRange(
            replica: replica, first: end.first, last: Swift.max(end.last, stretch.last))
        } else {
          ranges.append(
            OperationRange(replica: replica, first: stretch.first, last: stretch.last))
        }
      }
    }
    return ranges
  }
}

extension TouchedQueues {
  /// Every queue of either workspace, for changes beyond single operations.
  static func all(of workspaces: Workspace...) -> TouchedQueues {
    var touched = TouchedQueues(threads: true)
    for workspace in workspaces { touched.sessions.formUnion(workspace.sessions().map(\.id)) }
    return touched
  }
}
