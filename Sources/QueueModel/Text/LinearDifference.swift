/// The fewest insertions and deletions that turn one list into another, in linear space and with
/// bounded work.
///
/// Divide and conquer on the middle snake of a shortest edit path: Myers, "An O(ND) Difference
/// Algorithm and Its Variations", Algorithmica 1 (1986), section 4b. If the bound is reached, the
/// present part is replaced as a whole. The result still turns one list into the other, but is no
/// longer the shortest.
package struct LinearDifference {
  /// A stretch of the old list and its replacement in the new one.
  package struct Hunk: Hashable {
    package var old: Range<Int>
    package var new: Range<Int>
  }

  /// The default number of comparisons of one call.
  package static let workMax = 1 << 22
  /// Half of the maximum number of differences to find between two stretches.
  package static let depthMax = 2_048

  /// The number of further comparisons that may be made.
  package private(set) var work: Int
  /// Whether no shorter answer exists: the bound was not reached.
  package private(set) var isMinimal = true
  private let old: [UInt32]
  private let new: [UInt32]
  private var isRemoved: [Bool]
  private var isInserted: [Bool]
  private var forward: Frontier
  private var backward: Frontier

  /// Compares two lists.
  ///
  /// - Complexity: O((*n* + *m*) · *d*) for *d* differences, at most about `work`; O(*n* + *m*) space.
  package init(from old: [UInt32], to new: [UInt32], work: Int = LinearDifference.workMax) {
    self.old = old
    self.new = new
    self.work = work
    isRemoved = Array(repeating: false, count: old.count)
    isInserted = Array(repeating: false, count: new.count)
    let depth = min((old.count + new.count + 1) / 2, LinearDifference.depthMax)
    forward = Frontier(depth: depth)
    backward = Frontier(depth: depth)
    compare(0..<old.count, 0..<new.count)
  }

  /// The stretches in which the lists differ, in order, never adjacent.
  package var hunks: [Hunk] {
    var hunks: [Hunk] = []
    var (oldIndex, newIndex) = (0, 0)
    while oldIndex < old.count || newIndex < new.count {
      let (oldStart, newStart) = (oldIndex, newIndex)
      while oldIndex < old.count, isRemoved[oldIndex] { oldIndex += 1 }
      while newIndex < new.count, isInserted[newIndex] { newIndex += 1 }
      if oldIndex > oldStart || newIndex > newStart {
        hunks.append(Hunk(old: oldStart..<oldIndex, new: newStart..<newIndex))
      } else {
        oldIndex += 1
        newIndex += 1
      }
    }
    return hunks
  }

  /// The depth of recursion is logarithmic: each half has half of the differences.
  private mutating func compare(_ oldPart: Range<Int>, _ newPart: Range<Int>) {
    var (low, high) = (
      (oldPart.lowerBound, newPart.lowerBound), (oldPart.upperBound, newPart.upperBound)
    )
    while low.0 < high.0, low.1 < high.1, old[low.0] == new[low.1] { low = (low.0 + 1, low.1 + 1) }
    while low.0 < high.0, low.1 < high.1, old[high.0 - 1] == new[high.1 - 1] {
      high = (high.0 - 1, high.1 - 1)
    }
    let oldRest = low.0..<high.0
    let newRest = low.1..<high.1
    guard !oldRest.isEmpty, !newRest.isEmpty else { return replace(oldRest, by: newRest) }
    guard let snake = middleSnake(oldRest, newRest) else {
      isMinimal = false
      return replace(oldRest, by: newRest)
    }
    compare(oldRest.lowerBound..<snake.old.lowerBound, newRest.lowerBound..<snake.new.lowerBound)
    compare(snake.old.upperBound..<oldRest.upperBound, snake.new.upperBound..<newRest.upperBound)
  }

  private mutating func replace(_ oldPart: Range<Int>, by newPart: Range<Int>) {
    for index in oldPart { isRemoved[index] = true }
    for index in newPart { isInserted[index] = true }
  }

  /// The stretch of equal elements in the middle of a shortest path; it may be empty.
  ///
  /// - Returns: nil if the bound is reached.
  private mutating func middleSnake(_ oldPart: Range<Int>, _ newPart: Range<Int>) -> Hunk? {
    let (width, height) = (oldPart.count, newPart.count)
    let delta = width - height
    let isOdd = delta & 1 != 0
    for depth in 0...min((width + height + 1) / 2, LinearDifference.depthMax) {
      forward.open(depth)
      backward.open(depth)
      for diagonal in Frontier.diagonals(depth, width: width, height: height) {
        guard work >= 0 else { return nil }
        guard let start = forward.start(diagonal, depth, width: width, height: height) else {
          forward[diagonal] = Frontier.nowhere
          continue
        }
        var end = start
        while end < width, end - diagonal < height,
          old[oldPart.lowerBound + end] == new[newPart.lowerBound + end - diagonal]
        { end += 1 }
        forward[diagonal] = end
        work -= 1 + end - start
        if isOdd, abs(delta - diagonal) < depth, end + backward[delta - diagonal] >= width {
          return Hunk(
            old: oldPart.lowerBound + start..<oldPart.lowerBound + end,
            new: newPart.lowerBound + start - diagonal..<newPart.lowerBound + end - diagonal)
        }
      }
      for diagonal in Frontier.diagonals(depth, width: width, height: height) {
        guard work >= 0 else { return nil }
        guard let start = backward.start(diagonal, depth, width: width, height: height) else {
          backward[diagonal] = Frontier.nowhere
          continue
        }
        var end = start
        while end < width, end - diagonal < height,
          old[oldPart.upperBound - 1 - end] == new[newPart.upperBound - 1 - end + diagonal]
        { end += 1 }
        backward[diagonal] = end
        work -= 1 + end - start
        if !isOdd, abs(delta - diagonal) <= depth, end + forward[delta - diagonal] >= width {
          return Hunk(
            old: oldPart.upperBound - end..<oldPart.upperBound - start,
            new: newPart.upperBound - end + diagonal..<newPart.upperBound - start + diagonal)
        }
      }
    }
    return nil
  }
}

