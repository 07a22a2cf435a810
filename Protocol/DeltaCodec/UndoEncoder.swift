import QueueModel
import SequenceCRDT

/// Writes one group; the replicas that it names are gathered on the way.
struct UndoEncoder {
  private var body = ByteWriter()
  private var replicas: [ReplicaID] = []

  mutating func write(_ group: UndoGroup) {
    write(group.label)
    body.signed(group.milliseconds)
    var lists: UndoCodec.Lists = []
    if !group.tags.isEmpty { lists.insert(.tags) }
    if !group.registers.isEmpty { lists.insert(.registers) }
    if !group.messagePlaces.isEmpty { lists.insert(.messagePlaces) }
    if !group.threadPlaces.isEmpty { lists.insert(.threadPlaces) }
    if !group.queuedAt.isEmpty { lists.insert(.queuedAt) }
    if !group.texts.isEmpty { lists.insert(.texts) }
    if !group.replacements.isEmpty { lists.insert(.replacements) }
    body.byte(lists.rawValue)
    list(group.tags) { $0.write($1) }
    list(group.registers) { $0.write($1) }
    list(group.messagePlaces) { $0.write($1) { $0.body.identifier($1) } }
    list(group.threadPlaces) { $0.write($1) { $0.body.text($1.rawValue) } }
    list(group.queuedAt) { $0.write($1) }
    list(group.texts) { $0.write($1) }
    list(group.replacements) { $0.write($1) }
  }

  /// The table of replicas and what was written.
  func finish() -> [UInt8] {
    var writer = ByteWriter()
    writer.byte(UndoCodec.layout)
    writer.count(replicas.count)
    for replica in replicas { writer.fixed(replica.rawValue) }
    writer.raw(body.bytes)
    return writer.bytes
  }

  private mutating func write(_ label: UndoLabel) {
    guard let kind = UndoCodec.kinds.firstIndex(of: label.kind) else {
      preconditionFailure("every kind has a number")
    }
    body.count(kind)
    body.count(label.count)
    optional(label.session) { $0.body.text($1.rawValue) }
    optional(label.message) { $0.body.identifier($1) }
  }

  private mutating func write(_ step: UndoGroup.TagStep) {
    write(step.element)
    body.byte(step.field.rawValue)
    body.byte(step.isOvertaken ? 1 : 0)
    written(step.put) { $0.write($1) }
    written(step.cleared) { $0.write($1) }
    optional(step.restored) { $0.written($1) { $0.body.text($1) } }
  }

  private mutating func write(_ tag: UndoGroup.TagReplacement) {
    body.byte(tag.field.rawValue)
    write(tag.old)
    write(tag.new)
  }

  private mutating func write(_ step: UndoGroup.RegisterStep) {
    write(step.element)
    body.byte(step.field.rawValue)
    switch step.before {
    case nil: body.byte(0)
    case .number(let number):
      body.byte(1)
      body.number(number)
    case .text(let text):
      body.byte(2)
      body.text(text)
    }
    write(step.beforeWriter)
    write(step.writer)
  }

  private mutating func write<Key>(
    _ step: UndoGroup.PlaceStep<Key>, key: (inout UndoEncoder, Key) -> Void
  ) {
    key(&self, step.key)
    optional(step.session) { $0.body.text($1.rawValue) }
    write(step.slot)
    optional(step.left, key)
    optional(step.right, key)
    write(step.writer)
  }

  private mutating func write(_ step: UndoGroup.QueuedAtStep) {
    body.text(step.session.rawValue)
    body.signed(step.before)
    write(step.beforeWriter)
    write(step.writer)
  }

  private mutating func write(_ step: UndoGroup.TextStep) {
    body.identifier(step.message)
    write(step.content)
    written(step.inserted) { $0.write($1) }
    written(step.deleted) { encoder, stretch in
      encoder.write(stretch.range)
      encoder.body.text(stretch.text)
      encoder.write(stretch.left)
      encoder.write(stretch.right)
    }
  }

  private mutating func write(_ element: ElementName) {
    switch element {
    case .session(let key):
      body.byte(0)
      body.text(key.rawValue)
    case .message(let key):
      body.byte(1)
      body.identifier(key)
    }
  }

  private mutating func write(_ range: OperationRange) {
    write(OperationID(replica: range.replica, seq: range.first))
    body.count(range.count - 1)
  }

  private mutating func write(_ id: OperationID?) {
    guard let id else { return body.byte(0) }
    let index: Int
    if let known = replicas.firstIndex(of: id.replica) {
      index = known
    } else {
      index = replicas.count
      replicas.append(id.replica)
    }
    body.count(index + 1)
    body.number(UInt64(id.seq))
  }

  /// A list that is left out where it is empty.
  private mutating func list<Step>(
    _ steps: [Step], _ write: (inout UndoEncoder, Step) -> Void
  ) {
    if !steps.isEmpty { written(steps, write) }
  }

  private mutating func written<Step>(
    _ steps: [Step], _ write: (inout UndoEncoder, Step) -> Void
  ) {
    body.count(steps.count)
    for step in steps { write(&self, step) }
  }

  private mutating func optional<Value>(
    _ value: Value?, _ write: (inout UndoEncoder, Value) -> Void
  ) {
    body.byte(value == nil ? 0 : 1)
    if let value { write(&self, value) }
  }
}
