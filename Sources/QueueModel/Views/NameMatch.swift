/// The elements that a user's word names, among elements that have an id and may have a name. All
/// programs and all kinds of elements use this one rule.
///
/// A whole id comes first; then whole names, first in the written case, then in any case; then
/// beginnings of 4 characters or more. So the name of an element means that element, or causes an
/// error, and never means another one whose id begins with the same letters.
package enum NameMatch<Item> {
  case one(Item)
  case several([Item])
  case none

  private init(_ found: [Item]) {
    self =
      switch found.count {
      case 0: .none
      case 1: .one(found[0])
      default: .several(found)
      }
  }

  /// All that match.
  package var all: [Item] {
    switch self {
    case .one(let item): [item]
    case .several(let items): items
    case .none: []
    }
  }

  /// How far the names of the elements can be trusted.
  package enum Names {
    /// Users gave them: a whole name precedes beginnings of ids.
    case given
    /// The elements named themselves: a name has no higher rank than the beginning of another
    /// element's id.
    case own
  }

  /// Matches elements with identifiers, whose hyphens may be omitted.
  ///
  /// - Complexity: O(items).
  package init<ID: UniqueIdentifier>(
    _ text: some StringProtocol, among items: some Collection<Item>, id: (Item) -> ID,
    name: (Item) -> String? = { _ in nil }, names: Names = .given
  ) {
    let prefix = IdentifierPrefix(text)
    self.init(
      String(text), items, isWhole: { prefix?.isWhole == true && prefix?.matches(id($0)) == true },
      begins: { prefix?.matches(id($0)) == true }, name: name, names)
  }

  /// The ids whose beginnings count, if ids are text.
  package enum Beginnings {
    case none
    case ofIDs
    case ofIDsAndNames
  }

  /// Matches elements whose ids are lower-case text.
  ///
  /// - Complexity: O(items).
  package init(
    _ text: String, among items: some Collection<Item>, textID id: (Item) -> String,
    name: (Item) -> String? = { _ in nil }, beginnings: Beginnings = .ofIDs, names: Names = .given
  ) {
    let wanted = text.trimmedOfWhitespace().lowercased()
    let canBegin = beginnings != .none && wanted.count >= IdentifierPrefix.digitsMin
    self.init(
      text, items, isWhole: { !wanted.isEmpty && id($0) == wanted },
      begins: { item in
        guard canBegin else { return false }
        return id(item).hasPrefix(wanted)
          || beginnings == .ofIDsAndNames && name(item)?.lowercased().hasPrefix(wanted) == true
      }, name: name, names)
  }

  private init(
    _ text: String, _ items: some Collection<Item>, isWhole: (Item) -> Bool, begins: (Item) -> Bool,
    name: (Item) -> String?, _ names: Names
  ) {
    let trimmed = text.trimmedOfWhitespace()
    let whole = items.filter(isWhole)
    guard whole.isEmpty, !trimmed.isEmpty else {
      self.init(whole)
      return
    }
    let lower = trimmed.lowercased()
    func isExact(_ item: Item) -> Bool {
      name(item).map { $0 == text || $0 == trimmed } ?? false
    }
    let hasExact = items.contains(where: isExact)
    func isNamed(_ item: Item) -> Bool {
      hasExact ? isExact(item) : name(item)?.lowercased() == lower
    }
    switch names {
    case .given where items.contains(where: isNamed): self.init(items.filter(isNamed))
    case .given: self.init(items.filter(begins))
    case .own: self.init(items.filter { isNamed($0) || begins($0) })
    }
  }
}

extension NameMatch: Equatable where Item: Equatable {}

extension NameMatch: Sendable where Item: Sendable {}

/// The first digits of an identifier, as a user types them; hyphens are skipped.
struct IdentifierPrefix {
  static let digitsMin = 4
  private static let digitsMax = 32

  private var high: UInt64 = 0
  private var low: UInt64 = 0
  private var highMask: UInt64 = 0
  private var lowMask: UInt64 = 0
  private var count = 0

  /// Reads 4 to 32 hexadecimal digits; nil for anything else.
  init?(_ text: some StringProtocol) {
    for byte in text.utf8 where byte != UInt8(ascii: "-") {
      guard let digit = hexadecimalValue(of: byte), count < Self.digitsMax else { return nil }
      let shift = UInt64(60 - 4 * (count % 16))
      if count < 16 {
        high |= UInt64(digit) << shift
        highMask |= 0xF << shift
      } else {
        low |= UInt64(digit) << shift
        lowMask |= 0xF << shift
      }
      count += 1
    }
    guard count >= Self.digitsMin else { return nil }
  }

  /// Whether it is an identifier and not the beginning of one.
  var isWhole: Bool { count == Self.digitsMax }

  func matches(_ identifier: some UniqueIdentifier) -> Bool {
    identifier.high & highMask == high && identifier.low & lowMask == low
  }
}
