import SequenceCRDT

/// What stands now for what an undone group had taken away.
///
/// Bringing something back gives it a new name: another tag, another write of the same value,
/// another slot at the old place, other scalars of the same text. Older groups speak of the names
/// from before; they have to follow, or only the latest change could ever be undone.
struct UndoSuccessors {
  /// What an id is the name of. One operation may make a slot, two tags and a register write, all of
  /// one name, of which each can have another successor.
  enum Role: Hashable {
    case tag(TagField)
    case register(RegisterField)
    case slot
    case queuedAt
    /// A scalar of the content that an `addMessage` introduced.
    case scalar(of: OperationID)
  }

  private var names: [Role: [OperationID: OperationID]] = [:]

  var isEmpty: Bool { names.isEmpty }

  /// What a group has to speak of to be concerned, as `UndoGroup.forEachName` tells it.
  var concerned: Set<OperationID> {
    Set(
      names.flatMap { role, successors in
        if case .scalar(let content) = role { [content] } else { Array(successors.keys) }
      })
  }

  mutating func note(_ old: OperationID, as role: Role, _ new: OperationID) {
    names[role, default: [:]][old] = new
  }

  mutating func note(_ replacements: [UndoGroup.TagReplacement]) {
    for tag in replacements { note(tag.old, as: .tag(tag.field), tag.new) }
  }

  /// The name that counts now.
  func name(_ id: OperationID, as role: Role) -> OperationID {
    names[role]?[id] ?? id
  }

  /// The group with the new names.
  func applied(to group: UndoGroup) -> UndoGroup {
    group.renamed {
      name($0, as: $1)
    } texts: {
      names[.scalar(of: $0)] != nil
    }
  }
}
