import QueueModel
import SequenceCRDT

/// Writes the two parts of a list's snapshot; SPECIFICATION.md, section "Lists".
struct ListSnapshotEncoder {
  private var numbers = ByteWriter()
  private var strings = ByteWriter()
  private var indexes: [ReplicaID: Int] = [:]
  private var stamp = Stamp(milliseconds: DeltaFormat.epochMilliseconds)
  private var lastSlot = OperationID(replica: ReplicaID(rawValue: 0), seq: 0)
  private var lastWriter = 0

  /// What a reader needs to show the list.
  static func values(_ values: [ListValue]) -> EncodedBody {
    var encoder = ListSnapshotEncoder()
    encoder.write(values)
    var writer = ByteWriter()
    writer.blob(encoder.numbers.bytes)
    let end = writer.bytes.count
    writer.raw(encoder.strings.bytes)
    return EncodedBody(bytes: writer.bytes, partEnds: [end])
  }

  /// What a reader needs besides to change the list and to merge.
  static func state(_ image: ListImage) -> EncodedBody {
    var encoder = ListSnapshotEncoder()
    encoder.write(image)
    return EncodedBody(bytes: encoder.numbers.bytes, partEnds: [])
  }

  private mutating func write(_ values: [ListValue]) {
    numbers.count(values.count)
    var last: Int64 = 0
    var start = 0
    while start < values.count {
      let isText = values[start].isText
      let end = values[start...].firstIndex { $0.isText != isText } ?? values.count
      numbers.count((end - start) << 1 | (isText ? 1 : 0))
      for value in values[start..<end] {
        switch value {
        case .integer(let integer):
          numbers.signed(Int(integer &- last))
          last = integer
        case .text(let text):
          numbers.count(text.utf8.count)
          strings.raw(text.utf8)
        }
      }
      start = end
    }
  }

  private mutating func write(_ image: ListImage) {
    numbers.count(image.replicas.count)
    for (index, entry) in image.replicas.enumerated() {
      numbers.fixed(entry.replica.rawValue)
      numbers.number(UInt64(entry.seq))
      indexes[entry.replica] = index
    }
    write(image.latestStamp)
    numbers.count(image.runs.count)
    for (index, run) in image.runs.enumerated() {
      write(run, before: index > 0 ? image.runs[index - 1] : nil)
    }
    var owner = 0
    for run in image.runs {
      for offset in 0..<run.length {
        write(image.owners[owner], from: run.unitID(at: offset))
        owner += 1
      }
    }
    for element in image.elements { write(element.positionStamp) }
    for element in image.elements { write(element.valueStamp) }
    for element in image.elements {
      numbers.count(indexes[element.valueWriter.replica] ?? 0)
      numbers.signed(Int(element.valueWriter.seq) - lastWriter)
      lastWriter = Int(element.valueWriter.seq)
    }
  }

  private mutating func write(_ run: RunSequence.Run, before previous: RunSequence.Run?) {
    numbers.count(run.length << 1 | (run.isVisible ? 1 : 0))
    write(run.id, from: lastSlot)
    lastSlot = run.unitID(at: run.length - 1)
    let leftTag: UInt8 =
      run.left == nil ? 0 : run.left == previous?.unitID(at: (previous?.length ?? 1) - 1) ? 1 : 2
    let rightTag: UInt8 = run.right == nil ? 0 : run.right == previous?.right ? 1 : 2
    numbers.byte(leftTag | rightTag << 2)
    if leftTag == 2, let left = run.left { write(left, from: run.id) }
    if rightTag == 2, let right = run.right { write(right, from: run.id) }
  }

  /// An id counted from another: twice the signed distance, plus 1 where another replica's index
  /// follows.
  private mutating func write(_ id: OperationID, from other: OperationID) {
    let distance = ByteWriter.zigzag(Int(id.seq) - Int(other.seq)) << 1
    guard id.replica != other.replica else {
      numbers.number(distance)
      return
    }
    numbers.number(distance | 1)
    numbers.count(indexes[id.replica] ?? 0)
  }

  private mutating func write(_ next: Stamp) {
    let distance = Int(next.milliseconds - stamp.milliseconds)
    numbers.number(ByteWriter.zigzag(distance) << 1 | (next.counter == 0 ? 0 : 1))
    if next.counter != 0 { numbers.count(Int(next.counter)) }
    stamp = next
  }
}
