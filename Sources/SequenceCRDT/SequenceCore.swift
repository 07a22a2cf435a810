/// The memory of a sequence: runs of units, the tree that keeps them in order, and their names.
///
/// ```text
///   inner nodes   [ child, weight ] × 32        weight: visible units below (and wide ones)
///                    │
///   leaves        [ run, weight ] × 32          in list order
///                    │
///   runs          unit, length, origins, …      stable index; knows its leaf
///                    ▲
///   run of unit   one index a unit              id → unit → run: no descent
/// ```
///
/// All data is in slabs and has 32-bit indexes; nodes are not objects. A queue or a prompt is one
/// leaf. `clone` makes a copy; `RunSequence` shares one core among copies until one of them
/// changes.
struct SequenceCore: ~Copyable {
  /// No unit, no run, no node.
  static let none = UInt32.max
  /// The maximum number of entries in a leaf or inner node.
  static let fanout: UInt32 = 32
  /// The maximum number of units in a sequence.
  static let unitsMax: UInt32 = 1 << 30

  /// Adjacent units with consecutive numbers and ids. Unit *k* > 0 has unit *k* − 1 as its left
  /// origin and parent.
  struct Run: BitwiseCopyable {
    /// The first unit. In an unused record: the next unused record.
    var unit: UInt32
    var length: UInt32
    /// The origins of the first unit; the right one is shared by all.
    var left: UInt32
    var right: UInt32
    var leaf: UInt32
    /// The distance of the first unit from the root of the FugueMax tree; the root's children have
    /// 1.
    var depth: UInt32
    /// An ancestor of the first unit: its parent or one further up; `none`: the root.
    var jump: UInt32
    var isVisible: Bool
    /// Whether the first unit is a child of its right origin.
    var isLeftChild: Bool
    /// The run's index in its leaf when it was inserted: usually it is there or a little further
    /// on.
    var entryHint: UInt8 = 0

    /// The parent of the first unit; `none` is the root.
    var parent: UInt32 { isLeftChild ? right : left }
    var end: UInt32 { unit + length }
  }

  struct Leaf: BitwiseCopyable {
    var count: UInt32 = 0
    var parent = SequenceCore.none
    /// The place among the parent's children.
    var slot: UInt32 = 0
    var next = SequenceCore.none
    var previous = SequenceCore.none
  }

  struct Node: BitwiseCopyable {
    var count: UInt32 = 0
    var parent = SequenceCore.none
    var slot: UInt32 = 0
    /// Whether the children are leaves.
    var isBottom: Bool
  }

  /// An entry of a leaf.
  struct Place: BitwiseCopyable, Equatable {
    var leaf: UInt32
    var entry: UInt32
  }

  var runs = Slab<Run>()
  var unusedRun = SequenceCore.none
  /// The time of each run, by index; 0 for runs without one. Empty until a run has one.
  private(set) var times = Slab<Int64>()
  var runOfUnit = Slab<UInt32>()
  var leaves = Slab<Leaf>()
  var leafRuns = Slab<UInt32>()
  var leafWeights = Slab<UInt64>()
  var nodes = Slab<Node>()
  var nodeChildren = Slab<UInt32>()
  var nodeWeights = Slab<UInt64>()
  /// The uppermost node; `none` if leaf 0 is the only leaf.
  var root = SequenceCore.none
  var firstLeaf: UInt32 = 0
  var lastLeaf: UInt32 = 0
  var ids = UnitNumbering()
  /// One bit a unit: whether it takes two UTF-16 code units. Empty until a unit does.
  var wide = Slab<UInt64>()
  /// Visible units in the lower half, wide ones among them in the upper half.
  var weight: UInt64 = 0

  init() {
    addLeaf(Leaf())
  }

  var unitCount: UInt32 { runOfUnit.count }
  var visibleCount: UInt32 { UInt32(truncatingIfNeeded: weight) }

  deinit {
    var copy = (
      runs, runOfUnit, leaves, leafRuns, leafWeights, nodes, nodeChildren, nodeWeights, ids, wide,
      times
    )
    copy.0.free()
    copy.1.free()
    copy.2.free()
    copy.3.free()
    copy.4.free()
    copy.5.free()
    copy.6.free()
    copy.7.free()
    copy.8.free()
    copy.9.free()
    copy.10.free()
  }

