import QueueModel
import SequenceCRDT
import SyncTestSupport
import Testing

/// The list of changes that can be undone: its limits, its stored form, and new ids of operations.
struct UndoHistoryTests {
  /// The content of a store after the changes.
  private struct StoredHistory {
    var rows: [Int64: UndoHistory.Entry] = [:]

    mutating func store(_ changes: UndoHistory.Changes) throws {
      for number in changes.removed { rows[number] = nil }
      for entry in changes.written {
        rows[entry.number] = UndoHistory.Entry(
          number: entry.number, isUndone: entry.isUndone,
          change: try UndoEntry(bytes: entry.change.bytes))
      }
    }
  }

  /// Three devices. Every command's changes are stored, and the history is sometimes loaded again
  /// from there.
  @Test(arguments: TestSeeds.list(standard: 25, from: 2_000))
  func theStoredHistoryEqualsTheOneInMemory(seed: UInt64) throws {
    var generator = SeededGenerator(seed: seed)
    var commands = CommandGenerator(sessionCount: 2, executes: false)
    var devices = (1...3).map { TestDevice(UInt64($0)) }
    var histories = devices.map { _ in UndoHistory() }
    var stored = devices.map { _ in StoredHistory() }
    var sent = [0, 0, 0]
    var undone = 0
    for _ in 0..<150 {
      let index = generator.below(3)
      if generator.chance(30) {
        for receiver in devices.indices where receiver != index {
          let operations = Array(devices[index].made[sent[index]...])
          let before = devices[receiver].workspace
          let outcome = try devices[receiver].merge(operations)
          try stored[receiver].store(
            histories[receiver].noteForeign(
              outcome.applied, from: before, to: devices[receiver].workspace, areOfOthers: true))
        }
        sent[index] = devices[index].made.count
        continue
      }
      var editors: CommandGenerator.OpenEditors = [:]
      let command = commands.command(
        for: devices[index].workspace, editors: &editors, using: &generator)
      do {
        let changes = try devices[index].perform(command, history: &histories[index])
        if command == .undo { undone += 1 }
        try stored[index].store(changes)
      } catch is QueueError { continue }
      if generator.chance(20) {
        histories[index] = UndoHistory(stored[index].rows.values)
      }
      #expect(
        UndoHistory(stored[index].rows.values).entries == histories[index].entries,
        "seed \(seed)")
    }
    #expect(undone > 0)
  }

  @Test func theOldestAreForgotten() throws {
    var device = TestDevice(1)
    try device.perform(.send("text", as: 1, in: "s"))
    var history = UndoHistory()
    var stored = StoredHistory()
    for number in 0..<Limits.undoGroupsMax + 5 {
      let changes = try device.perform(
        .renameSession(.named("s"), name: "name \(number)"), history: &history)
      try stored.store(changes)
    }
    #expect(history.undoCount == Limits.undoGroupsMax)
    #expect(stored.rows.count == Limits.undoGroupsMax)
    for _ in 0..<Limits.undoGroupsMax { _ = try device.perform(.undo, history: &history) }
    #expect(throws: QueueError.nothingToUndo) {
      try device.perform(.undo, history: &history)
    }
    #expect(device.workspace.session(.named("s"))?.name == "name 4")
    #expect(history.redoCount == Limits.undoGroupsMax)
  }

  @Test func bytesAreBounded() throws {
    var device = TestDevice(1)
    try device.perform(.send("text", as: 1, in: "s"))
    try device.perform(.deleteText(.numbered(1), 1..<2))
    let long = String(repeating: "y", count: (1 << 20) - 100)
    try device.perform(.edit(.numbered(1), content: long, base: nil))
    for _ in 0..<5 {
      device.now += 5_000
      try device.perform(.edit(.numbered(1), content: "short", base: nil))
      device.now += 5_000
      try device.perform(.edit(.numbered(1), content: long, base: nil))
    }
    let bytes = device.history.entries.reduce(0) { $0 + $1.change.cost }
    #expect(bytes <= Limits.undoBytesMax)
    #expect(device.history.undoCount == 7)
  }

  /// One device alone: undo leads back to the beginning and redo to the end, exactly but for the
  /// time at which threads were queued.
  @Test(arguments: TestSeeds.list(standard: 30, from: 2_500))
  func everythingGoesBackAndForth(seed: UInt64) throws {
    var generator = SeededGenerator(seed: seed)
    var commands = CommandGenerator(sessionCount: 3, executes: false)
    var device = TestDevice(1, queueSizeMax: 6)
    let known = device.workspace
    var shown: [UndoCheck.View] = [UndoCheck.View(device.workspace, known: known)]
    var editors: CommandGenerator.OpenEditors = [:]
    for _ in 0..<60 {
      let command = commands.command(
        for: device.workspace, editors: &editors, using: &generator)
      device.now += 1_500
      guard command.undoLabel != nil, let done = try? device.perform(command),
        !done.operations.isEmpty
      else { continue }
      // Typing is a separate change, with its edition.
      try device.endTyping()
      shown.append(UndoCheck.View(device.workspace, known: known))
      if device.history.undoCount < shown.count - 1 { shown.removeLast() }
    }
    try #require(device.history.undoCount == shown.count - 1)
    for round in 0..<2 {
      for expected in shown.dropLast().reversed() {
        let label = device.history.undoLabel
        try device.perform(.undo)
        let isExact = UndoCheck.View(device.workspace, known: known) == expected
        try #require(
          isExact,
          "seed \(seed), round \(round), undo of \(label.map(\.description) ?? ""): \(UndoCheck.View(device.workspace, known: known)), not \(expected)"
        )
      }
      for expected in shown.dropFirst() {
        let label = device.history.redoLabel
        try device.perform(.redo)
        let isExact = UndoCheck.View(device.workspace, known: known) == expected
        try #require(
          isExact, "seed \(seed), round \(round), redo of \(label.map(\.description) ?? "")")
      }
    }
    try device.workspace.checkInvariants()
  }

  @Test func oldChangesAreForgottenAlsoInTheStore() throws {
    var device = TestDevice(1)
    try device.perform(.send("abcdef", as: 1, in: "s"))
    try device.perform(.deleteText(.numbered(1), 1..<5))
    var history = device.history
    let numbers = history.entries.map(\.number)
    #expect(history.forget(before: .max).removed == numbers)
    #expect(history.entries.isEmpty && history.undoLabel == nil)
  }
}

extension TestDevice {
  /// The command with a history other than the device's own.
  fileprivate mutating func perform(
    _ command: Command, history: inout UndoHistory
  ) throws(QueueError) -> UndoHistory.Changes {
    var changes = UndoHistory.Changes()
    _ = try author { workspace, context throws(QueueError) in
      let done = try workspace.perform(command, in: context, history: &history)
      changes = done.changes
      return done.outcome
    }
    return changes
  }
}
