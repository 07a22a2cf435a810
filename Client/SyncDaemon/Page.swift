import Basics
import Hummingbird

/// A part of a list, or all of it if no limit is requested.
struct Page<Item> {
  /// The maximum number of requested items on a page.
  static var itemsMax: Int { 1_000 }

  var items: [Item]
  /// The cursor for the next items; nil on the last page.
  var next: String?

  init(items: [Item]) {
    self.items = items
  }

  /// The part that `limit` and `after` request.
  ///
  /// - Throws: `badRequest`, and `pageGone` if the item before the page no longer exists.
  init(of items: [Item], asked query: Parameters, _ name: (Item) -> String) throws {
    var rest = items[...]
    if let last = query.get("after") {
      guard let index = items.firstIndex(where: { name($0) == last }) else {
        throw APIProblem(
          .conflict, code: "pageGone",
          message: "\(last) is no longer in the list. Start again without after.",
          exitCode: ExitStatus.failed)
      }
      rest = items[(index + 1)...]
    }
    self.items = Array(rest)
    guard let text = query.get("limit") else { return }
    guard let limit = Int(text), (1...Page.itemsMax).contains(limit) else {
      throw APIProblem.badRequest("limit must be 1 to \(Page.itemsMax).")
    }
    guard rest.count > limit else { return }
    self.items = Array(rest.prefix(limit))
    next = self.items.last.map(name)
  }
}