  private init(cloning core: borrowing SequenceCore) {
    runs = core.runs.clone()
    unusedRun = core.unusedRun
    times = core.times.clone()
    runOfUnit = core.runOfUnit.clone()
    leaves = core.leaves.clone()
    leafRuns = core.leafRuns.clone()
    leafWeights = core.leafWeights.clone()
    nodes = core.nodes.clone()
    nodeChildren = core.nodeChildren.clone()
    nodeWeights = core.nodeWeights.clone()
    root = core.root
    firstLeaf = core.firstLeaf
    lastLeaf = core.lastLeaf
    ids = core.ids.clone()
    wide = core.wide.clone()
    weight = core.weight
  }

  /// - Complexity: O(runs + units), as copies of whole slabs.
  borrowing func clone() -> SequenceCore {
    SequenceCore(cloning: self)
  }
}

// MARK: Weights

extension SequenceCore {
  static func visible(_ weight: UInt64) -> UInt32 { UInt32(truncatingIfNeeded: weight) }

  /// Visible units as UTF-16 code units.
  static func codeUnits(_ weight: UInt64) -> UInt32 {
    UInt32(truncatingIfNeeded: weight) &+ UInt32(truncatingIfNeeded: weight >> 32)
  }

  /// The weight of units if they are visible.
  @inline(__always)
  func weight(ofUnits units: Range<UInt32>) -> UInt64 {
    let length = UInt64(units.upperBound - units.lowerBound)
    return wide.count == 0
      ? length : length | UInt64(SequenceCore.wideCount(in: units, of: wide)) << 32
  }

  private static func wideCount(in units: Range<UInt32>, of wide: Slab<UInt64>) -> UInt32 {
    var total = 0
    var unit = units.lowerBound
    while unit < units.upperBound, unit >> 6 < wide.count {
      let end = min(units.upperBound, (unit >> 6 + 1) << 6)
      var word = wide[unit >> 6] >> UInt64(unit & 63)
      let length = end - unit
      if length < 64 { word &= 1 << UInt64(length) - 1 }
      total += word.nonzeroBitCount
      unit = end
    }
    return UInt32(truncatingIfNeeded: total)
  }

  /// Records that a unit takes two UTF-16 code units.
  mutating func markWide(_ unit: UInt32) {
    if wide.count <= unit >> 6 { wide.append(repeating: 0, count: unit >> 6 + 1 - wide.count) }
    wide[unit >> 6] |= 1 << UInt64(unit & 63)
    let run = runOfUnit[unit]
    if runs[run].isVisible { changeWeight(at: place(ofRun: run), by: 1 << 32) }
  }

  /// Adds to the weight of an entry and its ancestors; a decrease is passed as a wrapped value.
  @inline(__always)
  mutating func changeWeight(at place: Place, by difference: UInt64) {
    leafWeights[place.leaf * SequenceCore.fanout + place.entry] &+= difference
    changeWeight(ofLeaf: place.leaf, by: difference)
  }

  /// Adds to the weight of all ancestors of a leaf.
  @inline(__always)
  mutating func changeWeight(ofLeaf leaf: UInt32, by difference: UInt64) {
    weight &+= difference
    var node = leaves[leaf].parent
    var slot = leaves[leaf].slot
    while node != SequenceCore.none {
      nodeWeights[node * SequenceCore.fanout + slot] &+= difference
      slot = nodes[node].slot
      node = nodes[node].parent
    }
  }
}

// MARK: Run records

extension SequenceCore {
  mutating func addRun(_ run: Run, time: Int64) -> UInt32 {
    var index = runs.count
    if unusedRun == SequenceCore.none {
      runs.append(run)
    } else {
      index = unusedRun
      unusedRun = runs[index].unit
      runs[index] = run
    }
    if index < times.count {
      times[index] = time
    } else if time != 0 {
      times.append(repeating: 0, count: index - times.count)
      times.append(time)
    }
    return index
  }

  @inline(__always)
  func time(ofRun index: UInt32) -> Int64 { index < times.count ? times[index] : 0 }

  @inline(__always)
  func time(of unit: UInt32) -> Int64 { times.count == 0 ? 0 : time(ofRun: runOfUnit[unit]) }

  mutating func dropAllRuns() {
    runs.removeAll()
    times.removeAll()
    unusedRun = SequenceCore.none
  }

  mutating func dropRun(_ index: UInt32) {
    runs[index].unit = unusedRun
    runs[index].length = 0
    unusedRun = index
  }
}
