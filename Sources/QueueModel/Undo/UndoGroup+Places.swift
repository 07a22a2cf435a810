import SequenceCRDT

// Where things stand before a command: the writer is filled in later.

extension UndoGroup.PlaceStep<MessageID> {
  /// Where a message stands; nil for one that is not known yet.
  init?(ofMessage key: MessageID, in workspace: Workspace) {
    guard let message = workspace.messageStates[key],
      let session = workspace.sessionStates[message.session]
    else { return nil }
    let slot = message.position.value
    func owner(_ id: OperationID) -> MessageID? {
      guard let owner = session.slots.contentIndex(of: id).flatMap({ session.slotOwners[$0] }),
        workspace.messageStates[owner]?.position.value == id
      else { return nil }
      return owner
    }
    self.init(
      key: key, session: message.session, slot: slot,
      left: session.slots.neighbour(of: slot, isLeft: true, owner),
      right: session.slots.neighbour(of: slot, isLeft: false, owner), writer: slot)
  }
}

extension UndoGroup.PlaceStep<SessionID> {
  /// Where a thread stands; nil for one that has no place.
  init?(ofThread key: SessionID, in workspace: Workspace) {
    guard let slot = workspace.sessionStates[key]?.threadPosition?.value else { return nil }
    let slots = workspace.threadSlots
    func owner(_ id: OperationID) -> SessionID? {
      guard let owner = slots.contentIndex(of: id).flatMap({ workspace.threadSlotOwners[$0] }),
        workspace.sessionStates[owner]?.threadPosition?.value == id
      else { return nil }
      return owner
    }
    self.init(
      key: key, session: nil, slot: slot, left: slots.neighbour(of: slot, isLeft: true, owner),
      right: slots.neighbour(of: slot, isLeft: false, owner), writer: slot)
  }
}

extension RunSequence {
  /// Who holds the nearest slot on one side; dead slots are passed over, though not many.
  fileprivate func neighbour<Key>(
    of slot: OperationID, isLeft: Bool, _ owner: (OperationID) -> Key?
  ) -> Key? {
    var place: OperationID? = slot
    for _ in 0..<16 {
      guard let here = place else { return nil }
      place = isLeft ? origins(before: here)?.left : origins(behind: here)?.right
      if let key = place.flatMap(owner) { return key }
    }
    return nil
  }
}
