package import SequenceCRDT

/// Moving the stamps of a state down, where a server with a wrong clock had taken them.
extension WorkspaceImage {
  /// The state with all stamps behind a limit moved down to it, in their order.
  ///
  /// - Complexity: O(state + stamps · log).
  package func lowered(to limit: Stamp) -> WorkspaceImage {
    var ahead: Set<Stamp> = []
    _ = withStamps { stamp in
      if stamp > limit { ahead.insert(stamp) }
      return stamp
    }
    guard !ahead.isEmpty else { return self }
    var lowered: [Stamp: Stamp] = [:]
    for (index, stamp) in ahead.sorted().enumerated() {
      lowered[stamp] = Stamp(rawValue: limit.rawValue &+ UInt64(index))
    }
    return withStamps { lowered[$0] ?? $0 }
  }

  private func withStamps(_ change: (Stamp) -> Stamp) -> WorkspaceImage {
    var image = self
    for index in image.sessions.indices {
      let session = image.sessions[index]
      image.sessions[index].threadPosition = session.threadPosition?.withStamp(change)
      image.sessions[index].enqueued = session.enqueued?.withStamp(change)
      image.sessions[index].registers = session.registers.map { $0.withStamp(change) }
      image.sessions[index].messages = session.messages.map { message in
        var message = message
        message.position = message.position.withStamp(change)
        message.registers = message.registers.map { $0.withStamp(change) }
        message.additions = message.additions.map { addition in
          var addition = addition
          addition.stamp = change(addition.stamp)
          return addition
        }
        return message
      }
    }
    return image
  }
}

extension WorkspaceImage.Position {
  fileprivate func withStamp(_ change: (Stamp) -> Stamp) -> Self {
    Self(stamp: change(stamp), slot: slot)
  }
}

extension WorkspaceImage.Register {
  fileprivate func withStamp(_ change: (Stamp) -> Stamp) -> Self {
    // A fence is no time: it orders by lease and attempt, and no clock moves it.
    Self(
      field: field, value: value, stamp: field.isFenced ? stamp : change(stamp), writer: writer)
  }
}
