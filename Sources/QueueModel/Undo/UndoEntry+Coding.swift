import SequenceCRDT

/// The stored form of a change. Its bytes are written and read by hand, so that it is the same on
/// every system.
extension UndoEntry {
  private static let layout: UInt8 = 4

  /// The change in bytes.
  package var bytes: [UInt8] {
    var writer = UndoWriter()
    writer.byte(UndoEntry.layout)
    writer.byte(UInt8(clamping: UndoLabel.Kind.allCases.firstIndex(of: label.kind) ?? 0))
    writer.optional(label.session) { $0.session($1) }
    writer.optional(label.message) { $0.message($1) }
    writer.number(UInt64(clamping: label.count))
    writer.optional(label.text) { $0.text($1) }
    writer.number(UInt64(bitPattern: milliseconds))
    writer.byte(isByCommand ? 1 : 0)
    writer.optional(former) { $0.text($1) }
    writer.byte((isShared ? 1 : 0) | (isRewritten ? 2 : 0) | (typing == nil ? 0 : 4))
    if let typing { writer.list(typing.seen) { $0.id($1) } }
    writer.list(steps) { $0.step($1) }
    return writer.bytes
  }

  /// Reads the stored form.
  ///
  /// - Throws: only `UndoFormatError`, for anything that `bytes` does not produce.
  package init(bytes: [UInt8]) throws(UndoFormatError) {
    var reader = UndoReader(bytes)
    guard try reader.byte() == UndoEntry.layout else { throw UndoFormatError() }
    let kind = Int(try reader.byte())
    guard kind < UndoLabel.Kind.allCases.count else { throw UndoFormatError() }
    let session = try reader.flag() ? reader.session() : nil
    let message = try reader.flag() ? reader.message() : nil
    let count = try reader.count(max: Int(Int32.max))
    let text = try reader.flag() ? reader.text() : nil
    self.init(
      label: UndoLabel(
        kind: UndoLabel.Kind.allCases[kind], session: session, message: message, count: count,
        text: text),
      milliseconds: Int64(bitPattern: try reader.number()))
    isByCommand = try reader.flag()
    former = try reader.flag() ? reader.text() : nil
    let marks = try reader.byte()
    guard marks <= 7 else { throw UndoFormatError() }
    (isShared, isRewritten) = (marks & 1 != 0, marks & 2 != 0)
    if marks & 4 != 0 {
      var seen: [OperationID] = []
      for _ in 0..<(try reader.count()) { seen.append(try reader.id()) }
      typing = TypingStretch(seen: seen, connection: nil)
    }
    for _ in 0..<(try reader.count()) { steps.append(try reader.step()) }
    guard reader.isAtEnd else { throw UndoFormatError() }
  }
}

/// The bytes are not a stored change.
package struct UndoFormatError: Error, Hashable, Sendable {}

extension UndoField {
  /// Whether a change to this field is recorded.
  fileprivate var canBeUndone: Bool {
    switch (element, part) {
    case (.session, .tags(let tag)): [.exists, .queued, .locked, .paused].contains(tag)
    case (.message, .tags(let tag)): [.live, .attachment, .edition].contains(tag)
    case (.session, .register(let register)):
      [.name, .project, .host, .onLostServer, .onMerge].contains(register)
    case (.message, .register(let register)):
      [.project, .priority, .notBefore, .heldUntil, .later, .needs].contains(register)
    case (.session, .text): false
    case (_, .place), (.message, .text): true
    }
  }
}

extension UndoStep {
  fileprivate var fitsOperations: Bool {
    let texts: [String] =
      switch value {
      case .notes(let notes): notes ?? []
      case .files(let taken, let given): taken + given
      case .register(.text(let text)): [text]
      case .register, .place, .text: []
      }
    let bytesMax =
      field.part == .tags(.edition) ? TagField.edition.noteBytesMax : Limits.nameBytesMax
    return texts.allSatisfy { $0.utf8.count <= bytesMax }
  }
}

private struct UndoWriter {
  private(set) var bytes: [UInt8] = []

