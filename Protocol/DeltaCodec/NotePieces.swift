/// The pieces of an edition's note; SPECIFICATION.md, section "Pieces".
struct NotePieces {
  /// Bytes of a note that follow each other in one place.
  struct Piece: Hashable {
    enum Kind: UInt64 {
      /// Not in the delta yet.
      case new
      /// In the note of the message's last edition.
      case edition
      /// In the text that was inserted since.
      case inserted
    }

    var kind: Kind
    /// The first byte: of the note itself if it is new.
    var start: Int
    var count: Int
  }

  private static let continuedBytesMin = 4
  /// Only shorter continuations are compared with other places.
  private static let continuedBytesEnough = 16

  private(set) var pieces: [Piece] = []
  private let note: [UInt8]
  /// The bytes that are not written yet.
  private var rest: Range<Int>

  /// - Complexity: O(*n*), for all three together.
  init(of note: [UInt8], edition: [UInt8], inserted: [UInt8]) {
    self.note = note
    rest = note.indices
    guard !edition.isEmpty || !inserted.isEmpty else {
      takeNew(note.count)
      return
    }
    takeNew(NotePieces.headCount(of: note))
    var known = NotePieces.headCount(of: edition)..<edition.count
    let beginning = note.commonPrefix(from: rest, with: edition, from: known)
    if beginning >= NotePieces.continuedBytesMin {
      take(.edition, at: known.lowerBound, beginning)
      known = known.dropFirst(beginning)
    }
    let end = note.commonSuffix(of: rest, with: edition, of: known)
    let keepsEnd = end >= NotePieces.continuedBytesMin
    if keepsEnd {
      rest = rest.dropLast(end)
      known = known.dropLast(end)
    }
    takeRest(from: known, of: edition, inserted: inserted)
    if keepsEnd {
      rest = note.count - end..<note.count
      take(.edition, at: known.upperBound, end)
    }
  }

  /// The note as new bytes.
  init(new note: [UInt8]) {
    self.init(of: note, edition: [], inserted: [])
  }

  /// The bytes up to and including the first space.
  private static func headCount(of note: [UInt8]) -> Int {
    note.firstIndex(of: UInt8(ascii: " ")).map { $0 + 1 } ?? note.count
  }

  /// Takes each part of the rest from the longest of a few places that have it.
  private mutating func takeRest(from known: Range<Int>, of edition: [UInt8], inserted: [UInt8]) {
    var editionPlaces = KnownBytes(edition, range: known)
    var insertedPlaces = KnownBytes(inserted, range: inserted.indices)
    while !rest.isEmpty {
      let ofEdition = editionPlaces.continuation(of: note, rest)
      let ofInserted = insertedPlaces.continuation(of: note, rest)
      var best = max(ofEdition, ofInserted)
      var kind: Piece.Kind = ofInserted.count > ofEdition.count ? .inserted : .edition
      if best.count < NotePieces.continuedBytesEnough {
        for (other, place) in [
          (Piece.Kind.edition, editionPlaces.longest(of: note, rest)),
          (.inserted, insertedPlaces.longest(of: note, rest)),
        ] where place.count > best.count {
          (kind, best) = (other, place)
        }
      }
      guard best.count >= NotePieces.continuedBytesMin else {
        takeNew(1)
        continue
      }
      take(kind, at: best.start, best.count)
      if kind == .edition {
        editionPlaces.next = best.start + best.count
      } else {
        insertedPlaces.next = best.start + best.count
      }
    }
  }

  private mutating func takeNew(_ count: Int) {
    if let last = pieces.last, last.kind == .new {
      pieces[pieces.count - 1].count += count
      rest = rest.dropFirst(count)
    } else if count > 0 {
      take(.new, at: rest.lowerBound, count)
    }
  }

  private mutating func take(_ kind: Piece.Kind, at start: Int, _ count: Int) {
    pieces.append(Piece(kind: kind, start: start, count: count))
    rest = rest.dropFirst(count)
  }
}

/// Bytes that both sides have, and where the next piece is expected in them.
private struct KnownBytes {
  /// Bytes from a place on that equal others.
  struct Place: Comparable {
    var start: Int
    var count: Int

    static func < (one: Place, other: Place) -> Bool { one.count < other.count }
  }

  private static let sequenceBytes = 8
  /// How many places with one sequence are compared.
  private static let placesMax = 8

  var next: Int
  private let bytes: [UInt8]
  private let range: Range<Int>
  /// For each hash the last place, and for each place the one before with the same hash; −1 for
  /// none. Made when it is first needed: most editions continue at the expected places.
  private var latest: [Int32] = []
  private var former: [Int32] = []

  init(_ bytes: [UInt8], range: Range<Int>) {
    self.bytes = bytes
    self.range = range
    next = range.lowerBound
  }

  /// The equal bytes at the expected place.
  func continuation(of note: [UInt8], _ rest: Range<Int>) -> Place {
    Place(
      start: next, count: note.commonPrefix(from: rest, with: bytes, from: next..<range.upperBound))
  }

  /// The longest equal bytes of eight or more, at one of the last places with the first eight.
  mutating func longest(of note: [UInt8], _ rest: Range<Int>) -> Place {
    var best = Place(start: next, count: 0)
    guard rest.count >= KnownBytes.sequenceBytes, range.count >= KnownBytes.sequenceBytes else {
      return best
    }
    if latest.isEmpty { index() }
    var place = Int(latest[bucket(of: note, at: rest.lowerBound)])
    var tries = KnownBytes.placesMax
    while place >= 0, tries > 0 {
      let start = range.lowerBound + place
      let count = note.commonPrefix(from: rest, with: bytes, from: start..<range.upperBound)
      if count >= KnownBytes.sequenceBytes, count > best.count {
        best = Place(start: start, count: count)
      }
      place = Int(former[place])
      tries -= 1
    }
    return best
  }

  private mutating func index() {
    let count = range.count - KnownBytes.sequenceBytes + 1
    var size = 16
    while size < count { size *= 2 }
    latest = Array(repeating: -1, count: size)
    former = Array(repeating: -1, count: count)
    for place in 0..<count {
      let bucket = bucket(of: bytes, at: range.lowerBound + place)
      former[place] = latest[bucket]
      latest[bucket] = Int32(truncatingIfNeeded: place)
    }
  }

  private func bucket(of bytes: [UInt8], at start: Int) -> Int {
    var word: UInt64 = 0
    for index in start..<start + KnownBytes.sequenceBytes {
      word = word << 8 | UInt64(bytes[index])
    }
    let mixed = word &* 0x9E37_79B9_7F4A_7C15
    return Int(truncatingIfNeeded: mixed >> 32) & (latest.count - 1)
  }
}

extension [UInt8] {
  fileprivate func commonPrefix(
    from own: Range<Int>, with other: [UInt8], from others: Range<Int>
  ) -> Int {
    let most = Swift.min(own.count, others.count)
    var count = 0
    while count < most, self[own.lowerBound + count] == other[others.lowerBound + count] {
      count += 1
    }
    return count
  }

  fileprivate func commonSuffix(
    of own: Range<Int>, with other: [UInt8], of others: Range<Int>
  ) -> Int {
    let most = Swift.min(own.count, others.count)
    var count = 0
    while count < most, self[own.upperBound - 1 - count] == other[others.upperBound - 1 - count] {
      count += 1
    }
    return count
  }
}

extension Range<Int> {
  fileprivate func dropFirst(_ count: Int) -> Range<Int> { lowerBound + count..<upperBound }
  fileprivate func dropLast(_ count: Int) -> Range<Int> { lowerBound..<upperBound - count }
}
