import SequenceCRDT

// Where things stand before a command: the writer is filled in later.

extension UndoGroup.PlaceStep<MessageID> {
  /// Where a message stands; nil for one that is not known yet.
  init?(ofMessage key: MessageID, in workspace: Workspace) {
    guard let message = workspace.messageStates[key],
      let session = workspace.sessionStates[message.session]
    else { return nil }
    let slot = message.position.value
    func holds(_ slot: OperationID, _ owner: MessageID) -> Bool {
      owner != key && workspace.messageStates[owner]?.position.value == slot
    }
    self.init(
      key: key, session: message.session, slot: slot,
      left: session.slots.neighbour(of: slot, isLeft: true, holds),
      right: session.slots.neighbour(of: slot, isLeft: false, holds), writer: slot)
  }
}

extension UndoGroup.PlaceStep<SessionID> {
  /// Where a thread stands; nil for one that has no place.
  init?(ofThread key: SessionID, in workspace: Workspace) {
    guard let slot = workspace.sessionStates[key]?.threadPosition?.value else { return nil }
    let slots = workspace.threadSlots
    func holds(_ slot: OperationID, _ owner: SessionID) -> Bool {
      owner != key && workspace.sessionStates[owner]?.threadPosition?.value == slot
    }
    self.init(
      key: key, session: nil, slot: slot, left: slots.neighbour(of: slot, isLeft: true, holds),
      right: slots.neighbour(of: slot, isLeft: false, holds), writer: slot)
  }
}
