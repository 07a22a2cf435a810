import SequenceCRDT

/// The messages in a session's queue, in effective order: by their blocks, each block in the order
/// of the slots that they hold.
struct StandingOrder: Sendable {
  private var tried = RankedSlots()
  private var urgent = RankedSlots()
  private var normal = RankedSlots()

  init() {}

  /// - Parameter standing: the slots of messages, in their order, and the messages' blocks.
  init(inOrder standing: [(slot: UInt32, block: QueueBlock)]) {
    for block in QueueBlock.allCases {
      self[block] = RankedSlots(inOrder: standing.filter { $0.block == block }.map(\.slot))
    }
  }

  /// The number of messages in the queue.
  var count: Int { tried.count + urgent.count + normal.count }

  private(set) subscript(block: QueueBlock) -> RankedSlots {
    get {
      switch block {
      case .tried: tried
      case .urgent: urgent
      case .normal: normal
      }
    }
    _modify {
      switch block {
      case .tried: yield &tried
      case .urgent: yield &urgent
      case .normal: yield &normal
      }
    }
  }

  /// The places of a block, from 0.
  func places(of block: QueueBlock) -> Range<Int> {
    let start =
      switch block {
      case .tried: 0
      case .urgent: tried.count
      case .normal: tried.count + urgent.count
      }
    return start..<start + self[block].count
  }

  mutating func insert(_ slot: UInt32, into block: QueueBlock, of list: RunSequence) {
    self[block].insert(slot, in: list)
  }

  mutating func remove(_ slot: UInt32, from block: QueueBlock, of list: RunSequence) {
    self[block].remove(slot, in: list)
  }

  /// The place of a slot, from 0; nil if no message of the block has it.
  func place(of slot: UInt32, in block: QueueBlock, of list: RunSequence) -> Int? {
    self[block].rank(of: slot, in: list).map { places(of: block).lowerBound + $0 }
  }

  /// The slot at a place from 0 and below `count`.
  func slot(at place: Int) -> UInt32 {
    let inFront = tried.count + urgent.count
    if place >= inFront { return normal[place - inFront] }
    return place < tried.count ? tried[place] : urgent[place - tried.count]
  }

  /// Visits the slots of some places, in order.
  func forEach(in places: Range<Int>, _ body: (UInt32) -> Void) {
    for block in QueueBlock.allCases {
      let all = self.places(of: block)
      let here = places.clamped(to: all)
      guard !here.isEmpty else { continue }
      self[block].forEach(
        in: here.lowerBound - all.lowerBound..<here.upperBound - all.lowerBound, body)
    }
  }
}
