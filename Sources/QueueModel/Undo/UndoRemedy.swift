import SequenceCRDT

/// Command lines for a shell; their words may contain any characters.
enum ShellLine {
  /// A command with the session as its option.
  static func session(_ command: String, _ id: SessionID) -> String {
    let word = id.rawValue.quotedWord
    return "cospool \(command) " + (id.rawValue.hasPrefix("-") ? "--session=\(word)" : "-s \(word)")
  }

  /// A command with the session and further words as operands.
  static func named(_ command: String, _ id: SessionID, _ words: String...) -> String {
    line(command, [id.rawValue] + words)
  }

  /// A command with operands.
  static func line(_ command: String, _ operands: [String]) -> String {
    let marks = operands.contains { $0.hasPrefix("-") } ? ["--"] : []
    return (["cospool", command] + marks + operands.map(\.quotedWord)).joined(separator: " ")
  }
}

extension String {
  /// The text as one word of a shell.
  var quotedWord: String {
    let isPlain = unicodeScalars.allSatisfy {
      $0.properties.isAlphabetic || $0.properties.numericType != nil
        || "-_./@:+=,".unicodeScalars.contains($0)
    }
    // Zsh takes `=ls` for the path of a program.
    if isPlain, !isEmpty, !hasPrefix("=") { return self }
    return "'" + split(separator: "'", omittingEmptySubsequences: false).joined(separator: "'\\''")
      + "'"
  }
}

extension UndoStep {
  /// The command line that has the effect of the undo; nil if no command has, or if nothing would
  /// change.
  func remedy(in workspace: Workspace) -> String? {
    switch (field.element, field.part, value) {
    case (.message(let id), .tags(.live), .notes(nil)): ShellLine.cancel(id, in: workspace)
    case (.message(let id), .tags(.live), _): ShellLine.restore(id, in: workspace)
    case (.message(let id), .register(.priority), .register(let value)):
      ShellLine.works(in: workspace, .setPriority(id, Priority(value)))
        ? ShellLine.line(
          "queue priority", [ShellLine.word(for: id, in: workspace), Priority(value).name]) : nil
    case (.session(let id), .tags(.paused), .notes(let notes)):
      ShellLine.works(in: workspace, notes == nil ? .resume(id) : .pause(id, reason: nil))
        && workspace.sessionStates[id]?.isPaused == (notes == nil)
        ? ShellLine.session(notes == nil ? "queue resume" : "queue pause", id) : nil
    case (.session(let id), .tags(.exists), .notes(nil)):
      ShellLine.works(in: workspace, .deleteSession(id))
        ? ShellLine.named("session delete", id) : nil
    case (.session(let id), .register(.name), .register(.text(let name)?)):
      ShellLine.works(in: workspace, .renameSession(id, name: name))
        ? ShellLine.named("session rename", id, name) : nil
    case (.message(let id), .text, _), (.message(let id), .tags(.edition), _):
      ShellLine.edit(id, in: workspace)
    default: nil
    }
  }
}

