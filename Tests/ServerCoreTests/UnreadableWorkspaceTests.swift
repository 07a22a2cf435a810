import QueueModel
import ServerCore
import Testing
import WireProtocol

/// Damaged data is checked again sometimes, and not with every tick.
@Suite struct UnreadableWorkspaceTests {
  private static let damage = StorageFault(code: .corrupt, message: "a row cannot be read")

  /// Lets time pass in ticks, and counts the requested tasks of a kind.
  private func count(
    _ ticks: Int, of scene: inout ServerScene, where isMeant: (StoreTask) -> Bool
  ) -> Int {
    scene.holdsTasks = true
    var count = 0
    for _ in 0..<ticks {
      scene.pass(100)
      count += scene.waitingTasks.count { isMeant($0.task) }
      scene.finishTasks()
    }
    scene.holdsTasks = false
    return count
  }

  @Test func lostInboxesAreReadAgainOnceAMinute() throws {
    var pair = try NotifiedPair()
    _ = pair.received()
    pair.scene.storage.withState {
      $0.writeFault = StorageFault(code: .full, message: "no space")
    }
    try pair.report(NotifiedPair.working, NotifiedPair.approval(1))
    pair.scene.storage.withState {
      $0.writeFault = nil
      $0.readFault = Self.damage
    }
    let isLoad = { (task: StoreTask) -> Bool in if case .load = task { true } else { false } }
    #expect(count(50, of: &pair.scene, where: isLoad) == 1)
    pair.scene.storage.withState { $0.readFault = nil }
    #expect(count(570, of: &pair.scene, where: isLoad) == 1)
    #expect(try pair.ask(.targets) == .targets([]))
  }

  @Test func pendingPushesAreCheckedOnceAMinute() {
    var scene = ServerScene()
    scene.storage.withState { $0.readFault = Self.damage }
    let isLook = { (task: StoreTask) -> Bool in
      if case .findUnpushed = task { true } else { false }
    }
    #expect(count(50, of: &scene, where: isLook) == 1)
    scene.storage.withState { $0.readFault = nil }
    #expect(count(560, of: &scene, where: isLook) == 1)
    #expect(count(700, of: &scene, where: isLook) == 0)
  }
}
