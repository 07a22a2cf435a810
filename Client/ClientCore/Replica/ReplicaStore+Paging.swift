extension ReplicaStore {
  /// For stores with a short log: searches all of it.
  package func entries(before: Int64, countMax: Int) throws(StoreError) -> [StoredOperations] {
    var latest: [StoredOperations] = []
    var last: Int64 = 0
    while true {
      let page = try entries(after: last, countMax: 1_000)
      guard let end = page.last else { break }
      last = end.id
      latest = Array((latest + page.filter { $0.id < before }).suffix(countMax))
      if last >= before { break }
    }
    return latest.reversed()
  }
}
