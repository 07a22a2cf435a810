package import SequenceCRDT

extension Workspace {
  /// Turns a command into operations and applies them.
  ///
  /// All operations of a command have consecutive ids and one stamp. A command that is not possible
  /// is refused before the first operation is made.
  ///
  /// - Throws: `QueueError`; nothing changed then.
  package mutating func perform(
    _ command: Command, in context: CommandContext
  ) throws(QueueError) -> CommandOutcome {
    var context = context
    context.recordsUndo = false
    return try performRecording(command, in: context).outcome
  }

  /// Performs a command, and returns the steps that undo it if the context requires them.
  mutating func performRecording(
    _ command: Command, in context: CommandContext
  ) throws(QueueError) -> (outcome: CommandOutcome, steps: [UndoStep]) {
    // The sessions that it names are unpacked first, so that it reads each of them once.
    try warm(for: command)
    return try write(in: context) { author throws(QueueError) in try author.run(command) }
  }

  /// Deletes the texts and removes the files of messages that have ended. Other messages are
  /// unchanged.
  ///
  /// Text that another user types at the same time stays, because it was not visible here.
  ///
  /// - Throws: `QueueError.stateDamaged`; nothing changed then.
  package mutating func forget(
    _ ids: some Sequence<MessageID>, in context: CommandContext
  ) throws(QueueError) -> CommandOutcome {
    try write(in: context) { author in
      author.forget(ids)
      return author.operations.isEmpty ? .unchanged : .done
    }.outcome
  }

  /// Makes the operation that announces the device of a replica, unless it was announced already.
  package mutating func announce(
    device: DeviceID, name: String, replica: ReplicaID
  ) -> [Operation] {
    let announced = announcements[replica]
    guard announced?.device != device || announced?.name != name else { return [] }
    return emit(
      .announceDevice(device: device, name: name),
      in: CommandContext(replica: replica, stamp: latestStamp, recordsUndo: false))
  }

  /// Makes one operation that no command makes.
  ///
  /// - Returns: the operation; empty if a packed session is damaged.
  mutating func emit(_ body: Operation.Body, in context: CommandContext) -> [Operation] {
    withAuthor(in: context) { author in
      author.emit(body)
      return author.operations
    }
  }

  /// Lets an author make operations on this state, one after the other.
  ///
  /// - Throws: what `make` throws, and `QueueError.stateDamaged`; nothing changed then.
  mutating func write(
    in context: CommandContext,
    _ make: (inout CommandAuthor) throws(QueueError) -> CommandOutcome.Notice
  ) throws(QueueError) -> (outcome: CommandOutcome, steps: [UndoStep]) {
    let before = cold == nil ? nil : self
    let (damage, outcome, steps) = try withAuthor(in: context) { author throws(QueueError) in
      let notice = try make(&author)
      return (
        author.damage,
        CommandOutcome(operations: author.operations, touched: author.touched, notice: notice),
        author.undoSteps
      )
    }
    if let damage, let before {
      self = before
      throw .stateDamaged(reason: damage)
    }
    packTexts()
    return (outcome, steps)
  }

  /// Moves the workspace to an author, and back.
  private mutating func withAuthor<Result, Failure: Error>(
    in context: CommandContext, _ body: (inout CommandAuthor) throws(Failure) -> Result
  ) throws(Failure) -> Result {
    var author = CommandAuthor(of: consume self, in: context)
    do {
      let result = try body(&author)
      self = author.finished()
      return result
    } catch {
      self = author.finished()
      throw error
    }
  }
}
