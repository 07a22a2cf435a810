/// Finds values by their hash among values that are kept elsewhere, numbered from 0: four bytes an
/// entry. A dictionary of ids takes fifty.
struct IdentityTable: Sendable {
  /// By hash, with linear probing: the number + 1, or 0 for an empty place.
  private var entries: [UInt32] = []
  private let mask: Int

  /// Reserves room for this many values.
  ///
  /// - Precondition: the count is below 2³¹.
  init(capacity: Int) {
    var size = 16
    while size * 3 < capacity * 4 { size *= 2 }
    mask = size - 1
    entries = Array(repeating: 0, count: size)
  }

  /// The number of the value with a hash for which `fits` is true.
  func find(_ hash: Int, where fits: (Int) -> Bool) -> Int? {
    var place = hash & mask
    while entries[place] != 0 {
      let number = Int(entries[place]) - 1
      if fits(number) { return number }
      place = (place + 1) & mask
    }
    return nil
  }

  /// Adds a value, unless one that fits exists.
  ///
  /// - Precondition: no more values are added than the table was made for.
  /// - Returns: false if one that fits exists.
  mutating func insert(_ number: Int, hash: Int, unless fits: (Int) -> Bool) -> Bool {
    var place = hash & mask
    while entries[place] != 0 {
      if fits(Int(entries[place]) - 1) { return false }
      place = (place + 1) & mask
    }
    entries[place] = UInt32(number + 1)
    return true
  }
}
