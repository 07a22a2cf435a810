import SequenceCRDT

/// Writes the rows of a list delta; SPECIFICATION.md, section "Lists".
struct ListEncoder {
  private typealias Head = ListFormat.Head

  private let log: ListLog
  /// The index in the delta's table of each replica of the log; nil where no row names it.
  private let indexes: [Int?]
  private let isSingle: Bool
  private var streams = Array(repeating: ByteWriter(), count: ListFormat.Column.count)
  private var context: ListFormat.Context

  static func encode(_ log: ListLog) -> EncodedBody {
    let table = Table(log)
    var encoder = ListEncoder(log, table: table)
    for run in log.runs { encoder.write(run) }
    return encoder.finish(table)
  }

  private init(_ log: ListLog, table: Table) {
    self.log = log
    indexes = table.indexes
    isSingle = table.order.count == 1
    context = ListFormat.Context(bases: table.bases)
  }

  /// The replicas that rows name, in the order in which they first do.
  private struct Table {
    /// Indexes in the log's table.
    var order: [Int] = []
    var bases: [UInt32] = []
    var indexes: [Int?]
    private var isAuthor: [Bool] = []

    init(_ log: ListLog) {
      indexes = Array(repeating: nil, count: log.replicas.count)
      for run in log.runs {
        note(run.id.replica, authored: run.id.seq)
        note(run.left)
        note(run.right)
        if run.kind != .insert {
          for id in log.elements[run.elementStart..<run.elementStart + run.count] { note(id) }
        }
        guard run.kind == .move else { continue }
        let units = run.originStart..<run.originStart + run.count
        for unit in units {
          note(log.lefts[unit])
          note(log.rights[unit])
        }
      }
    }

    private mutating func note(_ id: ListID) {
      if !id.isNone { note(id.replica, authored: nil) }
    }

    private mutating func note(_ replica: Int, authored seq: UInt32?) {
      let index = indexes[replica] ?? order.count
      if index == order.count {
        indexes[replica] = index
        order.append(replica)
        bases.append(1)
        isAuthor.append(false)
      }
      guard let seq, !isAuthor[index] else { return }
      isAuthor[index] = true
      bases[index] = seq
    }
  }

  private func finish(_ table: Table) -> EncodedBody {
    var writer = ByteWriter()
    writer.count(table.order.count)
    for (replica, base) in zip(table.order, table.bases) {
      writer.fixed(log.replicas[replica].rawValue)
      writer.number(UInt64(base) - 1)
    }
    var partEnds: [Int] = []
    for column in ListFormat.Column.allCases where !self[column].isEmpty {
      writer.byte(UInt8(column.rawValue))
      writer.blob(self[column].bytes)
      partEnds.append(writer.bytes.count)
    }
    return EncodedBody(bytes: writer.bytes, partEnds: partEnds)
  }

  private subscript(column: ListFormat.Column) -> ByteWriter {
    _read { yield streams[column.rawValue] }
    _modify { yield &streams[column.rawValue] }
  }

  /// Writes a run: one row, or several where integers and texts take turns.
  private mutating func write(_ run: ListLog.Run) {
    guard run.kind == .insert || run.kind == .set else {
      writeRow(run, units: 0..<run.count, holdsTexts: false)
      return
    }
    var start = 0
    while start < run.count {
      let isText = log.values[run.valueStart + start].isText
      var end = start + 1
      while end < run.count, log.values[run.valueStart + end].isText == isText { end += 1 }
      writeRow(run, units: start..<end, holdsTexts: isText)
      start = end
    }
  }

  private mutating func writeRow(_ run: ListLog.Run, units: Range<Int>, holdsTexts: Bool) {
    begin(run, units: units, holdsTexts: holdsTexts)
    switch run.kind {
    case .insert:
      let id = run.id.advanced(by: units.lowerBound)
      let left = units.lowerBound == 0 ? run.left : id.advanced(by: -1)
      writePlace(left: local(left), right: local(run.right))
      context.lastSlots[context.author] = id.seq + UInt32(units.count) - 1
      for unit in units { write(log.values[run.valueStart + unit]) }
    case .set:
      for unit in units {
        writeElement(local(log.elements[run.elementStart + unit]))
        write(log.values[run.valueStart + unit])
      }
    case .move:
      for unit in units {
        writeElement(local(log.elements[run.elementStart + unit]))
        writePlace(
          left: local(log.lefts[run.originStart + unit]),
          right: local(log.rights[run.originStart + unit]))
        context.lastSlots[context.author] = run.id.seq + UInt32(unit)
      }
    case .remove:
      for unit in units { writeElement(local(log.elements[run.elementStart + unit])) }
    }
  }

