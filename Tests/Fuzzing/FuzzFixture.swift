package import QueueModel
import QueueOracle
import SequenceCRDT
import SyncTestSupport

/// The workspace into which fuzzed deltas are merged, the same in every run: two devices' work,
/// merged.
package enum FuzzFixture {
  package static let workspace = devices[0].workspace
  package static let operations = devices[0].made + devices[1].made

  /// A state that was developed separately from it, with which fuzzed snapshots are joined.
  package static let diverged: WorkspaceImage = {
    var state = workspace
    do {
      for delta in laterDeltas(30, seed: 4, replica: 0x44) { _ = try state.merge(delta) }
    } catch {
      preconditionFailure("the fixture does not go on: \(error)")
    }
    return state.image()
  }()

  /// Commands of a third device on top of it, one delta each: the source of seeds.
  package static func laterDeltas(
    _ count: Int, seed: UInt64, replica: UInt64 = 0x33
  ) -> [[Operation]] {
    var generator = SeededGenerator(seed: seed)
    var commands = CommandGenerator()
    var editors: CommandGenerator.OpenEditors = [:]
    var device = TestDevice(replica)
    var deltas = [device.made]
    do {
      try device.merge(operations)
      while deltas.count < count {
        let command = commands.command(
          for: device.workspace, editors: &editors, using: &generator)
        guard let outcome = try? device.perform(command), !outcome.operations.isEmpty else {
          continue
        }
        deltas.append(outcome.operations)
      }
    } catch {
      preconditionFailure("the fixture does not merge: \(error)")
    }
    return deltas
  }

  private static let devices: [TestDevice] = {
    var first = TestDevice(0x11)
    var second = TestDevice(0x22)
    do {
      try first.perform(.send("fix the test", as: 1, in: "session-1"))
      try first.perform(.send("then é 👩‍👩‍👧", as: 2, in: "session-1"))
      try second.perform(.send("other", as: 3, in: "session-2", .urgent))
      try second.merge(first.made)
      try first.merge(second.made)
      try first.perform(.edit(.numbered(1), content: "fix all tests", base: nil))
      try second.perform(.edit(.numbered(1), content: "fix the red test", base: nil))
      try first.perform(.move([.numbered(2)], to: .position(1)))
      try second.perform(.cancel([.numbered(2)]))
      try first.merge(second.made)
    } catch {
      preconditionFailure("the fixture cannot be made: \(error)")
    }
    return [first, second]
  }()
}
