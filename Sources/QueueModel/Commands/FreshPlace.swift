import SequenceCRDT

extension Command.Send {
  /// The neighbours of a new message's slot: behind all others, or before the first one of its priority
  /// that no agent has had.
  func origins(in workspace: Workspace) -> Operation.Origins {
    guard let slots = workspace.sessionStates[session]?.slots else {
      return .init(left: nil, right: nil)
    }
    let places = workspace.waitingIndices(of: priority == .urgent ? .urgent : .normal, in: session)
    guard goesFirst, let first = places.first else { return slots.originsAtEnd }
    return slots.origins(
      behind: nil, before: workspace.waitingSlot(at: first, in: session))
  }
}
