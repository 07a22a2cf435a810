extension Range where Bound: FixedWidthInteger & Sendable {
  /// The first number beyond a boundary, or `upperBound` if there is none: a binary search over the
  /// indexes of any collection.
  ///
  /// - Precondition: if a number is beyond the boundary, all later ones are, too.
  /// - Complexity: O(log count) calls.
  @inlinable
  @inline(__always)
  package func partitioningIndex<Failure: Error>(
    where isBehind: (Bound) throws(Failure) -> Bool
  ) throws(Failure) -> Bound {
    var (low, high) = (lowerBound, upperBound)
    while low < high {
      // Half the distance: the sum of both might not fit.
      let middle = low + (high - low) / 2
      if try isBehind(middle) { high = middle } else { low = middle + 1 }
    }
    return low
  }
}
