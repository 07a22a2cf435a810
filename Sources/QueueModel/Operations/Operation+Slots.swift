import SequenceCRDT

/// Operations that make a slot in a queue.
extension Operation {
  /// The possible times of a wall clock: milliseconds since 1970 that a stamp can hold.
  package static let timesOfSlots: ClosedRange<Int64> = 0...Stamp.millisecondsMax

  /// The place of the slot that the operation makes; nil if it makes none.
  package var origins: Origins? { body.origins }

  /// The session to whose message queue it adds a slot; nil if it adds none there.
  var queue: OperationID? {
    switch body {
    case .addMessage(let addition): addition.session
    case .placeMessage(_, let session, _, _): session
    default: nil
    }
  }
}

extension Operation.Body {
  fileprivate(set) var origins: Operation.Origins? {
    get {
      switch self {
      case .addMessage(let addition): addition.origins
      case .placeMessage(_, _, let origins, _), .placeThread(_, let origins, _): origins
      case .enqueueThread(let enqueue): enqueue.origins
      default: nil
      }
    }
    set {
      guard let origins = newValue else { return }
      switch self {
      case .addMessage(var addition):
        addition.origins = origins
        self = .addMessage(addition)
      case .placeMessage(let message, let session, _, let stamp):
        self = .placeMessage(message: message, session: session, origins: origins, stamp: stamp)
      case .placeThread(let session, _, let stamp):
        self = .placeThread(session: session, origins: origins, stamp: stamp)
      case .enqueueThread(var enqueue):
        enqueue.origins = origins
        self = .enqueueThread(enqueue)
      default:
        break
      }
    }
  }

  /// The same operation with this time for its slot, if it makes one.
  package func made(at milliseconds: Int64) -> Operation.Body {
    var body = self
    body.origins?.time = milliseconds
    return body
  }
}
