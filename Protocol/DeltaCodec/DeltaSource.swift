/// The streams that the fields of a delta's rows come from: one, or one per column.
struct DeltaSource {
  private var readers: [ByteReader]
  private let usesColumns: Bool

  init(rest: ByteReader, usesColumns: Bool) throws(DecodingFault) {
    self.usesColumns = usesColumns
    guard usesColumns else {
      readers = [rest]
      return
    }
    var rest = rest
    let empty = ByteReader(rest.bytes, range: rest.end..<rest.end)
    readers = Array(repeating: empty, count: DeltaFormat.Column.count)
    var next = 0
    while !rest.isAtEnd {
      let offset = rest.position
      let number = try rest.byte()
      guard number >= next else {
        throw DecodingFault(.invalidValue, at: offset, "columns are not in ascending order")
      }
      next = Int(number) + 1
      let length = try rest.count(ofAtLeast: 1, max: Int.max, "a column's bytes")
      guard length > 0 else {
        throw DecodingFault(.invalidValue, at: offset, "a column is empty")
      }
      let start = rest.position
      _ = try rest.raw(length)
      if let column = DeltaFormat.Column(rawValue: Int(number)) {
        readers[column.rawValue] = ByteReader(rest.bytes, range: start..<start + length)
      } else if number < DeltaFormat.optionalColumnsFrom {
        throw DecodingFault(.unsupported, at: offset, "column \(number) is unknown here: update")
      }
    }
  }

  subscript(column: DeltaFormat.Column) -> ByteReader {
    _read { yield readers[usesColumns ? column.rawValue : 0] }
    _modify { yield &readers[usesColumns ? column.rawValue : 0] }
  }

  func offset(_ column: DeltaFormat.Column) -> Int { self[column].position }

  func isAtEnd(_ column: DeltaFormat.Column) -> Bool { self[column].isAtEnd }

  func requireEnd() throws(DecodingFault) {
    for reader in readers { try reader.requireEnd("the last row") }
  }
}

extension ByteReader {
  /// A number below `bound`.
  mutating func index(below bound: Int, _ what: String) throws(DecodingFault) -> Int {
    let offset = position
    let value = try number()
    guard value < UInt64(bound) else {
      throw DecodingFault(.invalidValue, at: offset, "\(what) \(value) of \(bound)")
    }
    return Int(value)
  }
}
