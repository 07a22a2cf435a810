extension RunSequence {
  /// Finding units by number needs no index of its own.
  package typealias UnitIndex = RunSequence

  package init(_ sequence: RunSequence) throws(SequenceFault) {
    self = sequence
  }

  @discardableResult
  package mutating func integrate(
    id: OperationID, length: Int, left: OperationID?, right: OperationID?, contentStart: Int
  ) throws(SequenceFault) -> Int {
    try integrate(id: id, length: length, left: left, right: right)
  }
}
