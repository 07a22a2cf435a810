/// Why untrusted bytes are invalid: the kind of fault, its place, and a text.
package struct DecodingFault: Error, Hashable, Sendable {
  /// The kinds of faults.
  package enum Code: String, Hashable, Sendable, CaseIterable {
    /// The bytes end inside a field.
    case truncated
    /// A number is not in its shortest form, or does not fit in 64 bits.
    case overlongNumber
    /// A field has a forbidden value.
    case invalidValue
    /// Text is not UTF-8.
    case invalidText
    /// A row kind, form or column that this version does not know: update the reader.
    case unsupported
    /// A documented maximum of the model is exceeded.
    case limitExceeded
    /// Decoding would use more than the budget allows.
    case budgetExceeded
    /// Extra bytes follow the expected end.
    case trailingBytes
  }

  package var code: Code
  /// Counted from the start of the decoded bytes.
  package var offset: Int
  package var message: String

  package init(_ code: Code, at offset: Int, _ message: String) {
    self.code = code
    self.offset = offset
    self.message = message
  }
}

extension DecodingFault: CustomStringConvertible {
  package var description: String { "\(code.rawValue) at byte \(offset): \(message)" }
}

/// The maximum resources of one decoding; checked before any memory is reserved.
package struct DecodingBudget: Hashable, Sendable {
  /// Rows of a delta, or records of a snapshot.
  package var rowsMax: Int
  /// Units that the rows encode: scalars, deletions, slots, cleared tags.
  package var itemsMax: Int
  /// Of these, units of operations other than insertText and deleteText, and cleared tags.
  package var operationsMax: Int
  /// Entries of the replica table.
  package var replicasMax: Int

  /// - Parameter operationsMax: `itemsMax` if it is nil.
  package init(rowsMax: Int, itemsMax: Int, operationsMax: Int? = nil, replicasMax: Int) {
    self.rowsMax = rowsMax
    self.itemsMax = itemsMax
    self.operationsMax = operationsMax ?? itemsMax
    self.replicasMax = replicasMax
  }

  /// For one delta, by default.
  package static let standard = DecodingBudget(
    rowsMax: 1_200_000, itemsMax: 1_200_000, replicasMax: 65_536)
  /// For one delta from this device's own disk. One command may replace a text of the maximum
  /// length, and import a document of many messages.
  package static let stored = DecodingBudget(
    rowsMax: 64_000_000, itemsMax: 256_000_000, replicasMax: 65_536)
  /// For a whole workspace; a short snapshot gets less, see `limited`.
  package static let snapshot = DecodingBudget(
    rowsMax: 64_000_000, itemsMax: 256_000_000, replicasMax: 1_000_000)

  /// Hidden scalars and dead slots take no bytes in a snapshot, but take memory in a workspace. Any
  /// snapshot may have this many, and more for each of its bytes.
  package static let claimedItemsMax: Int64 = 1 << 25
  package static let claimedItemsPerByte: Int64 = 1_000

  /// The budget for a snapshot of this many bytes.
  func limited(toSnapshotOf byteCount: Int) -> DecodingBudget {
    var limited = self
    let claimed =
      DecodingBudget.claimedItemsMax + Int64(byteCount) * DecodingBudget.claimedItemsPerByte
    limited.itemsMax = Int(min(Int64(itemsMax), claimed))
    return limited
  }
}