/// The furthest points of the paths with a given number of differences, by diagonal (old index −
/// new index).
private struct Frontier {
  /// No path reaches the diagonal within the two lists; adding a list's length leaves it negative.
  static let nowhere = Int.min / 2
  private var reach: [Int]
  private let middle: Int

  init(depth: Int) {
    middle = depth + 1
    reach = Array(repeating: Frontier.nowhere, count: 2 * middle + 1)
  }

  subscript(diagonal: Int) -> Int {
    get { reach[middle + diagonal] }
    set { reach[middle + diagonal] = newValue }
  }

  /// Every second diagonal that `depth` differences reach and that crosses both lists.
  static func diagonals(_ depth: Int, width: Int, height: Int) -> StrideThrough<Int> {
    let low = depth > height ? -height + (depth - height) & 1 : -depth
    let high = depth > width ? width - (depth - width) & 1 : depth
    return stride(from: low, through: high, by: 2)
  }

  /// The outermost diagonals of this depth have no neighbours.
  mutating func open(_ depth: Int) {
    self[-depth - 1] = Frontier.nowhere
    self[depth + 1] = Frontier.nowhere
  }

  /// Where a path enters the diagonal: by one more deletion or insertion, whichever is further.
  func start(_ diagonal: Int, _ depth: Int, width: Int, height: Int) -> Int? {
    if depth == 0 { return 0 }
    let deleting = self[diagonal - 1] + 1
    let inserting = self[diagonal + 1]
    let furthest = max(
      deleting <= width ? deleting : Frontier.nowhere,
      inserting - diagonal <= height ? inserting : Frontier.nowhere)
    return furthest >= 0 ? furthest : nil
  }
}
