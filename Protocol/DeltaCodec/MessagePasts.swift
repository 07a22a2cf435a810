import SequenceCRDT

/// What a delta has of each message before a row. Writer and reader look only if there is an
/// edition.
struct MessagePasts {
  /// The texts of one message.
  struct Past {
    /// The note of its last edition.
    fileprivate(set) var edition = ""
    /// What was inserted since, in order.
    fileprivate(set) var inserted = ""
  }

  private var pasts: [OperationID: Past] = [:]
  /// The number of rows or operations whose texts are known here.
  var knownCount = 0

  mutating func insert(_ text: String, into message: OperationID) {
    // An empty text is replaced, so that the two share their bytes.
    func add(to inserted: inout String) {
      if inserted.isEmpty { inserted = text } else { inserted += text }
    }
    add(to: &pasts[message, default: Past()].inserted)
  }

  mutating func put(_ note: String, on message: OperationID) {
    pasts[message] = Past(edition: note)
  }

  func past(of message: OperationID) -> Past { pasts[message] ?? Past() }
}
