import QueueModel
import QueueOracle
import ServerCore

/// A server as one of several nodes over one store: its pauses, its connection to the store, and
/// its planted bugs.
extension SimulatedServer {
  /// How often code that waits for the end of a pause checks for it.
  static let pauseCheckMilliseconds: Int64 = 250
  /// How long the store counts a silent node as living.
  private static let beatMilliseconds: Int64 = 20_000

  /// The node's memory for planted bugs.
  struct PlantedMemory {
    /// The workspace as it was last read.
    var loaded: LoadedWorkspace?
    /// The owner with which a take was missed.
    var missedOwner: Int?
  }

  func perform(_ event: NodeEvent) -> EventOutcome {
    switch event {
    case .crash:
      guard process != nil else { return .skipped("it is down") }
      end("it crashed")
      clock.add(.nodeGone(index, life: life), after: Self.beatMilliseconds)
      startLater(200...40_000)
    case .restart:
      guard process != nil, !trouble.isPaused(at: clock.now) else {
        return .skipped("it does not run")
      }
      let moment = time
      tell { $0.stopRequested(at: moment) }
    case .pause(let milliseconds):
      guard process != nil else { return .skipped("it is down") }
      trouble.pause(until: clock.now + milliseconds)
      clock.add(.nodeWake(life: life), after: milliseconds)
    case .cutStore(let milliseconds):
      trouble.cut(until: clock.now + milliseconds)
      cutTask()
    case .cutNode(let other, let milliseconds):
      simulation.router.cut(index, other, until: clock.now + milliseconds)
    case .setClock(let offset):
      clockOffset = offset
    }
    return .done
  }

  /// Whether it runs, and the store has no work for it.
  var isAtRest: Bool {
    guard let process else { return false }
    return process.tasks.isEmpty && process.core.isHealthy
  }

  /// Ends every fault.
  func repair() {
    let wasPaused = trouble.pausedUntil != nil
    trouble.end()
    if process == nil { start() } else if wasPaused { wake() }
  }

  // MARK: - Pauses

  func wakeIfDue() {
    guard trouble.pausedUntil != nil, !trouble.isPaused(at: clock.now) else { return }
    trouble.endPause()
    wake()
  }

  /// The pause has ended: data that arrived meanwhile is processed.
  private func wake() {
    for (id, pipe) in (process?.pipes ?? [:]).sorted(by: { $0.key < $1.key }) {
      let waiting = pipe[.fromServer].waitingBytes
      tell { $0.bytesBuffered(waiting, on: id) }
      clock.add(.arrival(pipe, .toServer), after: 0)
    }
  }

  /// Whether the process is paused, so that it learns the outcome of a task later.
  func isHeld(_ pending: PendingTask) -> Bool {
    guard trouble.isPaused(at: clock.now) else { return false }
    clock.add(.storeDone(life: life), after: SimulatedServer.pauseCheckMilliseconds)
    guard process?.wasHeld == false else { return true }
    process?.wasHeld = true
    // Otherwise, the task had not been sent yet.
    if process?.isTaskCut == false, !trouble.isCut(at: clock.now), generator.chance(50) {
      process?.heldOutcome = perform(pending)
    }
    return true
  }

  func takeHeldOutcome() -> StoreOutcome? {
    defer {
      process?.heldOutcome = nil
      process?.wasHeld = false
    }
    return process?.heldOutcome
  }

  // MARK: - The connection to the store

  /// The connection to the store is gone; the node learns nothing more about the present task.
  func cutTask() {
    guard process?.isStoreBusy == true else { return }
    process?.isTaskCut = true
    process?.heldOutcome = nil
  }

  /// The outcome of a task whose connection is gone; nil if the connection exists.
  func cutOutcome(of pending: PendingTask) -> StoreOutcome? {
    let isCut = process?.isTaskCut == true
    process?.isTaskCut = false
    guard isCut || trouble.isCut(at: clock.now) else { return nil }
    results.hasStoreFailed = true
    if isCut, case .commit = pending.task {
      switch generator.below(3) {
      case 0: perform(pending)
      case 1:
        clock.add(
          .lateTask(pending.task, node: index, restores: disk.restores),
          after: Int64(1 + generator.below(20_000)))
      default: break
      }
    }
    return .failed(StorageFault(code: .unavailable, message: "the store does not answer"))
  }

  /// The store performs a task from a connection that is gone.
  func performLate(_ task: StoreTask, restores: Int) {
    guard disk.restores == restores else { return }
    results.log("\(name): the store performs a late task")
    perform(PendingTask(id: StoreTaskID(rawValue: 0), task: task))
  }

  // MARK: - Tasks

  /// Performs a task on the store that all nodes share, with the planted bugs.
  func performOnShared(_ task: StoreTask) -> StoreOutcome {
    let (mark, owner) = (disk.mark, disk.owner)
    return planted(storage.perform(planted(task, mark)), before: mark, owner)
  }

  private func planted(_ task: StoreTask, _ mark: WorkspaceMark?) -> StoreTask {
    guard options.planted.contains(.markIgnored), case .commit(var batch) = task else {
      return task
    }
    batch.marks = batch.marks.mapValues { mark ?? $0 }
    return .commit(batch)
  }

  private func planted(
    _ outcome: StoreOutcome, before mark: WorkspaceMark?, _ owner: Int?
  ) -> StoreOutcome {
    guard let mark, !options.planted.isEmpty else { return outcome }
    let isTaken = owner != disk.owner
    switch outcome {
    case .committed(var result)
    where !result.marks.isEmpty && options.planted.contains(.markKept):
      disk.mark = mark
      result.marks = result.marks.mapValues { _ in mark }
      return .committed(result)
    case .joined(.appended) where options.planted.contains(.markKept):
      disk.mark = mark
      return .joined(.appended(mark))
    case .workspace(var loaded?):
      if isTaken, options.planted.contains(.takeUnread), var earlier = memory.loaded {
        earlier.header.mark = loaded.header.mark
        loaded = earlier
      }
      memory.loaded = loaded
      return .workspace(loaded)
    case .lapsed(let access, let marks) where options.planted.contains(.feedMisses):
      return .lapsed(access, marks: isMissed(owner) ? [:] : marks)
    default:
      return outcome
    }
  }

  /// Whether the feed never names the present owner to this node: its line was written before a
  /// later one, and committed after it.
  private func isMissed(_ owner: Int?) -> Bool {
    guard owner != index else { return false }
    if memory.missedOwner == owner { return true }
    guard generator.chance(30) else { return false }
    memory.missedOwner = owner
    return true
  }
}

extension Simulation {
  /// The standby becomes the store; tasks that the nodes have under way get no answer.
  func failOver() -> EventOutcome {
    guard nodes.count > 1, server.disk.failOver() else { return .skipped("there is no standby") }
    results.hasStoreFailed = true
    server.pairAgain()
    for node in nodes { node.storeFailsOver() }
    note(.rolledBack(.server))
    return .done
  }
}

extension SimulatedServer {
  /// Its open tasks are lost with the store to which they were sent.
  fileprivate func storeFailsOver() {
    guard process?.isStoreBusy == true else { return }
    process?.heldOutcome = .failed(
      StorageFault(code: .unavailable, message: "the store failed over"))
    process?.isTaskCut = false
  }
}