  private mutating func begin(_ run: ListLog.Run, units: Range<Int>, holdsTexts: Bool) {
    let id = local(run.id.advanced(by: units.lowerBound))
    var head = run.kind.rawValue | (holdsTexts ? Head.holdsTexts : 0)
    if id.replica != context.author {
      head |= Head.switchesAuthor
      self[.structure].count(id.replica)
      context.author = id.replica
    }
    let expected = context.nextSequences[id.replica]
    if id.seq != expected {
      head |= Head.skipsSequence
      self[.structure].signed(Int(id.seq) - Int(expected))
    }
    context.nextSequences[id.replica] = id.seq + UInt32(units.count)
    if run.kind != .remove, run.stamp != context.stamp {
      head |= Head.hasStamp
      writeStamp(run.stamp)
    }
    if units.count > 1 {
      head |= Head.hasCount
      self[.counts].count(units.count - 2)
    }
    self[.heads].byte(head)
  }

  private func local(_ id: ListID) -> ListID {
    guard !id.isNone, let index = indexes[id.replica] else { return .none }
    return ListID(replica: index, seq: id.seq)
  }

  private mutating func writeStamp(_ stamp: Stamp) {
    let distance = Int(stamp.milliseconds - context.stamp.milliseconds)
    self[.times].number(ByteWriter.zigzag(distance) << 1 | (stamp.counter == 0 ? 0 : 1))
    if stamp.counter != 0 { self[.counters].count(Int(stamp.counter)) }
    context.stamp = stamp
  }

  private mutating func writeElement(_ element: ListID) {
    if !isSingle { self[.elementReplicas].count(element.replica) }
    self[.elements].signed(Int(element.seq) - Int(context.elementFocus[element.replica]))
    context.elementFocus[element.replica] = element.seq
  }

  private mutating func writePlace(left: ListID, right: ListID) {
    let last = ListID(replica: context.author, seq: context.lastSlots[context.author])
    let leftTag =
      left.isNone
      ? ListFormat.LeftTag.start
      : left == last ? ListFormat.LeftTag.last : ListFormat.LeftTag.explicit
    let rightTag: UInt8 =
      if right.isNone {
        ListFormat.RightTag.end
      } else if !left.isNone, right == left.advanced(by: 1) {
        ListFormat.RightTag.besideLeft
      } else if right == context.lastRight {
        ListFormat.RightTag.same
      } else {
        ListFormat.RightTag.explicit
      }
    self[.shapes].byte(leftTag | rightTag << 2)
    if leftTag == ListFormat.LeftTag.explicit {
      if !isSingle { self[.leftReplicas].count(left.replica) }
      self[.lefts].signed(Int(left.seq) - Int(context.slotFocus[left.replica]))
      context.slotFocus[left.replica] = left.seq
    }
    if rightTag == ListFormat.RightTag.explicit {
      if !isSingle { self[.rightReplicas].count(right.replica) }
      let isBesideLeft = !left.isNone && left.replica == right.replica
      let base = isBesideLeft ? left.seq : context.slotFocus[right.replica]
      self[.rights].signed(Int(right.seq) - Int(base))
    }
    context.lastRight = right
  }

  private mutating func write(_ value: ListValue) {
    switch value {
    case .integer(let integer):
      self[.numbers].signed(Int(integer &- context.number))
      context.number = integer
    case .text(let text):
      self[.numbers].count(text.utf8.count)
      self[.strings].raw(text.utf8)
    }
  }
}

extension ListValue {
  var isText: Bool {
    if case .text = self { true } else { false }
  }
}
