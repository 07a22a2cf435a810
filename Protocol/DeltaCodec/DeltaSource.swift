/// The streams from which the fields of rows are read: one, or one for each column.
struct DeltaSource: ~Copyable {
  private typealias Column = DeltaFormat.Column

  /// One for all columns, or one for each. Every field of every row uses them, and an array would
  /// check for unique ownership each time. Only this file uses the pointer: the initializer
  /// allocates it, the source frees it, and every index is below `count`.
  private let readers: UnsafeMutablePointer<ByteReader>
  private let count: Int

  /// - Throws: `DecodingFault` if columns are out of order, empty, cut or unknown.
  init(rest: ByteReader, usesColumns: Bool = true) throws(DecodingFault) {
    self.init(usesColumns ? try DeltaSource.columns(of: rest) : [rest])
  }

  private init(_ readers: [ByteReader]) {
    count = readers.count
    self.readers = .allocate(capacity: readers.count)
    _ = UnsafeMutableBufferPointer(start: self.readers, count: count).initialize(from: readers)
  }

  deinit {
    readers.deinitialize(count: count)
    readers.deallocate()
  }

  private static func columns(of bytes: ByteReader) throws(DecodingFault) -> [ByteReader] {
    var rest = bytes
    let empty = ByteReader(rest.bytes, range: rest.end..<rest.end)
    var readers = Array(repeating: empty, count: Column.allCases.count)
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
      if let column = Column(rawValue: Int(number)) {
        readers[column.rawValue] = ByteReader(rest.bytes, range: start..<start + length)
      } else if number < DeltaFormat.optionalColumnsFrom {
        throw DecodingFault(.unsupported, at: offset, "column \(number) is unknown here: update")
      }
    }
    return readers
  }

  subscript(column: DeltaFormat.Column) -> ByteReader {
    // With more than one stream, every column's number is below the count.
    unsafeAddress { UnsafePointer(readers + (count > 1 ? column.rawValue : 0)) }
    unsafeMutableAddress { readers + (count > 1 ? column.rawValue : 0) }
  }

  func offset(_ column: DeltaFormat.Column) -> Int { self[column].position }

  func isAtEnd(_ column: DeltaFormat.Column) -> Bool { self[column].isAtEnd }

  func requireEnd() throws(DecodingFault) {
    for index in 0..<count { try readers[index].requireEnd("the last row") }
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