  mutating func byte(_ byte: UInt8) { bytes.append(byte) }

  /// Writes groups of seven bits, the lowest first.
  mutating func number(_ number: UInt64) {
    var rest = number
    while rest >= 0x80 {
      bytes.append(UInt8(truncatingIfNeeded: rest) | 0x80)
      rest >>= 7
    }
    bytes.append(UInt8(truncatingIfNeeded: rest))
  }

  mutating func fixed(_ number: UInt64) {
    for shift in stride(from: 56, through: 0, by: -8) {
      bytes.append(UInt8(truncatingIfNeeded: number >> UInt64(shift)))
    }
  }

  mutating func text(_ text: String) {
    number(UInt64(text.utf8.count))
    bytes += text.utf8
  }

  mutating func optional<Value>(_ value: Value?, _ write: (inout UndoWriter, Value) -> Void) {
    byte(value == nil ? 0 : 1)
    if let value { write(&self, value) }
  }

  mutating func list<Value>(_ values: [Value], _ write: (inout UndoWriter, Value) -> Void) {
    number(UInt64(values.count))
    for value in values { write(&self, value) }
  }

  mutating func session(_ id: SessionID) { text(id.rawValue) }

  mutating func message(_ id: MessageID) {
    fixed(id.high)
    fixed(id.low)
  }

  mutating func element(_ element: ElementName) {
    switch element {
    case .session(let id):
      byte(0)
      session(id)
    case .message(let id):
      byte(1)
      message(id)
    }
  }

  mutating func id(_ id: OperationID) {
    fixed(id.replica.rawValue)
    number(UInt64(id.seq))
  }

  mutating func step(_ step: UndoStep) {
    element(step.field.element)
    switch step.field.part {
    case .tags(let field):
      byte(0)
      byte(field.rawValue)
    case .register(let field):
      byte(1)
      byte(field.rawValue)
    case .place: byte(2)
    case .text: byte(3)
    }
    byte(step.isOvertaken ? 1 : 0)
    value(step.value)
  }

  private mutating func value(_ value: UndoValue) {
    switch value {
    case .notes(let notes):
      byte(0)
      optional(notes) { $0.list($1) { $0.text($1) } }
    case .files(let taken, let given):
      byte(1)
      list(taken) { $0.text($1) }
      list(given) { $0.text($1) }
    case .register(nil): byte(2)
    case .register(.number(let number)):
      byte(3)
      self.number(number)
    case .register(.text(let text)):
      byte(4)
      self.text(text)
    case .place(let place):
      byte(5)
      optional(place.session) { $0.session($1) }
      id(place.slot)
      optional(place.left) { $0.element($1) }
      optional(place.right) { $0.element($1) }
    case .text(let step):
      byte(6)
      id(step.content)
      number(UInt64(clamping: step.offset))
      text(step.text)
      list(step.ids) {
        $0.fixed($1.replica.rawValue)
        $0.number(UInt64($1.first))
        $0.number(UInt64($1.last))
      }
      text(step.old)
      optional(step.left) { $0.id($1) }
      optional(step.right) { $0.id($1) }
    }
  }
}

private struct UndoReader {
  private let bytes: [UInt8]
  private var place = 0

  init(_ bytes: [UInt8]) { self.bytes = bytes }

  var isAtEnd: Bool { place == bytes.count }

  mutating func byte() throws(UndoFormatError) -> UInt8 {
    guard place < bytes.count else { throw UndoFormatError() }
    place += 1
    return bytes[place - 1]
  }

  mutating func flag() throws(UndoFormatError) -> Bool {
    let byte = try byte()
    guard byte <= 1 else { throw UndoFormatError() }
    return byte == 1
  }

  mutating func number() throws(UndoFormatError) -> UInt64 {
    var number: UInt64 = 0
    for shift in stride(from: 0, to: 64, by: 7) {
      let next = try byte()
      let bits = UInt64(next & 0x7F)
      guard (bits << UInt64(shift)) >> UInt64(shift) == bits else { throw UndoFormatError() }
      number |= bits << UInt64(shift)
      if next < 0x80 { return number }
    }
    throw UndoFormatError()
  }

