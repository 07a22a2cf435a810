import QueueModel
import WireProtocol

/// Which roles may write what.
extension ResidentWorkspace {
  /// Why the device's role does not allow the operations; nil if it does.
  ///
  /// The operations may belong to any replica: an outbox moves with a database to another device,
  /// and keeps its ids.
  func roleObjection(to operations: [Operation], of batch: PendingBatch) -> Rejection? {
    let fields = operations.lazy.compactMap { operation -> RegisterField? in
      guard case .setRegister(_, let field, _, _) = operation.body else { return nil }
      return field
    }
    return DeviceRole.objection(of: devices[batch.device]?.role, toWriting: fields)
  }
}

extension DeviceRole {
  /// Why a device of a role may not write registers, in a batch or in a state that it offers.
  ///
  /// - Parameters:
  ///   - role: nil for a device that is not in the workspace, which may write nothing.
  ///   - fields: the registers that would change.
  /// - Returns: nil if the device may.
  /// - Complexity: O(n) for an author, else O(1).
  static func objection(
    of role: DeviceRole?, toWriting fields: some Sequence<RegisterField>
  ) -> ResidentWorkspace.Rejection? {
    func notAllowed(_ message: String) -> ResidentWorkspace.Rejection {
      ResidentWorkspace.Rejection(code: .notAllowed, message: message)
    }
    switch role {
    case .host: return nil
    case .author:
      // These are reports of runs; only the decision about a message is a user's.
      guard fields.contains(where: { $0.isFenced && $0 != .decision }) else { return nil }
      return notAllowed("the device was paired to queue messages, and may not run any")
    case .viewer:
      return notAllowed("the device was paired to view, and may not change anything: pair it again")
    case nil: return notAllowed("the device is no longer in the workspace")
    }
  }
}

extension WorkspaceImage {
  /// The fields of the registers that an earlier image is missing or has with another value, one
  /// for each register.
  ///
  /// - Complexity: O(n) in sessions and messages.
  func registersChanged(since earlier: WorkspaceImage) -> [RegisterField] {
    let known = earlier.registersByPlace
    return registersByPlace.flatMap { place, registers in
      let before = known[place] ?? []
      return registers.filter { !before.contains($0) }.map(\.field)
    }
  }

  private enum RegisterPlace: Hashable {
    case session(SessionID)
    case message(MessageID)
  }

  private var registersByPlace: [RegisterPlace: [Register]] {
    var places: [RegisterPlace: [Register]] = [:]
    for session in sessions {
      places[.session(session.key)] = session.registers
      for message in session.messages { places[.message(message.id)] = message.registers }
    }
    return places
  }
}
