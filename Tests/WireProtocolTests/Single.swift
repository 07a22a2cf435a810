import QueueModel
import SequenceCRDT

/// One unit of an operation, so that runs that are cut differently compare equal.
struct Single: Hashable {
  var operation: Operation
  var scalar: UInt32?

  static func singles(of operations: [Operation]) -> [Single] {
    operations.flatMap { operation -> [Single] in
      var singles: [Single] = []
      var rest: Operation? = operation
      while let current = rest {
        rest = current.droppingFirst(1)
        singles.append(Single(first: current))
      }
      return singles
    }
  }

  private init(first operation: Operation) {
    self.operation = operation
    switch operation.body {
    case .insertText(var insertion):
      scalar = insertion.text.unicodeScalars.first?.value
      insertion.text = ""
      self.operation.body = .insertText(insertion)
    case .deleteText(var deletion):
      if deletion.backwards, let last = deletion.first.advanced(by: deletion.count - 1) {
        deletion.first = last
      }
      deletion.count = 1
      deletion.backwards = false
      self.operation.body = .deleteText(deletion)
    default:
      break
    }
  }
}