  /// A number of elements, each of which takes at least one byte unless `max` is given.
  mutating func count(max: Int? = nil) throws(UndoFormatError) -> Int {
    let number = try number()
    guard let count = Int(exactly: number), count <= max ?? (bytes.count - place) else {
      throw UndoFormatError()
    }
    return count
  }

  mutating func fixed() throws(UndoFormatError) -> UInt64 {
    var number: UInt64 = 0
    for _ in 0..<8 { number = number << 8 | UInt64(try byte()) }
    return number
  }

  mutating func text() throws(UndoFormatError) -> String {
    let count = try count()
    guard let text = String(validating: bytes[place..<place + count], as: UTF8.self) else {
      throw UndoFormatError()
    }
    place += count
    return text
  }

  mutating func texts() throws(UndoFormatError) -> [String] {
    var texts: [String] = []
    for _ in 0..<(try count()) { texts.append(try text()) }
    return texts
  }

  mutating func session() throws(UndoFormatError) -> SessionID {
    guard let id = SessionID(canonical: try text()) else { throw UndoFormatError() }
    return id
  }

  mutating func message() throws(UndoFormatError) -> MessageID {
    MessageID(high: try fixed(), low: try fixed())
  }

  mutating func element() throws(UndoFormatError) -> ElementName {
    try flag() ? .message(try message()) : .session(try session())
  }

  mutating func seq() throws(UndoFormatError) -> UInt32 {
    guard let seq = UInt32(exactly: try number()), seq > 0 else { throw UndoFormatError() }
    return seq
  }

  mutating func id() throws(UndoFormatError) -> OperationID {
    OperationID(replica: ReplicaID(rawValue: try fixed()), seq: try seq())
  }

  mutating func step() throws(UndoFormatError) -> UndoStep {
    let element = try element()
    let part: UndoField.Part
    switch try byte() {
    case 0: part = .tags(TagField(rawValue: try byte()))
    case 1: part = .register(RegisterField(rawValue: try byte()))
    case 2: part = .place
    case 3: part = .text
    default: throw UndoFormatError()
    }
    let field = UndoField(element: element, part: part)
    let isOvertaken = try flag()
    let step = UndoStep(field: field, value: try value(), isOvertaken: isOvertaken)
    // Checks that operations can be made from the values that were read.
    guard field.canBeUndone, step.fitsOperations else { throw UndoFormatError() }
    return step
  }

  private mutating func value() throws(UndoFormatError) -> UndoValue {
    switch try byte() {
    case 0: return .notes(try flag() ? try texts() : nil)
    case 1: return .files(taken: try texts(), given: try texts())
    case 2: return .register(nil)
    case 3: return .register(.number(try number()))
    case 4: return .register(.text(try text()))
    case 5:
      return .place(
        UndoPlace(
          session: try flag() ? try session() : nil, slot: try id(),
          left: try flag() ? try element() : nil, right: try flag() ? try element() : nil))
    case 6: return .text(try reversal())
    default: throw UndoFormatError()
    }
  }

  private mutating func reversal() throws(UndoFormatError) -> TextReversal {
    let content = try id()
    let offset = try count(max: TextContent.unitsMax)
    let text = try text()
    var ids: [OperationRange] = []
    var sum = 0
    for _ in 0..<(try count()) {
      let replica = ReplicaID(rawValue: try fixed())
      let (first, last) = (try seq(), try seq())
      guard first <= last else { throw UndoFormatError() }
      let range = OperationRange(replica: replica, first: first, last: last)
      sum += range.count
      ids.append(range)
    }
    guard sum == text.unicodeScalars.count else { throw UndoFormatError() }
    return TextReversal(
      content: content, offset: offset, text: text, ids: ids, old: try self.text(),
      left: try flag() ? try id() : nil, right: try flag() ? try id() : nil)
  }
}