extension UndoEntry {
  /// The reason why the change cannot be undone, with the command that reverses it now.
  ///
  /// It is computed on request, because it depends on later events.
  func obstacleByCommand(in workspace: Workspace) -> UndoObstacle {
    switch label.kind {
    case .hosted, .setOnLostServer, .setOnMerge: return registerObstacle(in: workspace)
    case .retried, .edited, .restored, .chosen:
      guard let id = label.message, let message = workspace.messageStates[id] else {
        return .overtaken(remedy: nil)
      }
      let state = message.element.runState
      if state.isInFlight { return .started(id, message.ranBeginning, message.session) }
      if state.isHalted || state.run?.phase == .succeeded {
        return .ended(id, message.ranBeginning, remedy: nil)
      }
      return ShellLine.cancel(id, in: workspace).map { .needsCommand($0) }
        ?? .overtaken(remedy: nil)
    case .skipped, .stopped:
      return .final(remedy: label.message.flatMap { ShellLine.restore($0, in: workspace) })
    case .setting:
      guard let session = label.session else {
        let name = label.text ?? ""
        return .needsCommand(
          former.map { ShellLine.line("config set", [name, $0]) }
            ?? ShellLine.line("config unset", [name]))
      }
      return workspace.sessionStates[session]?.exists == true
        ? .needsCommand(ShellLine.named("session agent", session, former ?? "device"))
        : .overtaken(remedy: nil)
    case .drafted:
      guard let session = label.session else { return .final(remedy: nil) }
      let set = ShellLine.session("draft set", session)
      return .needsCommand(
        former.map { set + ($0.hasPrefix("-") ? " -- " : " ") + $0.quotedWord }
          ?? ShellLine.session("draft clear", session))
    case .unpaired: return .needsCommand(ShellLine.line("pair", [former ?? "SERVER", "CODE"]))
    case .paired:
      return .needsCommand(former.map { ShellLine.line("pair", [$0, "CODE"]) } ?? "cospool unpair")
    case .movedServer:
      return .needsCommand(ShellLine.line("server move", [former ?? "SERVER"]))
    case .addedPush:
      return former.map { .needsCommand(ShellLine.line("push remove", [$0])) }
        ?? .final(remedy: nil)
    // Its address contains secrets, which only its user knows.
    case .removedPush: return .needsCommand("cospool push add --help")
    default: return .final(remedy: nil)
    }
  }

  /// The command that takes messages out of their queues if the undo would do that, and others have
  /// since changed texts of them; nil otherwise.
  func withdrawal(ofRewrittenIn workspace: Workspace) -> String? {
    guard isRewritten else { return nil }
    let words = steps.compactMap { step in
      step.field.part == .tags(.live) && step.value == .notes(nil)
        ? step.field.element.message.flatMap {
          ShellLine.cancel($0, in: workspace) == nil ? nil : ShellLine.word(for: $0, in: workspace)
        } : nil
    }
    return words.isEmpty ? nil : ShellLine.line("queue cancel", words)
  }

  private func registerObstacle(in workspace: Workspace) -> UndoObstacle {
    guard let step = steps.first, !step.isOvertaken, let id = label.session,
      workspace.sessionStates[id]?.exists == true, case .register(let before) = step.value
    else { return .overtaken(remedy: nil) }
    var former = ""
    if case .text(let text)? = before { former = text }
    if label.kind == .setOnLostServer {
      let policy = LostServerPolicy(rawValue: former) ?? .finish
      return .needsCommand(ShellLine.named("session on-lost-server", id, policy.rawValue))
    }
    if label.kind == .setOnMerge {
      let policy = MergePolicy(rawValue: former) ?? .wait
      return .needsCommand(ShellLine.named("session on-merge", id, policy.rawValue))
    }
    // Uses the id, which never changes and names no other device.
    return .needsCommand(
      former.isEmpty
        ? ShellLine.named("session host --none", id)
        : ShellLine.named("session host", id, former))
  }
}

extension ShellLine {
  /// Whether a command would succeed now and change something.
  fileprivate static func works(in workspace: Workspace, _ command: Command) -> Bool {
    var copy = workspace
    return (try? copy.perform(command, in: workspace.trialContext(nil)))?.operations.isEmpty
      == false
  }

  /// A message's id, shortened while it stays unique.
  fileprivate static func word(for id: MessageID, in workspace: Workspace) -> String {
    let short = String(id.description.prefix(8))
    return (try? workspace.messageID(fromPrefix: short)) == id ? short : id.description
  }

  /// The command that takes a message out of its queue; nil if none would.
  fileprivate static func cancel(_ id: MessageID, in workspace: Workspace) -> String? {
    works(in: workspace, .cancel([id])) ? line("queue cancel", [word(for: id, in: workspace)]) : nil
  }

  /// The command that edits a message's text; nil if the text can no longer be changed.
  static func edit(_ id: MessageID, in workspace: Workspace) -> String? {
    works(in: workspace, .edit(id, content: "…", base: nil))
      ? line("queue edit", [word(for: id, in: workspace)]) : nil
  }

  /// The command that returns a message to its queue; nil if none would.
  fileprivate static func restore(_ id: MessageID, in workspace: Workspace) -> String? {
    works(in: workspace, .restore(id)) ? line("queue restore", [word(for: id, in: workspace)]) : nil
  }
}
