import QueueModel
import SequenceCRDT
import WireProtocol

/// The parts of a batch that make every later change of elements more expensive.
///
/// With each operation on an element, merging searches its tags and introductions, on every device
/// and at every reading of the log. A correct writer leaves only a few: it clears the tags that it
/// sees, and introduces only elements that it does not know.
struct BatchCosts {
  private struct Field: Hashable {
    var element: ElementName
    var field: TagField
  }

  private let content: Workspace
  /// Elements that the batch introduces, by operation.
  private var fresh: [OperationID: ElementName] = [:]
  /// The number of operations that introduce an element, including those in the content.
  private var introductions: [ElementName: Int] = [:]
  /// Tags that the batch added and did not clear, and the number in the content.
  private var tags: [Field: (fresh: Set<OperationID>, before: Int)] = [:]
  /// Whether an element would have more tags in one field, or more introductions, than it may, even
  /// if a later operation clears them.
  private(set) var isTooMuch = false

  /// - Complexity: O(operations + cleared tags), up to the first one beyond the limit.
  init(_ operations: [Operation], on content: Workspace) {
    self.content = content
    for operation in operations where !isTooMuch { count(operation) }
  }

  private mutating func count(_ operation: Operation) {
    let id = operation.id
    switch operation.body {
    case .openSession(let session, let clears):
      introduce(.session(session), by: id)
      change(.session(session), .exists, clears: clears, puts: id)
    case .addMessage(let addition):
      introduce(.message(addition.message), by: id)
      change(.message(addition.message), .live, clears: [], puts: id)
      change(element(addition.session), .exists, clears: addition.clears, puts: id)
    case .enqueueThread(let enqueue):
      let session = element(enqueue.session)
      change(session, .queued, clears: enqueue.clearsQueued, puts: id)
      change(session, .locked, clears: enqueue.clearsLocked, puts: enqueue.locks ? id : nil)
    case .addTag(let reference, let field, let clears, _):
      change(element(reference), field, clears: clears, puts: id)
    case .clearTags(let reference, let field, let clears):
      change(element(reference), field, clears: clears, puts: nil)
    case .announceDevice, .insertText, .deleteText, .placeMessage, .placeThread, .setRegister:
      break
    }
  }

  private func element(_ reference: OperationID) -> ElementName? {
    fresh[reference] ?? content.element(introducedBy: reference)
  }

  private mutating func introduce(_ element: ElementName, by id: OperationID) {
    fresh[id] = element
    let count = (introductions[element] ?? content.introductionCount(of: element)) + 1
    introductions[element] = count
    isTooMuch = isTooMuch || count > WireLimits.elementTagsMax
  }

  private mutating func change(
    _ element: ElementName?, _ field: TagField, clears: [OperationID], puts tag: OperationID?
  ) {
    // The merge refuses operations without an element.
    guard let element else { return }
    let field = Field(element: element, field: field)
    tags[field]?.fresh.subtract(clears)
    guard let tag else { return }
    var found =
      tags.removeValue(forKey: field) ?? ([], content.tagCount(of: field.element, field.field))
    found.fresh.insert(tag)
    isTooMuch = isTooMuch || found.fresh.count + found.before > WireLimits.elementTagsMax
    tags[field] = found
  }
}
