import Dispatch
import NIOCore
import NIOPosix
import QueueModel
import SequenceCRDT
import Testing
import WireProtocol

@testable import ServerCore
@testable import SyncServer

/// The thread on which each task of the store runs.
@Suite struct StoreRunnerTests {
  private static let workspace = WorkspaceID(high: 1, low: 1)

  /// States of one workspace may be large: other workspaces' writes do not wait until they are
  /// packed.
  @Test func noCommitWaitsForStatesThatArePackedOrJoined() async throws {
    let storage = MemoryStorage()
    storage.addWorkspace(Self.workspace, name: "default", firstChain: 42)
    let head = try #require(try storage.header(of: Self.workspace)).head
    let join = JoinTask(
      workspace: Self.workspace, role: .host, state: PackedSnapshot.pack(Workspace()),
      content: Workspace(),
      head: head, mark: WorkspaceMark(rawValue: 0), bytesMax: 1 << 20, unitsMax: 1 << 20,
      wallMilliseconds: 0)
    let tasks: [StoreTask] = [
      .join(join),
      .saveSnapshot(Self.workspace, Workspace(), prefix: head, truncatingBefore: 0),
      .packSnapshot(
        Workspace(), of: Self.workspace, prefix: head, partBytesMax: 1 << 10),
      .commit(CommitBatch()),
    ]
    let threads = StoreThreads()
    // Something large is being packed as long as this thread is held.
    let gate = DispatchSemaphore(value: 0)
    threads.packing.submit { _ in gate.wait() }
    let loop = MultiThreadedEventLoopGroup.singleton.next()
    let ended = loop.makePromise(of: [Int].self)
    let committed = loop.makePromise(of: [Int].self)
    try await loop.submit {
      let runner = StoreRunner(storage, threads: threads, loop: loop, clock: ProcessClock())
      var order: [Int] = []
      for (index, task) in tasks.enumerated() {
        runner.perform(task, as: StoreTaskID(rawValue: UInt64(index))) { outcome, _ in
          if case .failed(let fault) = outcome { Issue.record("\(fault)") }
          order.append(index)
          if index == tasks.count - 1 { committed.succeed(order) }
          if order.count == tasks.count { ended.succeed(order) }
        }
      }
    }.get()
    #expect(try await committed.futureResult.get() == [3])
    gate.signal()
    #expect(try await ended.futureResult.get().first == 3)
    #expect(storage.withState { $0.workspaces[Self.workspace]?.snapshots.count } == 1)
    await threads.shutDown()
  }

  /// Whatever is packed for one workspace, another waits only for one started task of it, and for
  /// one more.
  @Test func packingForOneWorkspaceDelaysNoOther() async throws {
    let other = WorkspaceID(high: 1, low: 2)
    let threads = StoreThreads()
    let loop = MultiThreadedEventLoopGroup.singleton.next()
    let ended = loop.makePromise(of: [Int].self)
    try await loop.submit {
      let runner = StoreRunner(
        MemoryStorage(), threads: threads, loop: loop, clock: ProcessClock())
      var order: [Int] = []
      for index in 0..<10 {
        let task = StoreTask.packSnapshot(
          Workspace(), of: index == 9 ? other : Self.workspace, prefix: .empty,
          partBytesMax: 1 << 10)
        runner.perform(task, as: StoreTaskID(rawValue: UInt64(index))) { _, _ in
          order.append(index)
          if order.count == 10 { ended.succeed(order) }
        }
      }
    }.get()
    #expect(try await ended.futureResult.get() == [0, 1, 9, 2, 3, 4, 5, 6, 7, 8])
    await threads.shutDown()
  }

  /// Waiting for others to be packed does not count as waiting for a thread that hangs.
  @Test func waitingForATurnIsNotWaitingForTheStore() async throws {
    let threads = StoreThreads()
    let gate = DispatchSemaphore(value: 0)
    threads.packing.submit { _ in gate.wait() }
    let loop = MultiThreadedEventLoopGroup.singleton.next()
    let first = loop.makePromise(of: Int64.self)
    let second = loop.makePromise(of: Void.self)
    let runner = try await loop.submit {
      let runner = StoreRunner(
        MemoryStorage(), threads: threads, loop: loop, clock: ProcessClock())
      let task = StoreTask.packSnapshot(
        Workspace(), of: Self.workspace, prefix: .empty, partBytesMax: 1 << 10)
      runner.perform(task, as: StoreTaskID(rawValue: 1)) { _, _ in
        first.succeed(runner.waitMilliseconds)
      }
      runner.perform(task, as: StoreTaskID(rawValue: 2)) { _, _ in second.succeed() }
      return NIOLoopBound(runner, eventLoop: loop)
    }.get()
    var waited: Int64 = 0
    while waited < 1_000 {
      try await Task.sleep(for: .milliseconds(5))
      waited = try await loop.submit { runner.value.waitMilliseconds }.get()
    }
    gate.signal()
    #expect(try await first.futureResult.get() < 1_000, "the second has only started")
    try await second.futureResult.get()
    #expect(try await loop.submit { runner.value.waitMilliseconds }.get() == 0)
    await threads.shutDown()
  }

  /// The same if the thread has ended, however many wait.
  @Test func turnsThatEndAtOnceAreNotNested() {
    let turns = PackingTurns()
    var (begun, depth, deepest) = (0, 0, 0)
    turns.wait(for: Self.workspace) {}
    for _ in 0..<100 {
      turns.wait(for: Self.workspace) {
        begun += 1
        depth += 1
        deepest = max(deepest, depth)
        turns.ended()
        depth -= 1
      }
    }
    turns.ended()
    #expect(begun == 100)
    #expect(deepest == 1)
    turns.wait(for: Self.workspace) { begun += 1 }
    #expect(begun == 101)
  }
}
