/// Values by field, for the few fields that an element has: an array in the order of the fields.
///
/// A workspace has two of these for each message, and a dictionary is larger than its content.
struct FieldTable<Field: RawRepresentable & Sendable, Value: Sendable>: Sendable
where Field.RawValue == UInt8 {
  /// In the order of the fields' numbers.
  private(set) var entries: [(field: Field, value: Value)] = []

  private func place(of field: Field) -> Int {
    var place = 0
    while place < entries.count, entries[place].field.rawValue < field.rawValue { place += 1 }
    return place
  }

  subscript(field: Field) -> Value? {
    get {
      let place = place(of: field)
      guard place < entries.count, entries[place].field.rawValue == field.rawValue else {
        return nil
      }
      return entries[place].value
    }
    set {
      let place = place(of: field)
      let isThere = place < entries.count && entries[place].field.rawValue == field.rawValue
      switch (newValue, isThere) {
      case (let value?, true): entries[place].value = value
      case (let value?, false): entries.insert((field, value), at: place)
      case (nil, true): entries.remove(at: place)
      case (nil, false): break
      }
    }
  }

  /// The values in the order of their fields.
  var values: some Sequence<Value> { entries.lazy.map(\.value) }
}
